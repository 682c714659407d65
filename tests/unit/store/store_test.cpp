#include "store/store.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using namespace penstock;
using penstock::store::Store;

namespace {

/// A folder that is gone when the test is.
struct Folder {
  std::string path;
  Folder() {
    std::string name = "/tmp/penstock-store-XXXXXX";
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

void set_age(const std::string& path, std::int64_t seconds) {
  timespec times[2] = {{std::time(nullptr) - seconds, 0}, {std::time(nullptr) - seconds, 0}};
  utimensat(AT_FDCWD, path.c_str(), times, 0);
}

}  // namespace

TEST_CASE("a blob comes back by its hash, in one piece or several") {
  Folder folder;
  Store store(folder.path + "/deep/store");
  auto hash = store.put("hello world");
  REQUIRE(hash.has_value());
  CHECK(store::is_hash(*hash));
  std::vector<std::string_view> pieces{"hello", " ", "world"};
  CHECK(store.put(pieces).value() == *hash);
  CHECK(store.has(*hash));
  CHECK(store.get(*hash)->bytes() == "hello world");
  CHECK(store.put("").has_value());
  CHECK(store.get(store::hash_of(""))->bytes().empty());
}

TEST_CASE("what is missing, damaged or no hash has a code of its own") {
  Folder folder;
  Store store(folder.path);
  CHECK(store.get(store::hash_of("x")).error().code == Code::PS0206);
  CHECK(store.get("../../etc/passwd").error().code == Code::PS0207);
  auto hash = store.put("some bytes").value();
  std::ofstream(store.blob_path(hash)) << "other byte";
  CHECK(store.get(hash).error().code == Code::PS0207);
  CHECK(store.get(hash, false).has_value());
}

TEST_CASE("a damaged blob is replaced by whoever writes it again") {
  Folder folder;
  Store store(folder.path);
  const std::string bytes = std::string(3 << 20, 'b') + "end";
  const std::string hash = store.put(bytes).value();
  for (const std::size_t place : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
    std::fstream(store.blob_path(hash), std::ios::in | std::ios::out)
        .seekp(static_cast<std::streamoff>(place))
        .put('x');
    CHECK(store.has(hash));
    CHECK(!store.intact(hash));
    const std::string_view all(bytes);
    const std::vector<std::string_view> pieces{"", all.substr(0, 7), all.substr(7), ""};
    CHECK(store.put(pieces).value() == hash);
    CHECK(store.intact(hash));
    CHECK(store.get(hash)->bytes() == bytes);
  }
  // What is whole is left alone: its time alone may change.
  struct stat before {
  }, behind{};
  stat(store.blob_path(hash).c_str(), &before);
  CHECK(store.put(bytes).has_value());
  stat(store.blob_path(hash).c_str(), &behind);
  CHECK(before.st_ino == behind.st_ino);
}

TEST_CASE("a blob that comes piece by piece is kept only if it is what its name says") {
  Folder folder;
  Store store(folder.path);
  int piece = 0;
  auto next = [&]() -> Result<std::string_view> {
    constexpr std::string_view kPieces[] = {"hello ", "world", ""};
    return kPieces[piece++];
  };
  const std::string hash = store::hash_of("hello world");
  CHECK(store.put_as(hash, next).has_value());
  CHECK(store.get(hash)->bytes() == "hello world");
  piece = 0;
  CHECK(store.put_as(store::hash_of("else"), next).error().code == Code::PS0207);
  auto broken = []() -> Result<std::string_view> { return failure(Code::PS0201, "no more"); };
  CHECK(store.put_as(store::hash_of("else"), broken).error().code == Code::PS0201);
  CHECK(store.put_as("../../etc/passwd", next).error().code == Code::PS0207);
  CHECK(store.list()->size() == 1);
}

TEST_CASE("what is damaged is found and removed, and nothing else is") {
  Folder folder;
  Store store(folder.path);
  const std::string key = store::hash_of("key"), other = store::hash_of("other");
  const std::string blob = store.put("a blob").value(), spoilt = store.put("another blob").value();
  REQUIRE(store.put_packed(key, std::string(3 << 20, 'w')).has_value());
  REQUIRE(store.put_packed(other, "short").has_value());
  REQUIRE(store.put_kernel(key, blob).has_value());
  REQUIRE(store.put_kernel(other, "1 20 30 4").has_value());
  const std::string fresh = folder.path + "/blobs/" + blob.substr(0, 2) + "/.unfinished-fresh",
                    old = fresh + "-not";
  std::ofstream(fresh) << "half";
  std::ofstream(old) << "half";
  set_age(old, 100000);
  CHECK(store.verify()->empty());
  std::ofstream(store.blob_path(spoilt)) << "another blab";
  std::filesystem::resize_file(store.packed_path(other), 20);
  std::ofstream(store.kernel_path(other)) << std::string(4, '\0');
  const auto damages = store.verify();
  REQUIRE(damages.has_value());
  CHECK(damages->size() == 3);
  CHECK(damages->front().path == store.blob_path(spoilt));
  CHECK(damages->front().entry.kind == Store::Entry::Kind::blob);
  CHECK(!damages->front().reason.empty());
  CHECK(store.repair()->files == 4);
  CHECK(store.verify()->empty());
  CHECK(store.list()->size() == 3);
  CHECK(store.get(blob)->bytes() == "a blob");
  CHECK(store.packed(key, 3 << 20).has_value());
  CHECK(store.kernel(key)->bytes() == blob);
  CHECK(std::filesystem::exists(fresh));
  CHECK(!std::filesystem::exists(old));
}

TEST_CASE("a packed weight comes back only under its key, whole and unchanged") {
  Folder folder;
  Store store(folder.path);
  const std::string key = store::hash_of("key"), bytes(1000, 'w');
  CHECK(!store.packed(key, bytes.size()));
  CHECK(!store.packed("../../etc/passwd", 10));
  CHECK(store.put_packed("../../etc/passwd", bytes).error().code == Code::PS0601);
  REQUIRE(store.put_packed(key, bytes).has_value());
  CHECK(store.packed(key, bytes.size())->bytes == bytes);
  CHECK(!store.packed(key, bytes.size() - 1));
  CHECK(!store.packed(store::hash_of("other"), bytes.size()));
  const std::string path = store.packed_path(key);
  std::fstream(path, std::ios::in | std::ios::out).seekp(500).put('x');
  CHECK(!store.packed(key, bytes.size()));
  REQUIRE(store.put_packed(key, bytes).has_value());
  CHECK(store.packed(key, bytes.size())->bytes == bytes);
  std::filesystem::resize_file(path, 700);
  CHECK(!store.packed(key, bytes.size()));
  REQUIRE(store.put_packed(key, bytes).has_value());
  const std::string other = store.packed_path(store::hash_of("other"));
  std::filesystem::create_directories(std::filesystem::path(other).parent_path());
  std::filesystem::copy_file(path, other);
  CHECK(!store.packed(store::hash_of("other"), bytes.size()));
}

TEST_CASE("a store that cannot be written says why") {
  Store store("/proc/penstock");
  auto written = store.put("x");
  REQUIRE(!written.has_value());
  CHECK(written.error().code == Code::PS0210);
  CHECK(written.error().message.find("/proc/penstock") != std::string::npos);
}

TEST_CASE("a file-size limit is an error, no signal, and leaves nothing behind") {
  Folder folder;
  Store store(folder.path);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  auto written = store.put(std::string(5000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  REQUIRE(!written.has_value());
  CHECK(written.error().code == Code::PS0210);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path)) {
    CHECK(entry.is_directory());
  }
}

TEST_CASE("pruning removes what was used longest ago, and what writers left behind") {
  Folder folder;
  Store store(folder.path);
  std::vector<std::string> hashes;
  for (int i = 0; i < 4; ++i) {
    hashes.push_back(store.put(std::string(100, static_cast<char>('a' + i))).value());
    set_age(store.blob_path(hashes.back()), 10000 - 1000 * i);
  }
  REQUIRE(store.put_kernel(store::hash_of("key"), std::string(100, 'k')).has_value());
  REQUIRE(store.put_packed(store::hash_of("key"), std::string(100, 'p')).has_value());
  set_age(store.packed_path(store::hash_of("key")), 20000);
  std::string leftover = folder.path + "/blobs/" + hashes[0].substr(0, 2) + "/.unfinished-abc";
  std::ofstream(leftover) << "half";
  set_age(leftover, 100000);
  CHECK(store.list()->size() == 6);
  CHECK(store.list()->front().kind == Store::Entry::Kind::kernel);
  CHECK(store.list()->back().kind == Store::Entry::Kind::packed);
  auto removed = store.prune(300);
  REQUIRE(removed.has_value());
  CHECK(removed->files == 4);
  CHECK(!store.packed(store::hash_of("key"), 100));
  CHECK(!store.has(hashes[0]));
  CHECK(!store.has(hashes[1]));
  CHECK(store.has(hashes[2]));
  CHECK(store.kernel(store::hash_of("key"))->bytes() == std::string(100, 'k'));
  CHECK(store.prune(0, 1000000)->files == 0);
  CHECK(store.clear()->files == 3);
  CHECK(store.list()->empty());
}

TEST_CASE("the store keeps itself near its limit") {
  Folder folder;
  Store store(folder.path, 1000);
  for (int i = 0; i < 30; ++i) {
    auto hash = store.put(std::string(200, static_cast<char>('a' + i))).value();
    set_age(store.blob_path(hash), 100000);
  }
  std::uint64_t total = 0;
  std::vector<Store::Entry> entries = store.list().value();
  for (const auto& entry : entries) total += entry.bytes;
  CHECK(total <= 2000);
}

TEST_CASE("many writers of the same and of different blobs do not disturb each other") {
  Folder folder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Store store(folder.path);
      for (int i = 0; i < 50; ++i) {
        auto bytes = std::string(1000, static_cast<char>('a' + (i + t) % 10));
        auto hash = store.put(bytes);
        if (!hash || store.get(*hash)->bytes() != bytes) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(Store(folder.path).list()->size() == 10);
}

TEST_CASE("the place of the store follows the option and the environment") {
  setenv("PENSTOCK_STORE", "/a", 1);
  CHECK(store::store_directory("/b").value() == "/b");
  CHECK(store::store_directory().value() == "/a");
  unsetenv("PENSTOCK_STORE");
  setenv("XDG_CACHE_HOME", "/x", 1);
  CHECK(store::store_directory().value() == "/x/penstock");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/h", 1);
  CHECK(store::store_directory().value() == "/h/.cache/penstock");
  unsetenv("HOME");
  CHECK(store::store_directory().error().code == Code::PS0210);
}
