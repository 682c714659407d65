#include "tools/common/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace penstock::tools {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;

std::string directory_of(const std::string& path) {
  auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// The file behind symbolic links, so that a link given to -o stays a link.
std::string resolved(const std::string& path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) != nullptr ? std::string(buffer) : path;
}

}  // namespace

Result<Output> Output::open(const std::string& path) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is a message (EFBIG), not a death
  Output out;
  if (path.empty() || path == "-") {
    out.descriptor_ = STDOUT_FILENO;
    return out;
  }
  out.path_ = path;
  out.owned_ = true;
  std::string target = resolved(path);
  struct stat facts {};
  bool exists = stat(target.c_str(), &facts) == 0;
  if (exists && !S_ISREG(facts.st_mode)) {
    out.descriptor_ = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (out.descriptor_ < 0) return out.failed(errno);
    return out;
  }
  if (exists && access(target.c_str(), W_OK) != 0) return out.failed(errno);
  out.target_ = target;
  if (auto opened = out.open_unnamed(); !opened) return tl::unexpected(opened.error());
  if (exists) (void)fchmod(out.descriptor_, facts.st_mode & 07777);
  return out;
}

Result<Output> Output::in_memory() {
  Output out;
  out.path_ = "memory";
  out.descriptor_ = memfd_create("penstock-documents", MFD_CLOEXEC);
  if (out.descriptor_ < 0) return out.failed(errno);
  // What two processes write goes behind each other.
  if (fcntl(out.descriptor_, F_SETFL, O_APPEND) != 0) return out.failed(errno);
  out.owned_ = true;
  return out;
}

Result<void> Output::open_unnamed() {
  const std::string directory = directory_of(target_);
  descriptor_ = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) return {};
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return failed(errno);
  temporary_ = target_ + ".XXXXXX";
  descriptor_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    temporary_.clear();
    return failed(errno);
  }
  mode_t mask = umask(0);
  umask(mask);
  (void)fchmod(descriptor_, 0666 & ~mask);
  return {};
}

Result<void> Output::give_name() {
  if (temporary_.empty()) {
    // linkat() does not replace, so the unnamed file gets a temporary name first.
    const std::string self = fmt::format("/proc/self/fd/{}", descriptor_);
    for (int attempt = 0;; ++attempt) {
      std::string name = fmt::format("{}.{}.{}", target_, getpid(), attempt);
      if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
        temporary_ = name;
        break;
      }
      if (errno != EEXIST) return failed(errno);
    }
  }
  if (rename(temporary_.c_str(), target_.c_str()) != 0) return failed(errno);
  temporary_.clear();
  return {};
}

Result<void> Output::write(std::string_view bytes) {
  buffer_.append(bytes);
  if (buffer_.size() < kBufferBytes) return {};
  return flush();
}

Result<void> Output::flush() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    ssize_t count = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      int error = errno;
      reader_gone_ = error == EPIPE;
      buffer_.clear();
      return failed(error);
    }
    done += static_cast<std::size_t>(count);
  }
  buffer_.clear();
  return {};
}

Result<void> Output::commit() {
  if (auto flushed = flush(); !flushed) return flushed;
  if (!owned_) return {};
  if (!target_.empty()) {
    if (auto named = give_name(); !named) return named;
  }
  int descriptor = std::exchange(descriptor_, -1);
  owned_ = false;
  if (close(descriptor) != 0) return failed(errno);
  return {};
}

tl::unexpected<Diagnostic> Output::failed(int error) {
  std::string name = path_.empty() ? "standard output" : path_;
  return failure(Code::PS0103, fmt::format("cannot write {}: {}", name, std::strerror(error)));
}

void Output::discard() {
  if (owned_ && descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
  owned_ = false;
  descriptor_ = -1;
  temporary_.clear();
}

Output::Output(Output&& other) noexcept {
  *this = std::move(other);
}

Output& Output::operator=(Output&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::move(other.path_);
  target_ = std::move(other.target_);
  temporary_ = std::exchange(other.temporary_, {});
  buffer_ = std::move(other.buffer_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  owned_ = std::exchange(other.owned_, false);
  reader_gone_ = other.reader_gone_;
  return *this;
}

Output::~Output() {
  discard();
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  Result<Output> file = Output::open(path);
  if (!file) return tl::unexpected(file.error());
  if (auto written = file->write(bytes); !written) return written;
  return file->commit();
}

}  // namespace penstock::tools
