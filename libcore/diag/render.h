#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "diag/diagnostic.h"

namespace penstock {

/// Gives line `line` (from 1) of the source file `file` without its newline; nothing when the file
/// or the line is not there.
using SourceReader = std::function<std::optional<std::string>(const std::string& file, int line)>;

/// Reads the line from the file system. Each call opens the file anew: diagnostics are rare.
std::optional<std::string> read_source_line(const std::string& file, int line);

/// How a diagnostic is written for people.
struct RenderOptions {
  bool color = false;
  bool explain = false;  ///< also print the code's explanation
  SourceReader source = read_source_line;
};

/// The lines `  --> FILE:LINE:COLUMN`, the source line, and a caret line under the columns of
/// `location` (UTF-8 and tabs respected). Only the first line of a location that spans several is
/// shown. Without the source, only the place. Ends with a newline.
std::string excerpt(const Location& location, const RenderOptions& options);

/// Text from outside as it may go to a terminal: what would steer that, and what is no character,
/// is spelled out.
std::string printable(std::string_view text);

/// A diagnostic for people: `TOOL: error[PS0201]: MESSAGE`, the place, excerpt, hint. What would
/// steer a terminal, or is no text, is spelled out: \x1b. Ends with a newline.
std::string render(const Diagnostic& diagnostic, std::string_view tool,
                   const RenderOptions& options);

/// The same facts as one JSON object on one line: tool, severity, code, title, message, location,
/// place, hint, exit. Ends with a newline.
std::string render_json(const Diagnostic& diagnostic, std::string_view tool);

/// A row of codes.def for people, as `penstock explain` prints it.
std::string render(const CodeFacts& row);

/// A row of codes.def as one JSON object on one line: code, title, explanation, hint, exit.
std::string render_json(const CodeFacts& row);

}  // namespace penstock
