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
  std::size_t before_last = indent.size();
  for (std::size_t column = 0; column + 1 < count; ++column) before_last += widths[column] + 2;
  const std::size_t room = static_cast<std::size_t>(std::max(width, 0));
  const std::size_t last_width =
      std::max(columns(heads_.back()), room > before_last ? room - before_last : std::size_t{20});

  std::string out;
  auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line = indent;
    for (std::size_t column = 0; column < count; ++column) {
      bool last = column + 1 == count;
      if (last) {
        append_padded(line, cut(cells[column], last_width), numeric[column] ? widths[column] : 0,
                      numeric[column]);
      } else {
        append_padded(line, cells[column], widths[column], numeric[column]);
        line += "  ";
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  add_line(heads_);
  std::vector<std::string> rule;
  for (std::size_t column = 0; column < count; ++column) {
    rule.emplace_back(column + 1 == count ? std::min(widths[column], last_width) : widths[column],
                      '-');
  }
  add_line(rule);
  for (const auto& row : rows_) add_line(row);
  return out;
}

}  // namespace penstock::report
