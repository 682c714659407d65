#include "tools/page/source_lines.h"

#include <algorithm>
#include <fstream>

namespace penstock::tools {

namespace {

constexpr std::size_t kLongestLine = 400;

}  // namespace

void add_lines(const Location& location, int around, WantedLines& wanted) {
  if (location.line <= 0) return;
  std::set<int>& lines = wanted[location.file.text()];
  for (int line = std::max(1, location.line - around); line <= location.line + around; ++line)
    lines.insert(line);
}

SourceLines read_lines(const WantedLines& wanted, const formats::ProgramFiles& files) {
  SourceLines found;
  for (const auto& [file, lines] : wanted) {
    std::ifstream stream(formats::path_of(files, file));
    std::string text;
    for (int line = 1; line <= *lines.rbegin() && std::getline(stream, text); ++line) {
      if (lines.contains(line)) found[file][line] = text.substr(0, kLongestLine);
    }
  }
  return found;
}

}  // namespace penstock::tools
