#include "diag/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>

namespace penstock {
namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kRed = "\x1b[1;31m";
constexpr std::string_view kYellow = "\x1b[1;33m";
constexpr std::string_view kBlue = "\x1b[1;34m";
constexpr std::string_view kReset = "\x1b[0m";

std::string_view name(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "error";
}

std::string painted(std::string_view text, std::string_view paint, bool color) {
  return color ? fmt::format("{}{}{}", paint, text, kReset) : std::string(text);
}

/// A code point and the bytes that it takes; a broken byte stands for itself.
struct CodePoint {
  std::uint32_t value;
  int bytes;
};

CodePoint decode(std::string_view text) {
  auto byte = static_cast<unsigned char>(text[0]);
  int length = byte < 0x80 ? 1 : byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
  if (length == 1 || static_cast<int>(text.size()) < length) return {byte, 1};
  std::uint32_t value = byte & (0xFFu >> (length + 1));
  for (int i = 1; i < length; ++i)
    value = value << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  return {value, length};
}

/// Terminal columns of a code point: 2 for the East Asian wide blocks and emoji, 0 for combining
/// marks, else 1.
int columns(std::uint32_t point) {
  struct Range {
    std::uint32_t first, last;
  };
  constexpr Range kWide[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                             {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                             {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
  if (point >= 0x300 && point <= 0x36F) return 0;
  for (Range range : kWide) {
    if (point >= range.first && point <= range.last) return 2;
  }
  return 1;
}

/// The caret line under bytes [begin, end) of `line`.
std::string carets(std::string_view line, std::size_t begin, std::size_t end) {
  std::string out;
  for (std::size_t at = 0; at < std::min(line.size(), end);) {
    CodePoint point = decode(line.substr(at));
    if (at < begin && line[at] == '\t')
      out += '\t';
    else
      out.append(static_cast<std::size_t>(columns(point.value)), at < begin ? ' ' : '^');
    at += static_cast<std::size_t>(point.bytes);
  }
  return out;
}

/// Bytes of the character in UTF-8 that `text` starts with; 0: it starts with none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length < 2) return length;
  if (length > text.size()) return 0;
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xC0) != 0x80) return 0;
  }
  // Longer than need be, a surrogate, or beyond the last character.
  const bool wrong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0) ||
                     (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90);
  return wrong ? 0 : length;
}

std::string place(const Location& location) {
  std::string out = printable(location.file.text());
  if (location.line > 0) out += fmt::format(":{}", location.line);
  if (location.line > 0 && location.column >= 0) out += fmt::format(":{}", location.column + 1);
  return out;
}

void append_json(std::string& out, std::string_view text) {
  constexpr std::string_view kSpelled = "\"\\\n\t\r", kLetters = "\"\\ntr";
  out += '"';
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (const std::size_t row = kSpelled.find(text.front()); row != kSpelled.npos) {
      out += '\\';
      out += kLetters[row];
    } else if (length == 0) {
      out += "\\ufffd";
    } else if (first < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", first);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

/// Appends `"key":"value"` to an object that is being written.
void append_member(std::string& out, std::string_view key, std::string_view value) {
  if (out.back() != '{') out += ',';
  append_json(out, key);
  out += ':';
  append_json(out, value);
}

std::string_view hint_of(const Diagnostic& diagnostic) {
  return diagnostic.hint.empty() ? facts(diagnostic.code).hint : std::string_view(diagnostic.hint);
}

}  // namespace

std::optional<std::string> read_source_line(const std::string& file, int line) {
  std::ifstream in(file);
  std::string text;
  for (int at = 0; at < line; ++at) {
    if (!std::getline(in, text)) return std::nullopt;
  }
  if (line < 1) return std::nullopt;
  if (!text.empty() && text.back() == '\r') text.pop_back();
  return text;
}

std::string excerpt(const Location& location, const RenderOptions& options) {
  std::string out = fmt::format("  {} {}\n", painted("-->", kBlue, options.color), place(location));
  if (location.line < 1 || !options.source) return out;
  std::optional<std::string> line = options.source(location.file, location.line);
  if (!line) return out;
  std::string number = fmt::format("{}", location.line);
  std::string bar = painted("|", kBlue, options.color);
  fmt::format_to(std::back_inserter(out), " {} {} {}\n", painted(number, kBlue, options.color), bar,
                 *line);
  if (location.column < 0) return out;
  auto begin = static_cast<std::size_t>(location.column);
  bool one_line = location.end_line == location.line && location.end_column > location.column;
  std::size_t end = one_line ? static_cast<std::size_t>(location.end_column)
                    : location.end_line > location.line ? line->size()
                                                        : begin + 1;
  if (begin >= line->size()) return out;
  fmt::format_to(std::back_inserter(out), " {} {} {}\n", std::string(number.size(), ' '), bar,
                 painted(carets(*line, begin, end), kRed, options.color));
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    const bool control = (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
    const bool second_control =
        length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    const std::size_t taken = std::max<std::size_t>(length, 1);
    if (length > 0 && !control && !second_control) {
      out += text.substr(0, taken);
    } else {
      for (const char c : text.substr(0, taken)) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
      }
    }
    text.remove_prefix(taken);
  }
  return out;
}

