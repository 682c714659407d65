#include "store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "store/file.h"

namespace penstock::store {

namespace {

namespace files = std::filesystem;

/// After so many bytes of new files, the store's size is looked at.
constexpr std::uint64_t kLookEvery = std::uint64_t{256} << 20;
/// Pruning that nobody asked for spares what was used in the last hour: a pipe may still need it.
constexpr std::int64_t kSpareSeconds = 3600;
/// The time of a file is renewed when it is older than this, to spare writes.
constexpr std::int64_t kRenewSeconds = 600;

std::string_view folder_of(Store::Entry::Kind kind) {
  switch (kind) {
    case Store::Entry::Kind::blob:
      return "blobs";
    case Store::Entry::Kind::kernel:
      return "kernels";
    case Store::Entry::Kind::packed:
      return "packed";
  }
  return {};
}

std::string path_in(const std::string& directory, Store::Entry::Kind kind, std::string_view name) {
  return fmt::format("{}/{}/{}/{}", directory, folder_of(kind), name.substr(0, 2), name);
}

/// Says that the file was used. A store that cannot be written stays readable, so nobody is told.
void touch(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return;
  if (std::time(nullptr) - facts.st_mtim.tv_sec > kRenewSeconds) {
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  }
}

/// Stands behind a packed weight: tells whether it is whole, and the one of its key.
std::string seal_of(std::string_view key, std::string_view bytes) {
  return hash_of(std::array{key, bytes});
}

tl::unexpected<Diagnostic> damaged(std::string_view hash) {
  return failure(Code::PS0207, fmt::format("the bytes of blob {} are damaged", hash));
}

/// Why a blob is not as it was written; empty: it is.
std::string reason_of_blob(std::string_view name, const std::string& path) {
  Hasher hasher;
  const bool read = read_pieces(path, [&](std::string_view piece) {
    hasher.add(piece);
    return true;
  });
  if (!read) return "it cannot be read";
  return hasher.name() == name ? "" : "its bytes are not those that its name stands for";
}

/// The same of a packed weight, behind whose bytes their seal stands.
std::string reason_of_packed(std::string_view key, const std::string& path) {
  Hasher hasher;
  hasher.add(key);
  std::string seal;  // the last bytes that were read, as many as a seal has
  const bool read = read_pieces(path, [&](std::string_view piece) {
    const std::string bytes = seal.append(piece);
    const std::size_t sealed = bytes.size() - std::min(bytes.size(), key.size());
    hasher.add(std::string_view(bytes).substr(0, sealed));
    seal = bytes.substr(sealed);
    return true;
  });
  if (!read) return "it cannot be read";
  return hasher.name() == seal ? "" : "its bytes are not those that were packed";
}

/// The same of what is kept for a kernel: a line of text.
std::string reason_of_kernel(const std::string& path) {
  bool text = true;
  const bool read = read_pieces(path, [&](std::string_view piece) {
    text = text && std::all_of(piece.begin(), piece.end(),
                               [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
    return text;
  });
  if (!text) return "it is no text";
  return read ? "" : "it cannot be read";
}

std::string reason_of(Store::Entry::Kind kind, std::string_view name, const std::string& path) {
  switch (kind) {
    case Store::Entry::Kind::blob:
      return reason_of_blob(name, path);
    case Store::Entry::Kind::kernel:
      return reason_of_kernel(path);
    case Store::Entry::Kind::packed:
      return reason_of_packed(name, path);
  }
  return {};
}

/// A file of the store, or what a writer that died left behind.
struct Found {
  Store::Entry entry;
  std::string path;
  bool unfinished = false;
};

/// Removes the file, unless another process has, and counts it.
Result<void> remove(const Found& one, Store::Removed& removed) {
  if (unlink(one.path.c_str()) == 0) {
    ++removed.files;
    removed.bytes += one.entry.bytes;
    return {};
  }
  if (errno == ENOENT) return {};
  return failure(Code::PS0210, fmt::format("cannot remove '{}': {}", one.path,
                                           std::generic_category().message(errno)));
}

Result<std::vector<Found>> find_all(const std::string& directory) {
  std::vector<Found> found;
  struct stat whole {};
  const int error = stat(directory.c_str(), &whole) != 0 ? errno
                    : S_ISDIR(whole.st_mode)             ? 0
                                                         : ENOTDIR;
  if (error == ENOENT) return found;
  if (error != 0) {
    return failure(Code::PS0210, fmt::format("cannot read the store '{}': {}", directory,
                                             std::generic_category().message(error)));
  }
  for (auto kind :
       {Store::Entry::Kind::blob, Store::Entry::Kind::kernel, Store::Entry::Kind::packed}) {
    std::error_code error;
    files::path root = files::path(directory) / folder_of(kind);
    if (!files::exists(root, error)) continue;
    auto at = files::recursive_directory_iterator(root, error);
    for (; !error && at != files::recursive_directory_iterator(); at.increment(error)) {
      struct stat facts {};
      // Another process may remove files meanwhile.
      if (stat(at->path().c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
      std::string name = at->path().filename().string();
      bool unfinished = name.starts_with(kUnfinished);
      if (!unfinished && !is_hash(name)) continue;
      found.push_back(
          {{kind, name, static_cast<std::uint64_t>(facts.st_size), facts.st_mtim.tv_sec},
           at->path().string(),
           unfinished});
    }
    if (error) {
      return failure(Code::PS0210,
                     fmt::format("cannot read the store '{}': {}", directory, error.message()));
    }
  }
  return found;
}

}  // namespace

Result<std::string> store_directory(const std::string& option) {
  if (!option.empty()) return option;
  auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (auto named = variable("PENSTOCK_STORE"); !named.empty()) return named;
  if (auto cache = variable("XDG_CACHE_HOME"); cache.starts_with('/')) return cache + "/penstock";
  if (auto home = variable("HOME"); !home.empty()) return home + "/.cache/penstock";
  return failure(Code::PS0210,
                 "there is no place for the store: neither PENSTOCK_STORE nor HOME is "
                 "set");
}

Store::Store(std::string directory, std::uint64_t limit)
    : directory_(std::move(directory)),
      limit_(limit),
      written_(std::make_unique<std::atomic<std::uint64_t>>(0)) {}

Result<Store> Store::open(const std::string& option) {
  auto directory = store_directory(option);
  if (!directory) return tl::unexpected(directory.error());
  // A program may change its folder while its tensors are kept.
  std::error_code error;
  const files::path absolute = files::absolute(*directory, error);
  return Store(error ? std::move(*directory) : absolute.string());
}

std::string Store::blob_path(std::string_view hash) const {
  return path_in(directory_, Entry::Kind::blob, hash);
}
std::string Store::kernel_path(std::string_view key) const {
  return path_in(directory_, Entry::Kind::kernel, key);
}

bool Store::has(std::string_view hash) const {
  return is_hash(hash) && access(blob_path(hash).c_str(), R_OK) == 0;
}

Result<std::string> Store::put(std::span<const std::string_view> pieces) {
  std::string hash = hash_of(pieces);
  std::string path = blob_path(hash);
  std::uint64_t size = 0;
  for (std::string_view piece : pieces) size += piece.size();
  struct stat facts {};
  // The bytes are looked at: a file that a bad disk or a crash has spoilt would otherwise be kept
  // for ever.
  if (stat(path.c_str(), &facts) == 0 && static_cast<std::uint64_t>(facts.st_size) == size &&
      holds(path, pieces)) {
    touch(path);
    return hash;
  }
  if (auto written = write(path, pieces); !written) return tl::unexpected(written.error());
  return hash;
}

Result<void> Store::put_as(std::string_view hash,
                           const std::function<Result<std::string_view>()>& next) {
  if (!is_hash(hash)) {
    return failure(Code::PS0207, fmt::format("'{}' is no name of a blob", hash.substr(0, 80)));
  }
  auto file = NewFile::open(blob_path(hash));
  if (!file) return tl::unexpected(std::move(file.error()));
  Hasher hasher;
  std::uint64_t size = 0;
  for (;;) {
    auto piece = next();
    if (!piece) return tl::unexpected(std::move(piece.error()));
    if (piece->empty()) break;
    hasher.add(*piece);
    size += piece->size();
    if (auto written = file->write(*piece); !written) return written;
  }
  if (hasher.name() != hash) return damaged(hash);
  if (auto named = file->commit(); !named) return named;
  *written_ += size;
  bound();
  return {};
}

Result<Mapping> Store::get(std::string_view hash, bool check) const {
  if (!is_hash(hash)) {
    return failure(Code::PS0207, fmt::format("'{}' is no name of a blob", hash.substr(0, 80)));
  }
  std::string path = blob_path(hash);
  auto mapping = Mapping::map(path);
  if (!mapping) {
    return failure(Code::PS0206, fmt::format("blob {} is not in the store '{}'", hash, directory_));
  }
  if (check) {
    if (auto whole = Store::check(hash, mapping->bytes()); !whole) {
      whole.error().place = path;
      return tl::unexpected(std::move(whole.error()));
    }
  }
  touch(path);
  return mapping;
}

Result<void> Store::check(std::string_view hash, std::string_view bytes) {
  if (hash_of(bytes) == hash) return {};
  return damaged(hash);
}

bool Store::intact(std::string_view hash) const {
  return is_hash(hash) && reason_of_blob(hash, blob_path(hash)).empty();
}

std::optional<Mapping> Store::kernel(std::string_view key) const {
  if (!is_hash(key)) return std::nullopt;
  std::string path = kernel_path(key);
  auto mapping = Mapping::map(path);
  if (!mapping) return std::nullopt;
  touch(path);
  return std::move(*mapping);
}

Result<void> Store::put_kernel(std::string_view key, std::string_view bytes) {
  if (!is_hash(key)) {
    return failure(Code::PS0601, fmt::format("'{}' is no key of a kernel", key.substr(0, 80)));
  }
  return write(kernel_path(key), std::span(&bytes, 1));
}

std::string Store::packed_path(std::string_view key) const {
  return path_in(directory_, Entry::Kind::packed, key);
}

std::optional<PackedWeight> Store::packed(std::string_view key, std::size_t size) const {
  if (!is_hash(key)) return std::nullopt;
  const std::string path = packed_path(key);
  auto file = Mapping::map(path);
  if (!file || file->bytes().size() != size + key.size()) return std::nullopt;
  const std::string_view bytes = file->bytes().substr(0, size);
  if (seal_of(key, bytes) != file->bytes().substr(size)) return std::nullopt;
  touch(path);
  return PackedWeight{std::move(*file), bytes};
}

Result<void> Store::put_packed(std::string_view key, std::string_view bytes) {
  if (!is_hash(key)) {
    return failure(Code::PS0601,
                   fmt::format("'{}' is no key of a packed weight", key.substr(0, 80)));
  }
  const std::string seal = seal_of(key, bytes);
  return write(packed_path(key), std::array{bytes, std::string_view(seal)});
}

Result<void> Store::write(const std::string& path, std::span<const std::string_view> pieces) {
  auto written = write_file(path, pieces);
  if (!written) return written;
  for (std::string_view piece : pieces) *written_ += piece.size();
  bound();
  return {};
}

/// Keeps the store near its limit without reading the folders at every write.
void Store::bound() {
  if (*written_ < std::min(kLookEvery, limit_)) return;
  *written_ = 0;
  // A store that cannot be pruned still works; the next writer that finds no room says so.
  static_cast<void>(prune(limit_, kSpareSeconds));
}

Result<std::vector<Store::Entry>> Store::list() const {
  auto found = find_all(directory_);
  if (!found) return tl::unexpected(found.error());
  std::vector<Entry> entries;
  for (Found& one : *found) {
    if (!one.unfinished) entries.push_back(std::move(one.entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.last_used != b.last_used ? a.last_used > b.last_used : a.name < b.name;
  });
  return entries;
}

Result<std::vector<Store::Damage>> Store::verify() const {
  auto found = find_all(directory_);
  if (!found) return tl::unexpected(found.error());
  std::vector<Damage> out;
  for (Found& one : *found) {
    if (one.unfinished) continue;
    std::string reason = reason_of(one.entry.kind, one.entry.name, one.path);
    // A file that another process has removed meanwhile is not damaged.
    if (reason.empty() || access(one.path.c_str(), F_OK) != 0) continue;
    out.push_back({std::move(one.entry), std::move(one.path), std::move(reason)});
  }
  std::sort(out.begin(), out.end(),
            [](const Damage& a, const Damage& b) { return a.path < b.path; });
  return out;
}

Result<Store::Removed> Store::repair() {
  auto found = find_all(directory_);
  if (!found) return tl::unexpected(found.error());
  const std::int64_t now = std::time(nullptr);
  Removed removed;
  for (const Found& one : *found) {
    const bool bad = one.unfinished ? now - one.entry.last_used > kSpareSeconds
                                    : !reason_of(one.entry.kind, one.entry.name, one.path).empty();
    if (!bad) continue;
    if (auto gone = remove(one, removed); !gone) return tl::unexpected(std::move(gone.error()));
  }
  return removed;
}

Result<Store::Removed> Store::prune(std::uint64_t limit, std::int64_t keep_seconds) {
  auto found = find_all(directory_);
  if (!found) return tl::unexpected(found.error());
  std::sort(found->begin(), found->end(),
            [](const Found& a, const Found& b) { return a.entry.last_used < b.entry.last_used; });
  std::uint64_t total = 0;
  for (const Found& one : *found) total += one.entry.bytes;
  std::int64_t now = std::time(nullptr);
  Removed removed;
  for (const Found& one : *found) {
    std::int64_t age = now - one.entry.last_used;
    bool dead = one.unfinished && (age > kSpareSeconds || limit == 0);
    if (!dead && (one.unfinished || total <= limit || age < keep_seconds)) continue;
    if (auto gone = remove(one, removed); !gone) return tl::unexpected(std::move(gone.error()));
    total -= one.entry.bytes;
  }
  return removed;
}

}  // namespace penstock::store
