#include "tools/dispatch/dispatch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include "diag/render.h"
#include "store/store.h"
#include "tools/common/spelling.h"
#include "tools/common/tools.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "penstock-";

/// The groups of tools.def with their headings.
constexpr struct {
  std::string_view group;
  std::string_view title;
} kGroups[] = {{"stage", "Stages of the pipe"},
               {"look", "Looking at documents"},
               {"shape", "Changing documents"},
               {"here", "Here"}};

/// What `penstock` does itself.
constexpr struct {
  std::string_view name;
  std::string_view summary;
} kBuiltIn[] = {{"shell", "start a shell in which the tools have their plain names"},
                {"explain", "explain a diagnostic: penstock explain PS0207"},
                {"help", "print this text, or the options of a tool: penstock help run"},
                {"version", "print the version"}};

fs::path own_directory() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

std::vector<fs::path> path_directories() {
  std::vector<fs::path> out;
  const char* path = std::getenv("PATH");
  std::istringstream in(path == nullptr ? "" : path);
  for (std::string part; std::getline(in, part, ':');) out.emplace_back(part.empty() ? "." : part);
  return out;
}

/// Where tools are looked for, in order.
std::vector<fs::path> search_path() {
  fs::path own = own_directory();
  std::vector<fs::path> out = {own, own / ".." / "libexec" / "penstock"};
  for (fs::path& directory : path_directories()) out.push_back(std::move(directory));
  return out;
}

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> plugins() {
  std::set<std::string> names;
  for (const fs::path& directory : path_directories()) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory, error)) {
      std::string name = entry.path().filename().string();
      if (name.starts_with(kPrefix) && is_program(entry.path())) {
        names.insert(name.substr(kPrefix.size()));
      }
    }
  }
  for (const ToolFacts& row : all_tools()) names.erase(row.tool.name);
  return {names.begin(), names.end()};
}

tl::unexpected<Diagnostic> unknown_tool(const std::string& name) {
  std::vector<std::string> known = plugins();
  for (const ToolFacts& row : all_tools()) known.push_back(row.tool.name);
  for (const auto& row : kBuiltIn) known.emplace_back(row.name);
  Diagnostic diagnostic{
      Code::PS0105, fmt::format("'{}' is not a penstock tool", name), {}, {}, {}, Severity::error};
  if (std::string near = nearest_word(name, known); !near.empty()) {
    diagnostic.hint = fmt::format("Did you mean `penstock {}`?", near);
  }
  return tl::unexpected(std::move(diagnostic));
}

/// The folder with the plain names of the tools: of an installation, of a build tree, or, for a
/// Python package, which can hold no links, one of links in the store.
Result<fs::path> plain_names() {
  const fs::path own = own_directory();
  std::error_code error;
  for (const fs::path& folder : {own / ".." / "libexec" / "penstock", own / ".." / "bin"}) {
    if (fs::exists(folder / "report", error)) return fs::weakly_canonical(folder, error);
  }
  const Result<std::string> store = store::store_directory();
  if (!store) return tl::unexpected(store.error());
  fs::path names = fs::path(*store) / "names" / store::hash_of(own.string());
  fs::create_directories(names, error);
  for (const ToolFacts& row : all_tools()) {
    const fs::path program = own / (std::string(kPrefix) + std::string(row.tool.name));
    if (is_program(program)) fs::create_symlink(program, names / row.tool.name, error);
  }
  if (fs::exists(names / "report", error)) return names;
  return failure(Code::PS0210, fmt::format("{} cannot be made", names.string()));
}

}  // namespace

bool is_built_in(std::string_view word) {
  return std::any_of(std::begin(kBuiltIn), std::end(kBuiltIn),
                     [&](const auto& row) { return row.name == word; });
}

Result<void> dispatch(const std::vector<std::string>& words) {
  std::string program = std::string(kPrefix) + words.front();
  std::vector<char*> arguments;
  std::vector<std::string> owned = words;
  for (const fs::path& directory : search_path()) {
    fs::path candidate = directory / program;
    if (words.front().find('/') != std::string::npos || !is_program(candidate)) {
      continue;
    }
    owned.front() = candidate.string();
    for (std::string& word : owned) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(candidate.c_str(), arguments.data());
    return failure(Code::PS0102,
                   fmt::format("cannot start {}: {}", candidate.string(), std::strerror(errno)));
  }
  return unknown_tool(words.front());
}

Result<void> start_shell() {
  const Result<fs::path> plain = plain_names();
  if (!plain) return tl::unexpected(plain.error());
  const char* path = std::getenv("PATH");
  setenv(
      "PATH",
      fmt::format("{}:{}:{}", plain->string(), own_directory().string(), path ? path : "").c_str(),
      1);
  const char* shell = std::getenv("SHELL");
  if (shell == nullptr || *shell == '\0') shell = "/bin/sh";
  execlp(shell, shell, static_cast<char*>(nullptr));
  return failure(Code::PS0102, fmt::format("cannot start {}: {}", shell, std::strerror(errno)));
}

std::string tool_list() {
  std::string out;
  for (const auto& [group, title] : kGroups) {
    out += fmt::format("\n{}:\n", title);
    for (const ToolFacts& row : all_tools()) {
      if (row.group == group) out += fmt::format("  {:<12}{}\n", row.tool.name, row.tool.summary);
    }
  }
  for (const auto& row : kBuiltIn) out += fmt::format("  {:<12}{}\n", row.name, row.summary);
  if (std::vector<std::string> others = plugins(); !others.empty()) {
    out += "\nFrom PATH:\n";
    for (const std::string& name : others) out += fmt::format("  {}\n", name);
  }
  return out;
}

Result<std::string> explanation(const std::string& code, bool json) {
  std::string out;
  for (const CodeFacts& row : all_codes()) {
    if (code != "all" && code != row.id) continue;
    if (!json && !out.empty()) out += '\n';
    out += json ? render_json(row) : render(row);
  }
  if (!out.empty()) return out;
  std::vector<std::string> known;
  for (const CodeFacts& facts : all_codes()) known.emplace_back(facts.id);
  Diagnostic diagnostic{
      Code::PS0101, fmt::format("no diagnostic is called {}", code), {},
      {},           "penstock-diagnostics(7) lists them all.",       Severity::error};
  if (std::string near = nearest_word(code, known); !near.empty()) {
    diagnostic.hint = fmt::format("Did you mean {}? {}", near, diagnostic.hint);
  }
  return tl::unexpected(std::move(diagnostic));
}

}  // namespace penstock::tools
