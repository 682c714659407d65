#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // tee()
#endif
#include "tools/program/recognise.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "formats/pack.h"
#include "formats/stream.h"

namespace penstock::tools {
namespace {

constexpr std::size_t kFirst = 512;

/// What the first bytes of a file say.
enum class Content : std::uint8_t { documents, program, unknown };

/// The bytes of a pipe that can be read now; waits until there are some, and leaves them where they
/// are.
std::string peek_pipe(int descriptor) {
  int copy[2];
  if (pipe2(copy, O_CLOEXEC) != 0) return {};
  std::string bytes(kFirst, '\0');
  const auto copied = tee(descriptor, copy[1], bytes.size(), 0);
  const auto got = copied > 0 ? read(copy[0], bytes.data(), bytes.size()) : 0;
  close(copy[0]);
  close(copy[1]);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

/// The first bytes of what is left to read, which stay there.
std::string peek(int descriptor) {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) return {};
  if (S_ISFIFO(facts.st_mode)) return peek_pipe(descriptor);
  std::string bytes(kFirst, '\0');
  ssize_t got = 0;
  if (S_ISREG(facts.st_mode))
    got = pread(descriptor, bytes.data(), bytes.size(), lseek(descriptor, 0, SEEK_CUR));
  if (S_ISSOCK(facts.st_mode)) got = recv(descriptor, bytes.data(), bytes.size(), MSG_PEEK);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

/// The first bytes of a compiled Python file end in a carriage return and a line feed.
bool is_compiled_python(std::string_view bytes) {
  return bytes.size() > 4 && bytes.substr(2, 2) == "\r\n";
}

Content content_of(std::string_view bytes) {
  while (!bytes.empty() && std::isspace(static_cast<unsigned char>(bytes.front())) != 0)
    bytes.remove_prefix(1);
  if (bytes.empty()) return Content::unknown;
  if (is_compiled_python(bytes) || bytes.starts_with("#!"))
    return Content::program;  // a script, or an archive behind its line
  if (formats::starts_stream(bytes)) return Content::documents;
  return bytes.find('\0') == bytes.npos ? Content::program : Content::unknown;
}

std::optional<Content> content_of_file(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  auto file = formats::InputFile::open(path);
  if (!file) return std::nullopt;
  if (!file->starts_with(formats::kArchiveStart)) return content_of(peek(file->descriptor()));
  return formats::is_pack(path) ? Content::documents : Content::program;
}

bool ends_with_one_of(std::string_view word, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return word.ends_with(ending); });
}

}  // namespace

bool names_program(const std::string& word) {
  if (word == "-") {
    return isatty(STDIN_FILENO) == 1 || content_of(peek(STDIN_FILENO)) == Content::program;
  }
  if (ends_with_one_of(word, {".py", ".pyw", ".pyc", ".pyz"})) return true;
  if (ends_with_one_of(word, {".json", ".cbor"})) return false;
  std::error_code error;
  const std::filesystem::path path(word);
  if (std::filesystem::is_directory(path, error)) {
    return std::filesystem::exists(path / "__main__.py", error) ||
           std::filesystem::exists(path / "__main__.pyc", error);
  }
  return content_of_file(word) == Content::program;
}

bool names_documents(const std::string& word) {
  return !ends_with_one_of(word, {".py", ".pyw", ".pyc", ".pyz"}) &&
         content_of_file(word) == Content::documents;
}

}  // namespace penstock::tools
