#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/document.h"
#include "formats/stream.h"
#include "store/store.h"

namespace penstock::formats {

/// The hashes of all blobs that a graph refers to, in the order of its `blobs` record.
std::vector<std::string> blobs_of(const GraphDocument& document);

/// PS0206 when one of them is not in the store.
Result<void> check_blobs(const GraphDocument& document, const store::Store& store);

/// Writes one movable file: a ZIP archive, uncompressed, of the stream (documents.json, canonical)
/// and every blob that it refers to (blobs/HASH). The same documents and blobs give the same bytes.
/// It appears whole or not at all. PS0206 when a blob is missing, PS0103 when it cannot be written.
Result<void> write_pack(const std::string& path, const std::vector<Document>& documents,
                        const store::Store& store);

/// Whether the file at `path` starts as such a file does.
bool is_pack(const std::string& path);

/// Brings the blobs of a packed file into the store, and returns the bytes of its stream. PS0207
/// when a blob's bytes are not those of its name, PS0201 when the archive is none of ours.
Result<std::string> read_pack(const std::string& path, store::Store& store);

/// A reader of the documents at `path` ("-": standard input): a stream, or a packed file, whose
/// blobs go to the store that `store` (--store) names first.
Result<DocumentReader> open_documents(const std::string& path, const std::string& store = {}, ReadOptions options = {});

}  // namespace penstock::formats
