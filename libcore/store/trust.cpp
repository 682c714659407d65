#include "store/trust.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "store/file.h"
#include "store/strong_hash.h"

namespace penstock::store {

namespace {

constexpr std::size_t kKeyBytes = 32;

tl::unexpected<Diagnostic> failed(const std::string& path) {
  return failure(Code::PS0210, "cannot write '" + path + "': " + std::strerror(errno));
}

}  // namespace

std::string Trust::key() const {
  const int descriptor = open((directory_ + "/key").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return {};
  std::string key(kKeyBytes, '\0');
  struct stat facts {};
  const bool own =
      fstat(descriptor, &facts) == 0 && facts.st_uid == geteuid() && (facts.st_mode & 077) == 0;
  const bool whole = read(descriptor, key.data(), key.size()) == static_cast<ssize_t>(key.size());
  close(descriptor);
  return own && whole ? key : std::string();
}

Result<std::string> Trust::make_key() {
  if (std::string there = key(); !there.empty()) return there;
  const std::string path = directory_ + "/key";
  std::error_code ignored;
  std::filesystem::create_directories(directory_, ignored);
  std::string made(kKeyBytes, '\0');
  if (getrandom(made.data(), made.size(), 0) != static_cast<ssize_t>(made.size()))
    return failed(path);
  // It appears whole, and the first of several writers wins.
  std::string temporary = directory_ + "/" + std::string(kUnfinished) + "XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return failed(path);
  const bool written =
      write(descriptor, made.data(), made.size()) == static_cast<ssize_t>(made.size());
  close(descriptor);
  const bool linked = written && link(temporary.c_str(), path.c_str()) == 0;
  const int problem = errno;
  unlink(temporary.c_str());
  if (linked) return made;
  std::string others = key();
  errno = problem;
  if (others.empty()) return failed(path);
  return others;
}

std::string Trust::record_path(std::string_view key, std::string_view statement,
                               std::string_view code) const {
  const std::array<std::string_view, 1> whole = {code};
  const std::string code_hash = strong_hash(whole);
  const std::array<std::string_view, 2> pieces = {code_hash, statement};
  const std::string name = strong_hash(pieces, key);
  return directory_ + "/trusted/" + name.substr(0, 2) + "/" + name;
}

Result<void> Trust::allow(std::string_view statement, std::string_view code) {
  auto key = make_key();
  if (!key) return tl::unexpected(std::move(key.error()));
  const std::string path = record_path(*key, statement, code);
  if (access(path.c_str(), F_OK) == 0) return {};
  return write_file(path, {});
}

bool Trust::allows(std::string_view statement, std::string_view code) const {
  const std::string known = key();
  return !known.empty() && access(record_path(known, statement, code).c_str(), F_OK) == 0;
}

}  // namespace penstock::store
