#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "formats/document.h"

namespace penstock::formats {

/// How documents are written. JSON: one document a line, keys sorted (the canonical form). Pretty:
/// the same data over several lines. CBOR: a CBOR sequence behind the self-describing tag.
enum class Encoding : std::uint8_t { json, pretty, cbor };

/// Fills `buffer` with up to `size` bytes and returns how many; 0 at the end of the input.
using ByteSource = std::function<Result<std::size_t>(char* buffer, std::size_t size)>;

/// A file that is read once, from its start to its end, without seeking: a named pipe will do.
/// Copies share the file, which is closed with the last of them.
class InputFile {
 public:
  /// Opens `path`; "-" is standard input. PS0102 when it cannot be opened.
  static Result<InputFile> open(const std::string& path);
  /// True for a pipe, a socket or a terminal. Who opens one to look at it takes from its writer the
  /// reader that it waited for: what is written then is lost, and the next to open it waits.
  static bool is_read_once(const std::string& path);

  int descriptor() const { return *descriptor_; }
  /// Whether the file starts with `bytes`. Of a file that cannot be read twice nobody knows: false.
  bool starts_with(std::string_view bytes) const;
  /// What is left to read.
  ByteSource source() const;

 private:
  InputFile(std::string path, std::shared_ptr<const int> descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}
  std::string path_;
  std::shared_ptr<const int> descriptor_;
};

/// The bytes of `path`, read piece by piece; "-" is standard input. PS0102 when it cannot be
/// opened.
Result<ByteSource> open_source(const std::string& path);
/// The bytes of `bytes`, which must outlive the source.
ByteSource source_of(std::string_view bytes);

/// How an archive starts, as packed files are (formats/pack.h).
inline constexpr std::string_view kArchiveStart = "PK\x03\x04";

/// Whether a stream of documents may start with these bytes: with a record in JSON, or in CBOR.
bool starts_stream(std::string_view first);

/// What is read of documents.
struct ReadOptions {
  bool guards = true;  ///< false: graphs come without their guards, which nobody has looked at
};

/// Reads a stream of documents one at a time, as they arrive. Finds out from the first bytes
/// whether it is JSON or CBOR. Hostile input gives a diagnostic, never a crash: sizes and depth are
/// limited (PS0208), and nothing is trusted that was not checked.
class DocumentReader {
 public:
  /// `name` stands in the places of errors: "stdin", "graphs.json".
  DocumentReader(ByteSource source, std::string name, ReadOptions options = {});
  ~DocumentReader();
  DocumentReader(DocumentReader&&) noexcept;
  DocumentReader& operator=(DocumentReader&&) noexcept;

  /// The next document, or nothing behind the `end` document. Errors: PS0201 malformed (place:
  /// "graphs.json: document 3, line 7, /nodes/2/op"), PS0202 the stream stops without `end`, PS0203
  /// newer, PS0205 broken contract, PS0208 limits, PS0209 no document at all.
  Result<std::optional<Document>> next();

  /// What the input turned out to be; known after the first call of next().
  Encoding encoding() const;
  /// Place of the document that next() gave last: "graphs.json: document 3, line 7".
  std::string place() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct WriteOptions {
  Encoding encoding = Encoding::json;
  bool tensors = true;      ///< false: the `blobs` records are left out
  bool strip_meta = false;  ///< true: no `meta`
  /// The program's folder, absolute. An absolute file is written from behind site-packages or
  /// lib/pythonX.Y, else relative to this folder, else from its outermost package, else by its last
  /// component. The absolute path stands under meta ("files"), so that the rest of the document is
  /// the same wherever the program lies and whatever the working folder is.
  std::string directory;
};

/// Writes documents as they are produced.
class DocumentWriter {
 public:
  using Sink = std::function<Result<void>(std::string_view bytes)>;
  DocumentWriter(Sink sink, WriteOptions options);

  /// Checks the contract of a graph's level, then hands its bytes to the sink in one call.
  Result<void> write(const Document& document);

 private:
  Sink sink_;
  WriteOptions options_;
  bool first_ = true;
};

/// `document` in one piece. A JSON line or the pretty form ends with a newline; CBOR has no tag.
Result<std::string> encode(const Document& document, const WriteOptions& options);
/// Reads exactly one document, JSON or CBOR.
Result<Document> decode(std::string_view bytes, const std::string& name);

/// Reads all documents of a whole stream.
Result<std::vector<Document>> read_all(DocumentReader& reader);

}  // namespace penstock::formats
