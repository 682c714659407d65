#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/document.h"
#include "formats/stream.h"
#include "store/store.h"

namespace penstock::formats {

/// The hashes of all blobs that a graph refers to, in the order of its `blobs` record.
std::vector<std::string> blobs_of(const GraphDocument& document);

/// PS0206 when one of them is not in the store, PS0207 when its bytes, all of which are read, are
/// not those that its name stands for.
Result<void> check_blobs(const GraphDocument& document, const store::Store& store);

/// The member of an exported file that holds the graph as it was captured, one document: what
/// other compilers get, as the stream has it compiled. Its blobs are the compiled graph's.
inline constexpr std::string_view kCapturedGraph = "captured.json";

/// A file beside the stream in a packed file, which readers of documents leave alone.
struct PackMember {
  std::string name;
  std::string bytes;
};

/// Writes one movable file: a ZIP archive, uncompressed, of the stream (documents.json, canonical;
/// none where there are no documents), every blob that it refers to (blobs/HASH) and `members`. The
/// same documents, blobs and members give the same bytes. It appears whole or not at all. PS0206
/// when a blob is missing, PS0207 when one is damaged, PS0103 when the file cannot be written.
Result<void> write_pack(const std::string& path, const std::vector<Document>& documents,
                        const store::Store& store, const std::vector<PackMember>& members = {});

/// The bytes of the member `name` of the archive at `path`. Nothing: it has none, or the file is no
/// archive. PS0102 when it cannot be read, PS0201 and PS0208 as open_documents() has them.
Result<std::optional<std::string>> read_member(const std::string& path, std::string_view name);

/// Whether the file at `path` is such a file: an archive that holds a stream, or a damaged one.
/// Another archive, such as Python runs, is none.
bool is_pack(const std::string& path);

/// A reader of the documents at `path` ("-": standard input), which is opened once and not sought
/// unless it is a packed file: a named pipe will do. The blobs of a packed file go to the store
/// that `store` (--store) names first: PS0207 when a blob's bytes are not those of its name, PS0201
/// when the archive is none of ours, PS0208 when it holds more than formats/scan.h allows.
Result<DocumentReader> open_documents(const std::string& path, const std::string& store = {},
                                      ReadOptions options = {});

}  // namespace penstock::formats