std::string render(const Diagnostic& diagnostic, std::string_view tool,
                   const RenderOptions& options) {
  const CodeFacts& row = facts(diagnostic.code);
  std::string_view paint = diagnostic.severity == Severity::error     ? kRed
                           : diagnostic.severity == Severity::warning ? kYellow
                                                                      : kBlue;
  std::string head = fmt::format("{}[{}]", name(diagnostic.severity), row.id);
  std::string out = fmt::format("{}: {}: {}\n", tool, painted(head, paint, options.color),
                                painted(printable(diagnostic.message), kBold, options.color));
  if (diagnostic.location) out += excerpt(*diagnostic.location, options);
  if (!diagnostic.place.empty()) out += fmt::format("  at: {}\n", printable(diagnostic.place));
  if (options.explain) out += fmt::format("  why: {}\n", row.explanation);
  if (std::string_view hint = hint_of(diagnostic); !hint.empty()) {
    out += fmt::format("  {} {}\n", painted("hint:", kBlue, options.color), printable(hint));
  }
  return out;
}

std::string render_json(const Diagnostic& diagnostic, std::string_view tool) {
  const CodeFacts& row = facts(diagnostic.code);
  std::string out = "{";
  append_member(out, "tool", tool);
  append_member(out, "severity", name(diagnostic.severity));
  append_member(out, "code", row.id);
  append_member(out, "title", row.title);
  append_member(out, "message", diagnostic.message);
  if (const auto& at = diagnostic.location) {
    out += ",\"location\":{";
    append_member(out, "file", at->file.text());
    out += fmt::format(",\"line\":{},\"column\":{},\"end_line\":{},\"end_column\":{}}}", at->line,
                       at->column, at->end_line, at->end_column);
  }
  if (!diagnostic.place.empty()) append_member(out, "place", diagnostic.place);
  append_member(out, "hint", hint_of(diagnostic));
  return out + fmt::format(",\"exit\":{}}}\n", row.exit_status);
}

std::string render(const CodeFacts& row) {
  std::string out =
      fmt::format("{}: {}\n\n{}\n\n{}\n", row.id, row.title, row.explanation, row.hint);
  if (row.exit_status != 0) out += fmt::format("\nExit status: {}\n", row.exit_status);
  return out;
}

std::string render_json(const CodeFacts& row) {
  std::string out = "{";
  append_member(out, "code", row.id);
  append_member(out, "title", row.title);
  append_member(out, "explanation", row.explanation);
  append_member(out, "hint", row.hint);
  return out + fmt::format(",\"exit\":{}}}\n", row.exit_status);
}

}  // namespace penstock
