#include "store/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "store/store.h"

namespace penstock::store {

namespace {

/// Holds back SIGXFSZ, which the system sends to a thread that writes beyond the file-size limit.
class NoSizeSignal {
 public:
  NoSizeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~NoSizeSignal() {
    timespec now{};
    if (!sigismember(&before_, SIGXFSZ)) sigtimedwait(&set_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;

 private:
  sigset_t set_, before_;
};

tl::unexpected<Diagnostic> failed(std::string_view what, const std::string& path, int error) {
  return failure(Code::PS0210,
                 fmt::format("cannot {} '{}': {}", what, path, std::strerror(error)));
}

/// Writes all of `bytes`; 0, or the error.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    auto done = ::write(descriptor, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    if (done == 0) return ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return 0;
}

}  // namespace

Result<void> write_file(const std::string& path, std::span<const std::string_view> pieces) {
  auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return failed("make", folder.string(), error.value());
  std::string temporary = fmt::format("{}/{}XXXXXX", folder.string(), kUnfinished);
  int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return failed("write in", folder.string(), errno);
  int problem = 0;
  {
    NoSizeSignal held;
    for (std::string_view piece : pieces) {
      if (problem == 0) problem = write_all(descriptor, piece);
    }
  }
  if (fchmod(descriptor, 0644) != 0 && problem == 0) problem = errno;
  if (close(descriptor) != 0 && problem == 0) problem = errno;
  if (problem == 0 && rename(temporary.c_str(), path.c_str()) != 0) problem = errno;
  if (problem == 0) return {};
  unlink(temporary.c_str());
  return failed("write", path, problem);
}

Mapping::Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

Result<Mapping> Mapping::map(const std::string& path) {
  auto fail = [&](int error) {
    return failure(Code::PS0102, fmt::format("cannot open '{}': {}", path, std::strerror(error)));
  };
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail(errno);
  struct stat facts {};
  int problem = fstat(descriptor, &facts) != 0 ? errno : S_ISDIR(facts.st_mode) ? EISDIR : 0;
  void* memory = nullptr;
  auto size = static_cast<std::size_t>(facts.st_size);
  if (problem == 0 && size > 0) {
    memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) problem = errno;
  }
  close(descriptor);
  if (problem != 0) return fail(problem);
  Mapping mapping;
  if (size > 0) mapping.bytes_ = {static_cast<const char*>(memory), size};
  return mapping;
}

}  // namespace penstock::store
