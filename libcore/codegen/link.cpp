#include <lld/Common/Driver.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>

#include "codegen/compile.h"

LLD_HAS_DRIVER(elf)

namespace penstock::codegen {

namespace {

/// A file in memory that can be named as long as it lives.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes) : descriptor_(memfd_create("object", MFD_CLOEXEC)) {
    std::size_t written = 0;
    while (descriptor_ >= 0 && written < bytes.size()) {
      ssize_t step = write(descriptor_, bytes.data() + written, bytes.size() - written);
      if (step <= 0) break;
      written += static_cast<std::size_t>(step);
    }
    complete_ = descriptor_ >= 0 && written == bytes.size();
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  bool complete() const { return complete_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
  bool complete_ = false;
};

/// A directory of our own for the linker's output, which it writes beside and renames; gone at the
/// end.
class OutputFolder {
 public:
  OutputFolder() {
    const char* places[] = {"/dev/shm", std::getenv("TMPDIR"), "/tmp"};
    for (const char* place : places) {
      if (place == nullptr) continue;
      path_ = std::string(place) + "/penstock-link-XXXXXX";
      if (mkdtemp(path_.data()) != nullptr) return;
    }
    path_.clear();
  }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  ~OutputFolder() {
    if (path_.empty()) return;
    unlink(file().c_str());
    rmdir(path_.c_str());
  }
  bool exists() const { return !path_.empty(); }
  std::string file() const { return path_ + "/kernels.so"; }

 private:
  std::string path_;
};

Result<std::string> read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  if (!stream || bytes.str().empty()) return failure(Code::PS0704, "the linker wrote nothing");
  return std::move(bytes).str();
}

}  // namespace

Result<std::string> link_shared_object(const std::vector<std::string>& objects) {
  static std::mutex one_at_a_time;
  std::vector<std::unique_ptr<MemoryFile>> files;
  for (const std::string& object : objects) {
    files.push_back(std::make_unique<MemoryFile>(object));
    if (!files.back()->complete()) {
      // A limit on file sizes counts for files in memory too.
      return failure(Code::PS0103, fmt::format("an object file cannot be kept in memory: {}",
                                               std::strerror(errno)));
    }
  }
  OutputFolder folder;
  if (!folder.exists()) {
    return failure(Code::PS0103, "no temporary directory can be made in /dev/shm, $TMPDIR or /tmp");
  }
  std::vector<std::string> arguments = {"ld.lld", "-shared", "--hash-style=gnu", "--no-undefined",
                                        "-znoexecstack", "-znow", "--build-id=none",
                                        // Its threads would stay, and be missed in a forked child.
                                        "--threads=1", "-o", folder.file()};
  for (const auto& file : files) arguments.push_back(file->path());
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  std::lock_guard lock(one_at_a_time);
  lld::Result result = lld::lldMain(pointers, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) return failure(Code::PS0704, "lld: " + stream.str());
  return read_file(folder.file());
}

}  // namespace penstock::codegen
