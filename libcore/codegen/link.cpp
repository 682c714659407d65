#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/raw_ostream.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

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

/// A pipe as the linker's output. To a regular file LLVM writes by way of a temporary one, for
/// whose sake it puts handlers of its own in front of the process's for some twenty signals, and
/// leaves them there: a program's handler of SIGUSR1 would never run again. What is not regular it
/// makes in memory and writes at once; a thread takes it from here, as a pipe holds less.
class OutputPipe {
 public:
  OutputPipe() : written_(eventfd(0, EFD_CLOEXEC)) {
    if (written_ < 0 || pipe2(ends_, O_CLOEXEC) != 0) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);  // signals are for the program's threads
    reader_ = std::thread([this] { read_all(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;
  ~OutputPipe() {
    finish();
    for (int descriptor : {written_, ends_[0], ends_[1]}) {
      if (descriptor >= 0) close(descriptor);
    }
  }
  bool exists() const { return ends_[0] >= 0; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(ends_[1]); }
  /// What was written, by a writer that has returned.
  std::string take() {
    finish();
    return std::move(bytes_);
  }

 private:
  void finish() {
    if (!reader_.joinable()) return;
    eventfd_write(written_, 1);
    reader_.join();
  }
  /// No end of file tells that all is there: a child that was forked meanwhile has the other end
  /// too.
  void read_all() {
    pollfd sources[] = {{ends_[0], POLLIN, 0}, {written_, POLLIN, 0}};
    char chunk[1 << 16];
    while (poll(sources, 2, -1) > 0) {
      if ((sources[0].revents & POLLIN) == 0) return;
      ssize_t count = read(ends_[0], chunk, sizeof chunk);
      if (count <= 0) return;
      bytes_.append(chunk, static_cast<std::size_t>(count));
    }
  }

  int written_;
  int ends_[2] = {-1, -1};
  std::string bytes_;
  std::thread reader_;
};

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
  OutputPipe output;
  if (!output.exists()) {
    return failure(Code::PS0103, fmt::format("no pipe can be made: {}", std::strerror(errno)));
  }
  std::vector<std::string> arguments = {"ld.lld", "-shared", "--hash-style=gnu", "--no-undefined",
                                        "-znoexecstack", "-znow", "--build-id=none",
                                        // Its threads would stay, and be missed in a forked child.
                                        "--threads=1", "-o", output.path()};
  for (const auto& file : files) arguments.push_back(file->path());
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  std::lock_guard lock(one_at_a_time);
  lld::Result result = lld::lldMain(pointers, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) return failure(Code::PS0704, "lld: " + stream.str());
  std::string bytes = output.take();
  if (bytes.empty()) return failure(Code::PS0704, "the linker wrote nothing");
  return bytes;
}

}  // namespace penstock::codegen
