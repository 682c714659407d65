#include "interchange/pt2/json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "formats/json/parse.h"
#include "formats/scan.h"

namespace penstock::pt2 {

using formats::Field;
using formats::Json;

namespace {

/// Whether brackets nest deeper than in any document of ours; strings do not count.
bool too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false, escaped = false;
  for (const char c : text) {
    if (escaped) {
      escaped = false;
    } else if (in_string) {
      escaped = c == '\\';
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > formats::kMaxDepth) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<Json> parse_limited(std::string_view text) {
  if (text.size() > formats::kMaxDocumentBytes) return failure(Code::PS0208, "it is too long");
  if (too_deep(text)) return failure(Code::PS0208, "it is nested too deeply");
  return formats::parse_value(text, false);
}

double read_float(const Field& field) {
  const Json& json = field.json();
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  if (json.is_number()) return json.get<double>();
  field.fail("it should be a number");
  return 0;
}

Json write_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

std::optional<Choice> read_choice(const Field& field) {
  const Json& json = field.json();
  if (!json.is_object() || json.size() != 1) {
    field.fail("it should be a record with one member, which says what it is");
    return std::nullopt;
  }
  const auto member = json.begin();
  return Choice{member.key(), Field(member.value(), field, member.key())};
}

}  // namespace penstock::pt2
