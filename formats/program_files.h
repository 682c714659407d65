#pragma once

#include <map>
#include <set>
#include <string>

#include "formats/document.h"

namespace penstock::formats {

/// Where the files are that a stream's locations name, and whose they are.
struct ProgramFiles {
  std::string directory;                     ///< the program's, absolute; empty: not known
  std::map<std::string, std::string> paths;  ///< absolute, by the name that locations use
  std::set<std::string> own;  ///< paths that are the author's wherever they lie: a notebook's cells
};

/// Adds what `document` tells about files.
void add_files(const Document& document, ProgramFiles& files);

/// The absolute path of `file` where it is known, else `file`.
const std::string& path_of(const ProgramFiles& files, const std::string& file);

/// Whether the program's author wrote `file`: it lies in the program's folder, in no package.
bool is_users(const ProgramFiles& files, const std::string& file);

/// The innermost frame of `stack` that the program's author wrote; the innermost where none is;
/// null for an empty stack.
const StackFrame* users_frame(const ProgramFiles& files, const CallStack& stack);

}  // namespace penstock::formats
