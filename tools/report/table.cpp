#include "tools/report/table.h"

#include <algorithm>
#include <string_view>

namespace penstock::report {

namespace {

bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.,%-x ") == std::string_view::npos;
}

/// The first `width` characters of `text`, the last of them "…" where something was cut.
std::string cut(const std::string& text, std::size_t width) {
  if (columns(text) <= width || width == 0) return text;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (starts_character(text[i]) && seen++ == width - 1) return text.substr(0, i) + "…";
  }
  return text;
}

void append_padded(std::string& line, const std::string& cell, std::size_t width, bool right) {
  std::string padding(width - std::min(width, columns(cell)), ' ');
  line += right ? padding + cell : cell + padding;
}

/// Takes from the widest columns of text what is too much; numbers stay whole.
void fit(std::vector<std::size_t>& widths, const std::vector<bool>& numeric, std::size_t room,
         std::size_t indent) {
  constexpr std::size_t kLeast = 8;
  std::size_t total = indent + 2 * (widths.size() - 1);
  for (const std::size_t width : widths) total += width;
  while (total > room) {
    std::size_t widest = widths.size();
    for (std::size_t column = 0; column < widths.size(); ++column) {
      const bool may = !numeric[column] && widths[column] > kLeast;
      if (may && (widest == widths.size() || widths[column] > widths[widest])) widest = column;
    }
    if (widest == widths.size()) return;
    --widths[widest];
    --total;
  }
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  cells.resize(heads_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(int width, const std::string& indent) const {
  const std::size_t count = heads_.size();
  std::vector<std::size_t> widths(count);
  std::vector<bool> numeric(count, !rows_.empty());
  for (std::size_t column = 0; column < count; ++column) {
    widths[column] = columns(heads_[column]);
    for (const auto& row : rows_) {
      widths[column] = std::max(widths[column], columns(row[column]));
      numeric[column] = numeric[column] && is_number(row[column]);
    }
  }
  if (width > 0) fit(widths, numeric, static_cast<std::size_t>(width), indent.size());

  std::string out;
  auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line = indent;
    for (std::size_t column = 0; column < count; ++column) {
      bool last = column + 1 == count;
      append_padded(line, cut(cells[column], widths[column]), widths[column], numeric[column]);
      if (!last) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  add_line(heads_);
  std::vector<std::string> rule;
  for (std::size_t column = 0; column < count; ++column) {
    rule.emplace_back(widths[column], '-');
  }
  add_line(rule);
  for (const auto& row : rows_) add_line(row);
  return out;
}

}  // namespace penstock::report
