#include "formats/pack.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "formats/archive.h"

namespace penstock::formats {

namespace {

constexpr std::string_view kStream = "documents.json";
constexpr std::string_view kBlobs = "blobs/";

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

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

/// Adds a file to the archive, uncompressed (tensors hardly shrink, and can be mapped so) and with
/// a fixed time.
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

/// Brings the blobs that the store lacks, or holds damaged, into it.
Result<void> keep_blobs(ArchiveReader& archive, store::Store& store) {
  for (std::uint64_t index = 0; index < archive.size(); ++index) {
    std::string_view name = archive.name(index);
    if (!name.starts_with(kBlobs)) continue;
    name.remove_prefix(kBlobs.size());
    if (!store::is_hash(name) || store.intact(name)) continue;
    if (auto opened = archive.begin(index); !opened) return opened;
    auto kept = store.put_as(name, [&] { return archive.next(); });
    if (kept) continue;
    if (kept.error().place.empty()) kept.error().place = archive.path();
    return kept;
  }
  return {};
}

/// Goes to the documents, which next() gives then.
Result<void> begin_documents(ArchiveReader& archive) {
  const auto index = archive.find(kStream);
  if (!index) {
    return failure(Code::PS0201, fmt::format("the archive holds no '{}'", kStream), archive.path());
  }
  return archive.begin(*index);
}

}  // namespace

std::vector<std::string> blobs_of(const GraphDocument& document) {
  std::vector<std::string> out;
  std::visit(BlobLister{out}, document.graph);
  return out;
}

Result<void> check_blobs(const GraphDocument& document, const store::Store& store) {
  for (const std::string& hash : blobs_of(document)) {
    auto blob = store.get(hash);
    if (blob) continue;
    blob.error().place = fmt::format("graph {}", to_string(interface_of(document).id));
    return tl::unexpected(std::move(blob.error()));
  }
  return {};
}

Result<void> write_pack(const std::string& path, const std::vector<Document>& documents,
                        const store::Store& store, const std::vector<PackMember>& members) {
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
  auto failed = [&](const std::string& why) {
    return failure(Code::PS0103, fmt::format("cannot write '{}': {}", path, why));
  };
  struct stat facts {};
  if (stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode))
    return failed(std::strerror(EISDIR));
  int error = 0;
  Archive archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error));
  if (!archive) {
    zip_error_t reason;
    zip_error_init_with_code(&reason, error);
    std::string why = zip_error_strerror(&reason);
    zip_error_fini(&reason);
    return failed(why);
  }
  zip_t* raw = archive.get();
  bool good =
      documents.empty() ||
      add_file(raw, std::string(kStream), zip_source_buffer(raw, stream.data(), stream.size(), 0));
  for (const PackMember& member : members) {
    good = good && add_file(raw, member.name,
                            zip_source_buffer(raw, member.bytes.data(), member.bytes.size(), 0));
  }
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

Result<DocumentReader> open_documents(const std::string& path, const std::string& store,
                                      ReadOptions options) {
  const std::string name = path.empty() || path == "-" ? "stdin" : path;
  auto file = InputFile::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  if (name == "stdin" || !file->starts_with(kArchiveStart))
    return DocumentReader(file->source(), name, options);
  auto kept = store::Store::open(store);
  if (!kept) return tl::unexpected(kept.error());
  auto pack = ArchiveReader::open(*file, path);
  if (!pack) return tl::unexpected(std::move(pack.error()));
  if (auto blobs = keep_blobs(**pack, *kept); !blobs)
    return tl::unexpected(std::move(blobs.error()));
  if (auto begun = begin_documents(**pack); !begun) return tl::unexpected(std::move(begun.error()));
  ByteSource source = [pack = *pack, rest = std::string_view()](
                          char* buffer, std::size_t size) mutable -> Result<std::size_t> {
    if (rest.empty()) {
      auto next = pack->next();
      if (!next) return tl::unexpected(std::move(next.error()));
      rest = *next;
    }
    const std::size_t count = std::min(size, rest.size());
    std::memcpy(buffer, rest.data(), count);
    rest.remove_prefix(count);
    return count;
  };
  return DocumentReader(std::move(source), name, options);
}

bool is_pack(const std::string& path) {
  if (InputFile::is_read_once(path)) return false;
  auto file = InputFile::open(path);
  if (!file || !file->starts_with(kArchiveStart)) return false;
  auto pack = ArchiveReader::open(*file, path);
  return !pack || (*pack)->find(kStream).has_value();
}

Result<std::optional<std::string>> read_member(const std::string& path, std::string_view name) {
  if (InputFile::is_read_once(path)) return std::optional<std::string>();
  auto file = InputFile::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  if (!file->starts_with(kArchiveStart)) return std::optional<std::string>();
  auto pack = ArchiveReader::open(*file, path);
  if (!pack) return tl::unexpected(std::move(pack.error()));
  return (*pack)->member(name);
}

}  // namespace penstock::formats
