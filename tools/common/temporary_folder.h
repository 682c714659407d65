#pragma once

#include <filesystem>
#include <string_view>

namespace penstock::tools {

/// A folder of this process's own, which goes, with what is in it, with this object.
class TemporaryFolder {
 public:
  /// Made where the system has such folders (TMPDIR), its name begun by `name`.
  explicit TemporaryFolder(std::string_view name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Empty: none could be made, for the reason in errno.
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace penstock::tools
