#include "formats/json/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace penstock::formats {

namespace {

const Json& null_json() {
  static const Json null;
  return null;
}

/// "~" and "/" in keys, as RFC 6901 writes them.
std::string escape(std::string_view key) {
  std::string out;
  for (char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

void Field::fail(std::string message, Code code) const {
  if (problems_.first) return;
  problems_.first = Diagnostic{code, std::move(message), {}, pointer(), {}, Severity::error};
}

std::string Field::pointer() const {
  if (parent_ == nullptr) return {};
  std::vector<const Field*> path;
  for (const Field* at = this; at->parent_ != nullptr; at = at->parent_) path.push_back(at);
  std::string out;
  for (auto at = path.rbegin(); at != path.rend(); ++at) {
    out += '/';
    out += (*at)->key_.empty() ? std::to_string((*at)->index_) : escape((*at)->key_);
  }
  return out;
}

std::string Field::text() const {
  if (auto* text = json_.get_ptr<const std::string*>()) return *text;
  fail(fmt::format("expected a string, not {}", json_.type_name()));
  return {};
}

std::int64_t Field::integer() const {
  if (json_.is_number_unsigned() &&
      json_.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    fail("the number does not fit into 64 bits");
    return 0;
  }
  if (json_.is_number_integer()) return json_.get<std::int64_t>();
  fail(fmt::format("expected an integer, not {}", json_.type_name()));
  return 0;
}

std::int32_t Field::integer32() const {
  std::int64_t value = integer();
  if (value == static_cast<std::int32_t>(value)) return static_cast<std::int32_t>(value);
  fail("the number does not fit into 32 bits");
  return 0;
}

bool Field::flag() const {
  if (auto* flag = json_.get_ptr<const bool*>()) return *flag;
  fail(fmt::format("expected true or false, not {}", json_.type_name()));
  return false;
}

double Field::number() const {
  if (json_.is_number()) return json_.get<double>();
  if (json_.is_object() && json_.size() == 1 && json_.contains("f") && json_["f"].is_string()) {
    const auto& name = json_["f"].get_ref<const std::string&>();
    if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (name == "inf") return std::numeric_limits<double>::infinity();
    if (name == "-inf") return -std::numeric_limits<double>::infinity();
  }
  fail(R"(expected a number or {"f": "nan" | "inf" | "-inf"})");
  return 0;
}

SymExpr Field::size() const {
  if (!json_.is_string()) return integer();
  auto parsed = parse_sym_expr(json_.get_ref<const std::string&>());
  if (parsed) return *parsed;
  fail(parsed.error().message);
  return 0;
}

std::vector<SymExpr> Field::sizes() const {
  std::vector<SymExpr> out;
  each([&](const Field& item) { out.push_back(item.size()); });
  return out;
}

std::vector<std::string> Field::texts() const {
  std::vector<std::string> out;
  each([&](const Field& item) { out.push_back(item.text()); });
  return out;
}

std::vector<std::int32_t> Field::integers32() const {
  std::vector<std::int32_t> out;
  each([&](const Field& item) { out.push_back(item.integer32()); });
  return out;
}

std::size_t Field::length() const {
  if (json_.is_array()) return json_.size();
  fail(fmt::format("expected a list, not {}", json_.type_name()));
  return 0;
}

Field Field::item(std::size_t index) const {
  return Field(json_[index], *this, index);
}

Record::Record(const Field& field) : field_(field) {
  if (field.json().is_object()) return;
  field.fail(fmt::format("expected a record, not {}", field.json().type_name()));
  seen_ = kAll;
}

Record::~Record() {
  const Json& json = field_.json();
  if (seen_ == kAll || seen_ == json.size() || field_.problems().ignore_unknown) return;
  for (const auto& item : json.items()) {
    if (std::find(asked_.begin(), asked_.end(), item.key()) != asked_.end()) continue;
    Field(item.value(), field_, item.key())
        .fail(fmt::format("this format version has no field '{}' here", item.key().substr(0, 80)));
    return;
  }
}

std::optional<Field> Record::optional(std::string_view key) {
  if (!field_.json().is_object()) return std::nullopt;
  auto found = field_.json().find(key);
  if (found == field_.json().end()) return std::nullopt;
  if (seen_ != kAll && std::find(asked_.begin(), asked_.end(), key) == asked_.end()) {
    asked_.push_back(key);
    ++seen_;
  }
  return Field(*found, field_, key);
}

Field Record::required(std::string_view key) {
  if (auto found = optional(key)) return *found;
  field_.fail(fmt::format("the field '{}' is missing", key));
  return Field(null_json(), field_, key);
}

bool Record::has(std::string_view key) const {
  return field_.json().is_object() && field_.json().contains(key);
}

std::string Record::text_or(std::string_view key, std::string fallback) {
  auto found = optional(key);
  return found ? found->text() : std::move(fallback);
}

std::int64_t Record::integer_or(std::string_view key, std::int64_t fallback) {
  auto found = optional(key);
  return found ? found->integer() : fallback;
}

std::int32_t Record::integer32_or(std::string_view key, std::int32_t fallback) {
  auto found = optional(key);
  return found ? found->integer32() : fallback;
}

bool Record::flag_or(std::string_view key, bool fallback) {
  auto found = optional(key);
  return found ? found->flag() : fallback;
}

SymExpr Record::size_or(std::string_view key, SymExpr fallback) {
  auto found = optional(key);
  return found ? found->size() : std::move(fallback);
}

Json encode_size(const SymExpr& size) {
  if (auto constant = size.constant()) return *constant;
  return size.to_string();
}

Json encode_sizes(const std::vector<SymExpr>& sizes) {
  Json out = Json::array();
  for (const SymExpr& size : sizes) out.push_back(encode_size(size));
  return out;
}

Json encode_number(double number) {
  if (std::isfinite(number)) return number;
  return Json{{"f", std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf"}};
}

}  // namespace penstock::formats
