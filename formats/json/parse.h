#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "diag/diagnostic.h"
#include "formats/json/field.h"

namespace penstock::formats {

/// The JSON or CBOR value that `bytes` is, all of it. Unlike the parser's own reading, a key that
/// stands twice in a record is an error, as are CBOR byte strings, which no document has. Errors:
/// PS0201, place: "column 17" or "line 3, column 17" or "byte 4", counted from the start of
/// `bytes`.
Result<Json> parse_value(std::string_view bytes, bool cbor);

/// `json` as CBOR.
std::string to_cbor(const Json& json);

}  // namespace penstock::formats
