#include "formats/archive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "formats/scan.h"

namespace penstock::formats {

namespace {

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};

struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

}  // namespace

struct ArchiveReader::State {
  std::unique_ptr<zip_t, Discard> archive;
  std::unique_ptr<zip_file_t, CloseFile> file;
};

ArchiveReader::~ArchiveReader() = default;

Result<std::shared_ptr<ArchiveReader>> ArchiveReader::adopt(void* archive, std::uint64_t size,
                                                            const std::string& path) {
  std::shared_ptr<ArchiveReader> reader(new ArchiveReader);
  reader->state_ = std::make_unique<State>();
  reader->state_->archive.reset(static_cast<zip_t*>(archive));
  reader->path_ = path;
  if (archive == nullptr) return failure(Code::PS0201, "the archive is damaged", path);
  if (reader->size() > kMaxPackEntries) {
    return failure(Code::PS0208,
                   fmt::format("the archive has more than {} entries", kMaxPackEntries), path);
  }
  reader->room_ = kFreeInflation + std::min(size * kMaxInflation, size + kMaxInflatedBytes);
  return reader;
}

Result<std::shared_ptr<ArchiveReader>> ArchiveReader::open(const InputFile& file,
                                                           const std::string& path) {
  struct stat facts {};
  const int descriptor = fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0 || fstat(descriptor, &facts) != 0)
    return failure(Code::PS0102, fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  int error = 0;
  zip_t* archive = zip_fdopen(descriptor, ZIP_CHECKCONS, &error);
  if (archive == nullptr) close(descriptor);
  return adopt(archive, static_cast<std::uint64_t>(facts.st_size), path);
}

Result<std::shared_ptr<ArchiveReader>> ArchiveReader::open(std::string_view bytes,
                                                           const std::string& path) {
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, nullptr);
  if (source == nullptr) return failure(Code::PS0106, "there is no memory for an archive", path);
  zip_t* archive = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, nullptr);
  if (archive == nullptr) zip_source_free(source);
  return adopt(archive, bytes.size(), path);
}

std::uint64_t ArchiveReader::size() const {
  return static_cast<std::uint64_t>(zip_get_num_entries(state_->archive.get(), 0));
}

std::string_view ArchiveReader::name(std::uint64_t index) const {
  const char* name = zip_get_name(state_->archive.get(), index, 0);
  return name == nullptr ? "" : name;
}

std::optional<std::uint64_t> ArchiveReader::find(std::string_view name) const {
  const zip_int64_t index = zip_name_locate(state_->archive.get(), std::string(name).c_str(), 0);
  if (index < 0) return std::nullopt;
  return static_cast<std::uint64_t>(index);
}

Result<void> ArchiveReader::begin(std::uint64_t index) {
  zip_t* archive = state_->archive.get();
  zip_stat_t facts;
  zip_stat_init(&facts);
  state_->file.reset();
  if (zip_stat_index(archive, index, 0, &facts) == 0)
    state_->file.reset(zip_fopen_index(archive, index, 0));
  if (!state_->file) {
    return failure(Code::PS0201, fmt::format("the archive is damaged: {}", zip_strerror(archive)),
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

Result<std::string_view> ArchiveReader::next() {
  const zip_int64_t got = zip_fread(state_->file.get(), piece_.data(), piece_.size());
  if (got < 0)
    return failure(Code::PS0201, fmt::format("'{}' in the archive is damaged", name_), path_);
  const auto size = static_cast<std::uint64_t>(got);
  if (size > announced_)
    return failure(Code::PS0201, fmt::format("'{}' is longer than it says", name_), path_);
  announced_ -= size;
  room_ -= size;
  return std::string_view(piece_).substr(0, size);
}

Result<std::optional<std::string>> ArchiveReader::member(std::string_view name) {
  const auto index = find(name);
  if (!index) return std::optional<std::string>();
  if (auto begun = begin(*index); !begun) return tl::unexpected(std::move(begun.error()));
  std::string out;
  while (true) {
    auto piece = next();
    if (!piece) return tl::unexpected(std::move(piece.error()));
    if (piece->empty()) return std::optional(std::move(out));
    out += *piece;
  }
}

}  // namespace penstock::formats
