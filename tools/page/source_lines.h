#pragma once

#include <map>
#include <set>
#include <string>

#include "formats/program_files.h"

namespace penstock::tools {

/// Lines of Python files, by the file's name in locations and the line's number.
using SourceLines = std::map<std::string, std::map<int, std::string>>;
/// Which lines of which files are wanted.
using WantedLines = std::map<std::string, std::set<int>>;

/// Adds `location`'s line with `around` lines before and behind it; nothing for an unknown line.
void add_lines(const Location& location, int around, WantedLines& wanted);

/// Reads what is wanted; very long lines are cut. What cannot be read is left out.
SourceLines read_lines(const WantedLines& wanted, const formats::ProgramFiles& files);

}  // namespace penstock::tools
