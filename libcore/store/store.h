#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"

namespace penstock::store {

/// The name of some bytes: XXH3's 128-bit hash, as 32 hexadecimal digits in lower case.
std::string hash_of(std::string_view bytes);
/// The same of all pieces, one behind the other.
std::string hash_of(std::span<const std::string_view> pieces);
/// Whether `text` can be such a name; only then it may become part of a path.
bool is_hash(std::string_view text);

/// The same hash of bytes that come piece by piece.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void add(std::string_view bytes);
  /// The name of all that was added.
  std::string name() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A file's bytes, mapped read-only; shared with every process that maps them.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  /// Maps the whole of `path`. PS0102 when it cannot be opened.
  static Result<Mapping> map(const std::string& path);
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

/// A weight in the layout that a library reads; the file stays mapped as long as this lives.
struct PackedWeight {
  Mapping file;
  std::string_view bytes;  ///< aligned to a page
};

/// Where a store lies: `option` (--store), else $PENSTOCK_STORE, else $XDG_CACHE_HOME/penstock,
/// else $HOME/.cache/penstock. PS0210 when none of them is set.
Result<std::string> store_directory(const std::string& option = {});

/// Blobs by the hash of their bytes, and kernels and packed weights by a key of the caller's.
///
/// Layout: blobs/ab/abcdef…, kernels/ab/abcdef…, packed/ab/abcdef…. A file appears whole or not at
/// all (temporary file, then rename), so any number of processes may read and write; two that write
/// the same blob write the same bytes; a Store may be used by several threads. Nothing is made
/// before the first write. What was used last is kept longest: the times of files are the order.
class Store {
 public:
  /// Where `limit` is not given: what a store may hold, in bytes.
  static constexpr std::uint64_t kDefaultLimit = std::uint64_t{20} << 30;

  explicit Store(std::string directory, std::uint64_t limit = kDefaultLimit);
  /// A store where store_directory() says.
  static Result<Store> open(const std::string& option = {});

  const std::string& directory() const { return directory_; }

  /// Keeps bytes and returns their hash. A file that has the name but other bytes is replaced.
  /// PS0210 when there is no room or no permission.
  Result<std::string> put(std::span<const std::string_view> pieces);
  Result<std::string> put(std::string_view bytes) { return put(std::span(&bytes, 1)); }
  /// Keeps the blob called `hash`, whose bytes `next` gives piece by piece, an empty one at the
  /// end. What `next` fails with, PS0210, or PS0207 when the bytes are not those that the hash
  /// stands for: then nothing is kept.
  Result<void> put_as(std::string_view hash, const std::function<Result<std::string_view>()>& next);

  /// The bytes of a blob. PS0206 when it is missing, PS0207 when its bytes are not those that the
  /// hash stands for (looked at only with `check`: about 0.1 ms a megabyte).
  Result<Mapping> get(std::string_view hash, bool check = true) const;
  /// PS0207 unless `bytes` are those that the hash stands for.
  static Result<void> check(std::string_view hash, std::string_view bytes);
  bool has(std::string_view hash) const;
  /// Whether the blob is there with the bytes that the hash stands for, all of which are read.
  bool intact(std::string_view hash) const;
  /// The file of a blob, for dlopen; it need not exist.
  std::string blob_path(std::string_view hash) const;

  /// The kernel kept under `key` (a hash), if there is one.
  std::optional<Mapping> kernel(std::string_view key) const;
  std::string kernel_path(std::string_view key) const;
  Result<void> put_kernel(std::string_view key, std::string_view bytes);

  /// The packed weight of `size` bytes kept under `key` (a hash). Nothing when there is none, or
  /// when the file is not as it was written: it holds a hash behind the bytes, which is looked at
  /// every time.
  std::optional<PackedWeight> packed(std::string_view key, std::size_t size) const;
  std::string packed_path(std::string_view key) const;
  /// Puts one in the place of what is there.
  Result<void> put_packed(std::string_view key, std::string_view bytes);

  /// One file of the store.
  struct Entry {
    enum class Kind : std::uint8_t { blob, kernel, packed };
    Kind kind = Kind::blob;
    std::string name;
    std::uint64_t bytes = 0;
    std::int64_t last_used = 0;  ///< seconds since 1970
  };
  /// All of them, last used first. A store that does not exist is empty.
  Result<std::vector<Entry>> list() const;

  /// A file that is not as it was written.
  struct Damage {
    Entry entry;
    std::string path;
    std::string reason;
  };
  /// Reads every file and gives those whose bytes are not what their names, or the hashes behind
  /// them, stand for, in the order of their paths.
  Result<std::vector<Damage>> verify() const;

  /// What was removed.
  struct Removed {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
  };
  /// Removes what was used longest ago until at most `limit` bytes are left, and what writers that
  /// died left behind. What was used within the last `keep_seconds` stays.
  Result<Removed> prune(std::uint64_t limit, std::int64_t keep_seconds = 0);
  /// Removes everything.
  Result<Removed> clear() { return prune(0); }
  /// Removes what verify() finds, and what writers that died left behind. What is whole stays.
  Result<Removed> repair();

 private:
  Result<void> write(const std::string& path, std::span<const std::string_view> pieces);
  void bound();

  std::string directory_;
  std::uint64_t limit_;
  std::unique_ptr<std::atomic<std::uint64_t>> written_;  ///< bytes since the limit was looked at
};

}  // namespace penstock::store
