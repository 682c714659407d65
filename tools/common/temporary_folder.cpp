#include "tools/common/temporary_folder.h"

#include <cstdlib>
#include <string>

namespace penstock::tools {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(std::string_view name) {
  std::error_code error;
  std::string path = fs::temp_directory_path(error) / (std::string(name) + "-XXXXXX");
  if (!error && mkdtemp(path.data()) != nullptr) path_ = path;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace penstock::tools
