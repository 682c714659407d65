#include "formats/pack.h"

#include <fmt/format.h>
#include <zip.h>

#include <fstream>
#include <memory>
#include <set>


namespace penstock::formats {

namespace {

constexpr std::string_view kStream = "documents.json";
constexpr std::string_view kBlobs = "blobs/";
constexpr std::string_view kMagic = "PK\x03\x04";

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

struct BlobLister {
  std::vector<std::string>& out;

  void add(const std::string& hash) const {
    if (!hash.empty()) out.push_back(hash);
  }
  void interface(const Interface& interface) const {
    for (const Input& input : interface.inputs) add(input.blob);
    for (const Output& output : interface.outputs) add(output.blob);
  }
  void buffers(const std::vector<Buffer>& buffers) const {
    for (const Buffer& buffer : buffers) add(buffer.blob);
  }
  void operator()(const Graph& graph) const { interface(graph.interface); }
  void operator()(const PlacedGraph& placed) const { interface(placed.graph.interface); }
  void operator()(const LoopProgram& program) const {
    interface(program.interface);
    buffers(program.buffers);
  }
  void operator()(const KernelBundle& bundle) const {
    interface(bundle.interface);
    buffers(bundle.buffers);
    for (const KernelBundle::Code& code : bundle.code) add(code.blob);
  }
};

/// Adds a file to the archive, uncompressed (tensors hardly shrink, and can be mapped so) and with a
/// fixed time.
bool add_file(zip_t* archive, const std::string& name, zip_source_t* source) {
  if (source == nullptr) return false;
  zip_int64_t index = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    return false;
  }
  constexpr zip_uint16_t kMidnight = 0, kFirstOfJanuary1980 = 1 << 5 | 1;
  auto at = static_cast<zip_uint64_t>(index);
  return zip_set_file_compression(archive, at, ZIP_CM_STORE, 0) == 0 &&
         zip_file_set_dostime(archive, at, kMidnight, kFirstOfJanuary1980, 0) == 0;
}

Result<std::string> read_entry(zip_t* archive, zip_uint64_t index, const std::string& path) {
  zip_stat_t facts;
  zip_stat_init(&facts);
  std::unique_ptr<zip_file_t, CloseFile> file;
  if (zip_stat_index(archive, index, 0, &facts) == 0) {
    file.reset(zip_fopen_index(archive, index, 0));
  }
  if (!file) {
    return failure(Code::PS0201, fmt::format("the archive is damaged: {}", zip_strerror(archive)),
                   path);
  }
  std::string bytes, piece(std::size_t{1} << 20, '\0');
  for (;;) {
    zip_int64_t got = zip_fread(file.get(), piece.data(), piece.size());
    if (got < 0) {
      return failure(Code::PS0201, fmt::format("'{}' in the archive is damaged", facts.name), path);
    }
    if (got == 0) return bytes;
    bytes.append(piece, 0, static_cast<std::size_t>(got));
    // A few bytes of a hostile archive can claim to hold any number of them.
    if (bytes.size() > facts.size) {
      return failure(Code::PS0201, fmt::format("'{}' is longer than it says", facts.name), path);
    }
  }
}

}  // namespace

std::vector<std::string> blobs_of(const GraphDocument& document) {
  std::vector<std::string> out;
  std::visit(BlobLister{out}, document.graph);
  return out;
}

Result<void> check_blobs(const GraphDocument& document, const store::Store& store) {
  for (const std::string& hash : blobs_of(document)) {
    if (store.has(hash)) continue;
    return failure(Code::PS0206,
                   fmt::format("blob {} is not in the store '{}'", hash, store.directory()),
                   fmt::format("graph {}", to_string(interface_of(document).id)));
  }
  return {};
}

Result<void> write_pack(const std::string& path, const std::vector<Document>& documents,
                        const store::Store& store) {
  std::string stream;
  std::set<std::string> hashes;
  for (const Document& document : documents) {
    auto bytes = encode(document, {});
    if (!bytes) return tl::unexpected(bytes.error());
    stream += *bytes;
    auto* graph = std::get_if<GraphDocument>(&document);
    if (graph == nullptr) continue;
    if (auto there = check_blobs(*graph, store); !there) return there;
    for (std::string& hash : blobs_of(*graph)) hashes.insert(std::move(hash));
  }
  int error = 0;
  Archive archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error));
  auto failed = [&](const std::string& why) {
    return failure(Code::PS0103, fmt::format("cannot write '{}': {}", path, why));
  };
  if (!archive) {
    zip_error_t reason;
    zip_error_init_with_code(&reason, error);
    std::string why = zip_error_strerror(&reason);
    zip_error_fini(&reason);
    return failed(why);
  }
  zip_t* raw = archive.get();
  bool good = add_file(raw, std::string(kStream),
                       zip_source_buffer(raw, stream.data(), stream.size(), 0));
  for (const std::string& hash : hashes) {
    good = good && add_file(raw, std::string(kBlobs) + hash,
                            zip_source_file(raw, store.blob_path(hash).c_str(), 0, -1));
  }
  if (!good) return failed(zip_strerror(raw));
  // Closing writes a temporary file and renames it.
  if (zip_close(raw) != 0) return failed(zip_strerror(raw));
  static_cast<void>(archive.release());
  return {};
}

bool is_pack(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string first(kMagic.size(), '\0');
  return in.read(first.data(), static_cast<std::streamsize>(first.size())) && first == kMagic;
}

Result<std::string> read_pack(const std::string& path, store::Store& store) {
  int error = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &error));
  if (!archive) return failure(Code::PS0201, "the archive is damaged", path);
  std::optional<std::string> stream;
  auto count = static_cast<zip_uint64_t>(zip_get_num_entries(archive.get(), 0));
  for (zip_uint64_t index = 0; index < count; ++index) {
    const char* raw_name = zip_get_name(archive.get(), index, 0);
    std::string_view name = raw_name ? raw_name : "";
    bool is_blob = name.starts_with(kBlobs) && store::is_hash(name.substr(kBlobs.size()));
    if (name != kStream && !is_blob) continue;
    if (is_blob && store.has(name.substr(kBlobs.size()))) continue;
    auto bytes = read_entry(archive.get(), index, path);
    if (!bytes) return bytes;
    if (!is_blob) {
      stream = std::move(*bytes);
    } else if (store::hash_of(*bytes) != name.substr(kBlobs.size())) {
      return failure(Code::PS0207, fmt::format("the bytes of '{}' are damaged", name), path);
    } else if (auto kept = store.put(*bytes); !kept) {
      return kept;
    }
  }
  if (stream) return std::move(*stream);
  return failure(Code::PS0201, fmt::format("the archive holds no '{}'", kStream), path);
}

Result<DocumentReader> open_documents(const std::string& path, const std::string& store, ReadOptions options) {
  std::string name = path.empty() || path == "-" ? "stdin" : path;
  if (name == "stdin" || !is_pack(path)) {
    auto source = open_source(path);
    if (!source) return tl::unexpected(source.error());
    return DocumentReader(std::move(*source), std::move(name), options);
  }
  auto kept = store::Store::open(store);
  if (!kept) return tl::unexpected(kept.error());
  auto stream = read_pack(path, *kept);
  if (!stream) return tl::unexpected(stream.error());
  auto bytes = std::make_shared<const std::string>(std::move(*stream));
  ByteSource source = [bytes, rest = source_of(*bytes)](char* buffer, std::size_t size) mutable {
    return rest(buffer, size);
  };
  return DocumentReader(std::move(source), std::move(name), options);
}

}  // namespace penstock::formats
