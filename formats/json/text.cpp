// Serialising. Canonical form: keys sorted (nlohmann keeps objects in a std::map), no spaces, the
// shortest digits that read back as the same double, UTF-8 as it is, one LF behind a document.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

constexpr std::size_t kWidth = 100;

/// Bytes that are no UTF-8 (file names may hold them) become U+FFFD.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The value on one line, with a space behind commas and colons; gives up beyond `room` characters.
bool one_line(const Json& json, std::size_t room, std::string& out) {
  if (json.is_object()) {
    out += '{';
    bool first = true;
    for (const auto& item : json.items()) {
      if (!first) out += ", ";
      first = false;
      out += dump(Json(item.key())) + ": ";
      if (out.size() > room || !one_line(item.value(), room, out)) return false;
    }
    out += '}';
  } else if (json.is_array()) {
    out += '[';
    for (std::size_t i = 0; i < json.size(); ++i) {
      if (i > 0) out += ", ";
      if (out.size() > room || !one_line(json[i], room, out)) return false;
    }
    out += ']';
  } else {
    out += dump(json);
  }
  return out.size() <= room;
}

void pretty(const Json& json, std::size_t indent, std::size_t used, std::string& out) {
  std::string line;
  if (!json.is_structured() || json.empty() ||
      (used < kWidth && one_line(json, kWidth - used, line))) {
    out += line.empty() ? dump(json) : line;
    return;
  }
  std::string margin(indent + 2, ' ');
  out += json.is_object() ? "{\n" : "[\n";
  bool first = true;
  for (const auto& item : json.items()) {
    if (!first) out += ",\n";
    first = false;
    out += margin;
    std::size_t before = margin.size() + 1;
    if (json.is_object()) {
      std::string key = dump(Json(item.key())) + ": ";
      before += key.size();
      out += key;
    }
    pretty(item.value(), indent + 2, before, out);
  }
  out += '\n' + std::string(indent, ' ') + (json.is_object() ? '}' : ']');
}

}  // namespace

std::string to_line(const Json& json) {
  return dump(json);
}

std::string to_pretty(const Json& json) {
  std::string out;
  // A document always opens over several lines, so that it begins and ends alike whatever it holds.
  pretty(json, 0, kWidth, out);
  return out;
}

}  // namespace penstock::formats
