#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "diag/diagnostic.h"
#include "formats/json/field.h"

namespace penstock::pt2 {

/// The JSON value that `text` is, within the limits of documents: length and depth. PS0201, PS0208.
Result<formats::Json> parse_limited(std::string_view text);

/// A float, which torch writes as a number or as "Infinity", "-Infinity" or "NaN".
double read_float(const formats::Field& field);
formats::Json write_float(double value);

/// The one member of a record that stands for a choice: its name and its value.
struct Choice {
  std::string_view name;
  formats::Field value;
};
/// Of a record with exactly one member; nothing, and a problem, otherwise.
std::optional<Choice> read_choice(const formats::Field& field);

}  // namespace penstock::pt2
