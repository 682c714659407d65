#include "formats/program_files.h"

namespace penstock::formats {

void add_files(const Document& document, ProgramFiles& files) {
  if (const auto* program = std::get_if<ProgramDocument>(&document))
    files.directory = program->directory;
  std::visit(
      [&](const auto& one) {
        for (auto& [file, path] : files_of(one.meta)) files.paths.emplace(file, std::move(path));
      },
      document);
}

const std::string& path_of(const ProgramFiles& files, const std::string& file) {
  const auto found = files.paths.find(file);
  return found == files.paths.end() ? file : found->second;
}

bool is_users(const ProgramFiles& files, const std::string& file) {
  const std::string& path = path_of(files, file);
  if (files.own.contains(path)) return true;
  return !files.directory.empty() && path.starts_with(files.directory) &&
         path.find("/site-packages/") == path.npos && path.find("/dist-packages/") == path.npos;
}

const StackFrame* users_frame(const ProgramFiles& files, const CallStack& stack) {
  for (const StackFrame* frame = stack.get(); frame; frame = frame->caller.get()) {
    if (is_users(files, frame->location.file)) return frame;
  }
  return stack.get();
}

}  // namespace penstock::formats
