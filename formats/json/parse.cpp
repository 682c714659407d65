#include "formats/json/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace penstock::formats {

namespace {

/// Builds the value, and refuses what our documents cannot hold.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Json root;
  std::string problem;
  std::size_t position = 0;  ///< of a syntax error; 0: unknown

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return refuse("documents hold no byte strings"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    // Most documents have their keys in order, so the end is where to look first.
    auto& record = open_.back()->get_ref<Json::object_t&>();
    const std::size_t before = record.size();
    const auto member = record.try_emplace(record.end(), std::move(value), nullptr);
    if (record.size() == before) {
      return refuse(
          fmt::format("the field '{}' stands twice in one record", member->first.substr(0, 80)));
    }
    member_ = &member->second;
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const Json::exception& error) override {
    position = at;
    return refuse(error.what());
  }

 private:
  bool refuse(std::string message) {
    problem = std::move(message);
    return false;
  }
  Json* place(Json&& value) {
    if (open_.empty()) return &(root = std::move(value));
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return &open_.back()->back();
    }
    // Elements of a std::map do not move, and an array on the stack gets no sibling meanwhile.
    return &(*member_ = std::move(value));
  }
  bool add(Json&& value) {
    place(std::move(value));
    return true;
  }
  bool open(Json&& value) {
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;
  Json* member_ = nullptr;  ///< of the innermost record, to be filled in
};

/// Without "[json.exception.parse_error.101] parse error at line 1, column 2: ".
std::string plain_message(std::string message) {
  if (message.starts_with('[')) {
    if (auto end = message.find("] "); end != std::string::npos) message.erase(0, end + 2);
  }
  if (message.starts_with("parse error")) {
    if (auto end = message.find(": "); end != std::string::npos) message.erase(0, end + 2);
  }
  return message.substr(0, 300);
}

std::string place_of(std::string_view bytes, std::size_t position, bool cbor) {
  if (position == 0) return {};
  if (cbor) return fmt::format("byte {}", position);
  std::string_view before = bytes.substr(0, position - 1);
  auto line = std::count(before.begin(), before.end(), '\n');
  auto start = line == 0 ? 0 : before.rfind('\n') + 1;
  std::size_t column = before.size() - start + 1;
  return line == 0 ? fmt::format("column {}", column)
                   : fmt::format("line {} of it, column {}", line + 1, column);
}

}  // namespace

Result<Json> parse_value(std::string_view bytes, bool cbor) {
  using Format = nlohmann::detail::input_format_t;
  Builder builder;
  bool good = Json::sax_parse(bytes.begin(), bytes.end(), &builder,
                              cbor ? Format::cbor : Format::json, true);
  if (good) return std::move(builder.root);
  return failure(Code::PS0201, plain_message(std::move(builder.problem)),
                 place_of(bytes, std::min(builder.position, bytes.size()), cbor));
}

std::string to_cbor(const Json& json) {
  std::string out;
  Json::to_cbor(json, out);
  return out;
}

}  // namespace penstock::formats
