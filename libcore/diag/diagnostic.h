#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "diag/shared_text.h"

namespace penstock {

/// A stable diagnostic code; the rows are in diag/codes.def.
enum class Code : std::uint16_t {
#define PS_CODE(id, exit, title, explanation, hint) id,
#include "diag/codes.def"
#undef PS_CODE
};

/// The facts of one row of codes.def.
struct CodeFacts {
  Code code;
  std::string_view id;           ///< "PS0201"
  int exit_status;               ///< what a tool exits with; 0: never ends a tool
  std::string_view title;        ///< context-free phrase
  std::string_view explanation;  ///< for `penstock explain`
  std::string_view hint;         ///< what to do
};

/// The row of `code`.
const CodeFacts& facts(Code code);

/// All rows, in the order of codes.def.
const std::vector<CodeFacts>& all_codes();

/// The row whose id is `id` ("PS0201"), or null.
const CodeFacts* find_code(std::string_view id);

/// A place in the user's Python source (lines from 1, columns from 0 as in CPython's co_positions;
/// 0 lines and -1 columns mean "unknown").
struct Location {
  SharedText file;
  int line = 0;
  int column = -1;
  int end_line = 0;
  int end_column = -1;
  friend bool operator==(const Location&, const Location&) = default;
};

enum class Severity : std::uint8_t { error, warning, note };

/// One message to a person: what, where, why, and the way out.
struct Diagnostic {
  Code code;
  std::string message;               ///< the specific sentence, values filled in
  std::optional<Location> location;  ///< place in the user's Python source, where there is one
  std::string place;  ///< place in a document or file: "doc.json:1:17", "graph 0/0 %4"
  std::string hint;   ///< overrides the code's hint when not empty
  Severity severity = Severity::error;
};

/// A value or the diagnostic that explains its absence. libcore throws nothing.
template <class T>
using Result = tl::expected<T, Diagnostic>;

/// Shorthand for the error branch of a Result.
inline tl::unexpected<Diagnostic> failure(Code code, std::string message, std::string place = {}) {
  return tl::unexpected(
      Diagnostic{code, std::move(message), std::nullopt, std::move(place), {}, Severity::error});
}

}  // namespace penstock
