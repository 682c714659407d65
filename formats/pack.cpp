#include "formats/pack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "formats/scan.h"

namespace penstock::formats {

namespace {

constexpr std::string_view kStream = "documents.json";
constexpr std::string_view kBlobs = "blobs/";

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

/// A packed file that is being read. A few bytes of a hostile archive can claim, or come to, any
/// number of them: what entries say is looked at before they are opened, and what they come to
/// while they are.
class PackReader {
 public:
  static Result<std::shared_ptr<PackReader>> open(const InputFile& file, const std::string& path) {
    struct stat facts {};
    const int descriptor = fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0 || fstat(descriptor, &facts) != 0) {
      return failure(Code::PS0102, fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
    }
    int error = 0;
    Archive archive(zip_fdopen(descriptor, ZIP_CHECKCONS, &error));
    if (!archive) {
      close(descriptor);
      return failure(Code::PS0201, "the archive is damaged", path);
    }
    if (zip_get_num_entries(archive.get(), 0) > static_cast<zip_int64_t>(kMaxPackEntries)) {
      return failure(Code::PS0208,
                     fmt::format("the archive has more than {} entries", kMaxPackEntries), path);
    }
    std::shared_ptr<PackReader> reader(new PackReader);
    reader->archive_ = std::move(archive);
    reader->path_ = path;
    const auto size = static_cast<std::uint64_t>(facts.st_size);
    reader->room_ = kFreeInflation + std::min(size * kMaxInflation, size + kMaxInflatedBytes);
    return reader;
  }

  /// Brings the blobs that the store lacks, or holds damaged, into it.
  Result<void> keep_blobs(store::Store& store) {
    const auto count = static_cast<zip_uint64_t>(zip_get_num_entries(archive_.get(), 0));
    for (zip_uint64_t index = 0; index < count; ++index) {
      const char* raw_name = zip_get_name(archive_.get(), index, 0);
      std::string_view name = raw_name ? raw_name : "";
      if (!name.starts_with(kBlobs)) continue;
      name.remove_prefix(kBlobs.size());
      if (!store::is_hash(name) || store.intact(name)) continue;
      if (auto opened = begin(index); !opened) return opened;
      auto kept = store.put_as(name, [&] { return next(); });
      if (kept) continue;
      if (kept.error().place.empty()) kept.error().place = path_;
      return kept;
    }
    return {};
  }

  bool holds(const std::string& name) const {
    return zip_name_locate(archive_.get(), name.c_str(), 0) >= 0;
  }

  /// All bytes of a member that it holds.
  Result<std::string> whole(const std::string& name) {
    const zip_int64_t index = zip_name_locate(archive_.get(), name.c_str(), 0);
    if (auto begun = begin(static_cast<zip_uint64_t>(index)); !begun)
      return tl::unexpected(std::move(begun.error()));
    std::string out;
    while (true) {
      auto piece = next();
      if (!piece) return tl::unexpected(std::move(piece.error()));
      if (piece->empty()) return out;
      out += *piece;
    }
  }

  /// Goes to the documents, which next() gives then.
  Result<void> begin_documents() {
    const zip_int64_t index = zip_name_locate(archive_.get(), kStream.data(), 0);
    if (index < 0)
      return failure(Code::PS0201, fmt::format("the archive holds no '{}'", kStream), path_);
    return begin(static_cast<zip_uint64_t>(index));
  }

  /// The next bytes of the entry, none at its end.
  Result<std::string_view> next() {
    const zip_int64_t got = zip_fread(file_.get(), piece_.data(), piece_.size());
    if (got < 0)
      return failure(Code::PS0201, fmt::format("'{}' in the archive is damaged", name_), path_);
    const auto size = static_cast<std::uint64_t>(got);
    if (size > announced_)
      return failure(Code::PS0201, fmt::format("'{}' is longer than it says", name_), path_);
    announced_ -= size;
    room_ -= size;
    return std::string_view(piece_).substr(0, size);
  }

 private:
  PackReader() = default;

  Result<void> begin(zip_uint64_t index) {
    zip_stat_t facts;
    zip_stat_init(&facts);
    file_.reset();
    if (zip_stat_index(archive_.get(), index, 0, &facts) == 0)
      file_.reset(zip_fopen_index(archive_.get(), index, 0));
    if (!file_) {
      return failure(Code::PS0201,
                     fmt::format("the archive is damaged: {}", zip_strerror(archive_.get())),
                     path_);
    }
    name_ = facts.name;
    announced_ = facts.size;
    if (announced_ <= room_) return {};
    return failure(
        Code::PS0208,
        fmt::format("'{}' and what stands before it come to more than {} times the archive's size",
                    name_, kMaxInflation),
        path_);
  }

  Archive archive_;
  std::unique_ptr<zip_file_t, CloseFile> file_;
  std::string path_, name_;
  std::string piece_ = std::string(std::size_t{1} << 16, '\0');
  std::uint64_t announced_ = 0;  ///< bytes of the entry that are to come
  std::uint64_t room_ = 0;       ///< bytes that entries may still come to
};

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
  auto pack = PackReader::open(*file, path);
  if (!pack) return tl::unexpected(std::move(pack.error()));
  if (auto blobs = (*pack)->keep_blobs(*kept); !blobs)
    return tl::unexpected(std::move(blobs.error()));
  if (auto begun = (*pack)->begin_documents(); !begun)
    return tl::unexpected(std::move(begun.error()));
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
  auto file = InputFile::open(path);
  if (!file || !file->starts_with(kArchiveStart)) return false;
  auto pack = PackReader::open(*file, path);
  return !pack || (*pack)->holds(std::string(kStream));
}

Result<std::optional<std::string>> read_member(const std::string& path, std::string_view name) {
  auto file = InputFile::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  if (!file->starts_with(kArchiveStart)) return std::optional<std::string>();
  auto pack = PackReader::open(*file, path);
  if (!pack) return tl::unexpected(std::move(pack.error()));
  if (!(*pack)->holds(std::string(name))) return std::optional<std::string>();
  auto bytes = (*pack)->whole(std::string(name));
  if (!bytes) return tl::unexpected(std::move(bytes.error()));
  return std::optional(std::move(*bytes));
}

}  // namespace penstock::formats
