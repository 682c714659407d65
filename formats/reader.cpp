#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "formats/json/codec.h"
#include "formats/json/parse.h"
#include "formats/scan.h"
#include "formats/stream.h"

namespace penstock::formats {

namespace {

constexpr std::size_t kReadSize = std::size_t{1} << 16;
/// CBOR's tag 55799, "this is CBOR": first bytes of a CBOR stream.
constexpr std::string_view kCborTag = "\xD9\xD9\xF7";

/// A stream in CBOR starts with a map, or with the tag in front of one.
bool is_cbor(unsigned char first) {
  return (first >= 0xA0 && first <= 0xBF) || static_cast<char>(first) == kCborTag.front();
}

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  const bool is_stdin = path.empty() || path == "-";
  const int number = is_stdin ? 0 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0) {
    return failure(Code::PS0102, fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
  }
  auto close_it = [is_stdin](const int* descriptor) {
    if (!is_stdin) close(*descriptor);
    delete descriptor;
  };
  return InputFile(path, std::shared_ptr<const int>(new int(number), close_it));
}

bool InputFile::is_read_once(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

bool InputFile::starts_with(std::string_view bytes) const {
  struct stat facts {};
  if (fstat(*descriptor_, &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  std::string first(bytes.size(), '\0');
  const auto got = pread(*descriptor_, first.data(), first.size(), 0);
  return got == static_cast<ssize_t>(bytes.size()) && first == bytes;
}

ByteSource InputFile::source() const {
  return [file = *this](char* buffer, std::size_t size) -> Result<std::size_t> {
    for (;;) {
      auto got = read(file.descriptor(), buffer, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno == EINTR) continue;
      return failure(Code::PS0102,
                     fmt::format("cannot read '{}': {}", file.path_, std::strerror(errno)));
    }
  };
}

Result<ByteSource> open_source(const std::string& path) {
  auto file = InputFile::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  return file->source();
}

bool starts_stream(std::string_view first) {
  if (first.empty()) return false;
  const auto byte = static_cast<unsigned char>(first.front());
  return byte == '{' || is_cbor(byte);
}

ByteSource source_of(std::string_view bytes) {
  return [bytes](char* buffer, std::size_t size) mutable -> Result<std::size_t> {
    std::size_t count = std::min(size, bytes.size());
    std::memcpy(buffer, bytes.data(), count);
    bytes.remove_prefix(count);
    return count;
  };
}

struct DocumentReader::State {
  ByteSource source;
  std::string name;
  ReadOptions options;
  std::string buffer;        ///< what was read
  std::size_t start = 0;     ///< bytes of it that are done with
  std::size_t consumed = 0;  ///< bytes dropped from the front of `buffer`
  bool at_end = false;       ///< the source has no more
  bool detected = false;
  Encoding encoding = Encoding::json;
  std::int64_t number = 0;  ///< of the document, from 1
  std::int64_t line = 1;    ///< of buffer[start]
  std::string place;
  bool complete = false;  ///< the last document was `end`

  tl::unexpected<Diagnostic> fail(Code code, std::string message,
                                  std::string_view where = {}) const {
    return failure(code, std::move(message),
                   where.empty() ? place : fmt::format("{}, {}", place, where));
  }

  /// Reads another piece; false at the end of the input.
  Result<bool> fill() {
    if (at_end) return false;
    if (start > kReadSize && start > buffer.size() / 2) {
      buffer.erase(0, start);
      consumed += start;
      start = 0;
    }
    std::size_t size = buffer.size();
    buffer.resize(size + kReadSize);
    auto got = source(buffer.data() + size, kReadSize);
    buffer.resize(size + (got ? *got : 0));
    if (!got) return tl::unexpected(got.error());
    at_end = *got == 0;
    return !at_end;
  }

  /// Skips what may stand between documents; false at the end of the input.
  Result<bool> skip_to_document() {
    for (;;) {
      while (encoding != Encoding::cbor && start < buffer.size() && is_space(buffer[start])) {
        if (buffer[start++] == '\n') ++line;
      }
      if (start < buffer.size()) return true;
      auto more = fill();
      if (!more || !*more) return more;
    }
  }

  /// Looks at the first byte: '{' opens JSON, a map or the tag CBOR.
  Result<void> detect() {
    const auto first = static_cast<unsigned char>(buffer[start]);
    if (is_cbor(first)) {
      encoding = Encoding::cbor;
    } else if (std::string_view(buffer).substr(start).starts_with(kArchiveStart)) {
      return fail(Code::PS0201, "a packed file cannot be read from a pipe: name the file");
    } else if (first != '{') {
      return fail(Code::PS0201,
                  fmt::format("the input is neither JSON nor CBOR documents: it starts "
                              "with byte 0x{:02x}",
                              first));
    }
    detected = true;
    return {};
  }

  Result<void> skip_tag() {
    while (encoding == Encoding::cbor && buffer[start] == kCborTag.front()) {
      while (buffer.size() - start < kCborTag.size()) {
        auto more = fill();
        if (!more) return tl::unexpected(more.error());
        if (!*more) return fail(Code::PS0202, "the stream stops inside a tag");
      }
      if (std::string_view(buffer).substr(start, kCborTag.size()) != kCborTag) {
        return fail(Code::PS0201, "an unknown CBOR tag stands before the document");
      }
      start += kCborTag.size();
      while (start == buffer.size()) {
        auto more = fill();
        if (!more) return tl::unexpected(more.error());
        if (!*more) return fail(Code::PS0202, "the stream stops behind a tag");
      }
    }
    return {};
  }

  /// The bytes of the document that starts at `start`; valid until the next fill().
  Result<std::string_view> one_document() {
    JsonScanner json;
    CborScanner cbor;
    DocumentScanner& scanner =
        encoding == Encoding::cbor ? static_cast<DocumentScanner&>(cbor) : json;
    for (;;) {
      switch (scanner.scan(std::string_view(buffer).substr(start))) {
        case DocumentScanner::Found::end:
          return std::string_view(buffer).substr(start, scanner.position());
        case DocumentScanner::Found::too_deep:
          return fail(Code::PS0208, fmt::format("records are nested more than {} deep", kMaxDepth));
        case DocumentScanner::Found::malformed:
          return fail(Code::PS0201, "no well-formed CBOR",
                      fmt::format("byte {}", scanner.position() + 1));
        case DocumentScanner::Found::more:
          break;
      }
      if (buffer.size() - start > kMaxDocumentBytes) {
        return fail(Code::PS0208,
                    fmt::format("the document is longer than {} MiB", kMaxDocumentBytes >> 20));
      }
      auto more = fill();
      if (!more) return tl::unexpected(more.error());
      if (!*more)
        return fail(Code::PS0202, fmt::format("the stream stops inside document {}", number));
    }
  }

  void move_on_to_document() {
    ++number;
    place = encoding == Encoding::cbor
                ? fmt::format("{}: document {}, byte {}", name, number, consumed + start)
                : fmt::format("{}: document {}, line {}", name, number, line);
  }
};

DocumentReader::DocumentReader(ByteSource source, std::string name, ReadOptions options)
    : state_(std::make_unique<State>()) {
  state_->source = std::move(source);
  state_->name = std::move(name);
  state_->options = options;
  state_->place = state_->name;
}

DocumentReader::~DocumentReader() = default;
DocumentReader::DocumentReader(DocumentReader&&) noexcept = default;
DocumentReader& DocumentReader::operator=(DocumentReader&&) noexcept = default;

Encoding DocumentReader::encoding() const {
  return state_->encoding;
}
std::string DocumentReader::place() const {
  return state_->place;
}

namespace {

/// The value of a whole document.
Result<Json> parse_document(std::string_view bytes, bool cbor, const ReadOptions& options) {
  const std::string_view guards =
      options.guards ? std::string_view() : member_value(bytes, cbor, "guards");
  if (guards.size() < 2) return parse_value(bytes, cbor);
  const std::string_view before =
      bytes.substr(0, static_cast<std::size_t>(guards.data() - bytes.data()));
  const std::string_view behind = bytes.substr(before.size() + guards.size());
  auto json = parse_value(fmt::format("{}{}{}", before, cbor ? "\x80" : "[]", behind), cbor);
  // What is wrong behind them stands at another place.
  return json ? std::move(json) : parse_value(bytes, cbor);
}

/// Decodes and verifies; the place of an error is completed with `place`.
Result<Document> decode_at(const Json& json, const std::string& place) {
  Problems problems;
  Field field(json, problems);
  std::optional<Document> document = decode_document(field);
  if (problems.first) {
    Diagnostic diagnostic = std::move(*problems.first);
    diagnostic.place = diagnostic.place.empty() ? place : place + ", " + diagnostic.place;
    return tl::unexpected(std::move(diagnostic));
  }
  if (auto* graph = std::get_if<GraphDocument>(&*document)) {
    if (auto checked = verify_foreign(*graph); !checked) {
      Diagnostic diagnostic = checked.error();
      diagnostic.place = place + ", " + diagnostic.place;
      return tl::unexpected(std::move(diagnostic));
    }
  }
  return std::move(*document);
}

}  // namespace

Result<std::optional<Document>> DocumentReader::next() {
  State& state = *state_;
  auto there = state.skip_to_document();
  if (!there) return tl::unexpected(there.error());
  if (!*there) {
    state.place = state.name;
    if (state.number == 0) return state.fail(Code::PS0209, "the input is empty");
    if (state.complete) return std::nullopt;
    return state.fail(Code::PS0202, fmt::format("the stream stops behind document {}, without an "
                                                "'end' document",
                                                state.number));
  }
  if (!state.detected) {
    if (auto detected = state.detect(); !detected) return tl::unexpected(detected.error());
  }
  state.move_on_to_document();
  if (auto skipped = state.skip_tag(); !skipped) return tl::unexpected(skipped.error());
  if (state.encoding != Encoding::cbor && state.buffer[state.start] != '{') {
    return state.fail(Code::PS0201, "expected a record, '{', where the next document should start");
  }
  auto bytes = state.one_document();
  if (!bytes) return tl::unexpected(bytes.error());
  auto json = parse_document(*bytes, state.encoding == Encoding::cbor, state.options);
  state.line += std::count(bytes->begin(), bytes->end(), '\n');
  state.start += bytes->size();
  if (!json) return state.fail(json.error().code, json.error().message, json.error().place);
  auto document = decode_at(*json, state.place);
  if (!document) return tl::unexpected(document.error());
  state.complete = std::holds_alternative<EndDocument>(*document);
  return std::optional<Document>(std::move(*document));
}

Result<Document> decode(std::string_view bytes, const std::string& name) {
  bool cbor = false;
  if (bytes.starts_with(kCborTag)) bytes.remove_prefix(kCborTag.size());
  if (!bytes.empty()) {
    auto first = static_cast<unsigned char>(bytes.front());
    cbor = first >= 0xA0 && first <= 0xBF;
  }
  JsonScanner json_scanner;
  CborScanner cbor_scanner;
  auto found = cbor ? cbor_scanner.scan(bytes) : json_scanner.scan(bytes);
  if (found == DocumentScanner::Found::too_deep) {
    return failure(Code::PS0208, fmt::format("records are nested more than {} deep", kMaxDepth),
                   name);
  }
  auto json = parse_value(bytes, cbor);
  if (!json) {
    return failure(json.error().code, json.error().message, name + ", " + json.error().place);
  }
  return decode_at(*json, name);
}

Result<std::vector<Document>> read_all(DocumentReader& reader) {
  std::vector<Document> documents;
  for (;;) {
    auto next = reader.next();
    if (!next) return tl::unexpected(next.error());
    if (!*next) return documents;
    documents.push_back(std::move(**next));
  }
}

}  // namespace penstock::formats
