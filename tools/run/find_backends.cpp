#include "tools/run/find_backends.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "tools/common/launch.h"

namespace penstock::tools {

namespace {

constexpr std::string_view kPrefix = "penstock-backend-", kPython = ".py";

/// The name of a back end whose command the file is; empty: it is none.
std::string name_of(const std::filesystem::path& file) {
  std::string name = file.filename().string();
  if (!name.starts_with(kPrefix)) return {};
  name.erase(0, kPrefix.size());
  if (name.ends_with(kPython)) name.resize(name.size() - kPython.size());
  return name;
}

/// What can be started: a file with that permission, or one that Python is given.
bool can_start(const std::filesystem::path& file) {
  std::error_code error;
  const bool python = file.extension() == kPython;
  return std::filesystem::is_regular_file(file, error) &&
         access(file.c_str(), python ? R_OK : X_OK) == 0;
}

/// Adds the commands of a folder whose names are not taken, in order.
void add_folder(const std::filesystem::path& folder, std::vector<FoundBackend>& found) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) {
    std::string name = name_of(file);
    const bool taken = std::ranges::find(found, name, &FoundBackend::name) != found.end();
    if (name.empty() || taken || !can_start(file)) continue;
    found.push_back({std::move(name), std::filesystem::absolute(file, error).string()});
  }
}

/// Those that come with penstock, and those on PATH.
std::vector<FoundBackend> all_backends() {
  std::vector<FoundBackend> found;
  if (auto parts = find_parts()) add_folder(std::filesystem::path(*parts) / "backends", found);
  const char* variable = getenv("PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) add_folder(std::filesystem::path(rest.substr(0, end)), found);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return found;
}

}  // namespace

Result<std::vector<FoundBackend>> find_backends(const std::string& asked) {
  const auto missing = [&](std::string message, std::string hint) {
    auto failed = failure(Code::PS0115, std::move(message));
    failed.value().hint = std::move(hint);
    return failed;
  };
  if (asked.find('/') != asked.npos) {
    const std::filesystem::path file(asked);
    std::error_code error;
    if (!can_start(file))
      return missing(fmt::format("the back end {} is no file that can be started", asked), {});
    const std::string name = name_of(file);
    return std::vector<FoundBackend>{{name.empty() ? file.stem().string() : name,
                                      std::filesystem::absolute(file, error).string()}};
  }
  std::vector<FoundBackend> found = all_backends();
  if (asked == "auto" && !found.empty()) return found;
  std::string names;
  for (FoundBackend& one : found) {
    if (one.name == asked) return std::vector<FoundBackend>{std::move(one)};
    names += (names.empty() ? "" : ", ") + one.name;
  }
  return missing(fmt::format("there is no back end {}", asked),
                 names.empty() ? std::string() : "There are: " + names + ".");
}

}  // namespace penstock::tools
