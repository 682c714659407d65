#include "store/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
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
  return failure(Code::PS0210, fmt::format("cannot {} '{}': {}", what, path, std::strerror(error)));
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

Result<NewFile> NewFile::open(const std::string& path) {
  NewFile file;
  file.path_ = path;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return penstock::store::failed("make", folder, error.value());
  std::string temporary = fmt::format("{}/{}XXXXXX", folder, kUnfinished);
  file.descriptor_ = mkostemp(temporary.data(), O_CLOEXEC);
  if (file.descriptor_ < 0) return penstock::store::failed("write in", folder, errno);
  file.temporary_ = std::move(temporary);
  return file;
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

NewFile::~NewFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

tl::unexpected<Diagnostic> NewFile::failed(int error) {
  return penstock::store::failed("write", path_, error);
}

Result<void> NewFile::write(std::string_view bytes) {
  const NoSizeSignal held;
  if (const int error = write_all(descriptor_, bytes); error != 0) return failed(error);
  return {};
}

Result<void> NewFile::commit() {
  if (fchmod(descriptor_, 0644) != 0) return failed(errno);
  if (close(std::exchange(descriptor_, -1)) != 0) return failed(errno);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return failed(errno);
  temporary_.clear();
  return {};
}

Result<void> write_file(const std::string& path, std::span<const std::string_view> pieces) {
  auto file = NewFile::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  for (std::string_view piece : pieces) {
    if (auto written = file->write(piece); !written) return written;
  }
  return file->commit();
}

bool read_pieces(const std::string& path, const std::function<bool(std::string_view)>& see) {
  constexpr std::size_t kLeast = std::size_t{1} << 12, kMost = std::size_t{1} << 20;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct stat facts {};
  fstat(descriptor, &facts);
  const std::size_t size = std::clamp(static_cast<std::size_t>(facts.st_size), kLeast, kMost);
  const auto piece = std::make_unique_for_overwrite<char[]>(size);
  bool whole = false, more = true;
  while (more) {
    const auto got = read(descriptor, piece.get(), size);
    if (got < 0 && errno == EINTR) continue;
    whole = got == 0;
    more = got > 0 && see(std::string_view(piece.get(), static_cast<std::size_t>(got)));
  }
  close(descriptor);
  return whole;
}

bool holds(const std::string& path, std::span<const std::string_view> pieces) {
  std::size_t at = 0;
  std::string_view wanted;
  const bool read = read_pieces(path, [&](std::string_view found) {
    while (!found.empty()) {
      while (wanted.empty() && at < pieces.size()) wanted = pieces[at++];
      const std::size_t count = std::min(wanted.size(), found.size());
      if (count == 0 || wanted.substr(0, count) != found.substr(0, count)) return false;
      wanted.remove_prefix(count);
      found.remove_prefix(count);
    }
    return true;
  });
  const auto rest = pieces.subspan(at);
  return read && wanted.empty() &&
         std::all_of(rest.begin(), rest.end(),
                     [](std::string_view piece) { return piece.empty(); });
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
