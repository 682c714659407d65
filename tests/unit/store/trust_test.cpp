#include "store/trust.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "store/strong_hash.h"

using namespace penstock::store;

namespace {

struct Folder {
  std::string path;
  Folder() {
    std::string name = "/tmp/penstock-trust-XXXXXX";
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::string hash(std::string_view bytes, std::string_view key = {}) {
  return strong_hash({&bytes, 1}, key);
}

}  // namespace

TEST_CASE("the strong hash is BLAKE2b's") {
  CHECK(hash("") == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  CHECK(hash("abc") == "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  CHECK(hash(std::string(128, 'x'), std::string(32, 'k')) ==
        "ac7ddd1c56dcb344100f2263af2319a45416957f74c7928831bfa80ca7f87364");
  CHECK(hash(std::string(1000, 'y'), std::string(64, 'k')) ==
        "fe32103c4dc860a8e4d956adab86c3d83e4f3d54d2ef4b369c3acd7b83be842d");
  const std::string text(1000, 'y');
  const std::string_view pieces[] = {std::string_view(text).substr(0, 127),
                                     std::string_view(text).substr(127, 2),
                                     std::string_view(text).substr(129)};
  CHECK(strong_hash(pieces) == hash(text));
}

TEST_CASE("code is trusted for what it was allowed for, by the user who allowed it") {
  Folder folder;
  Store store(folder.path + "/store");
  Trust trust(store);
  CHECK(!trust.allows("calls", "code"));
  REQUIRE(trust.allow("calls", "code"));
  CHECK(trust.allows("calls", "code"));
  CHECK(Trust(store).allows("calls", "code"));
  CHECK(!trust.allows("other calls", "code"));
  CHECK(!trust.allows("calls", "other code"));
  CHECK(!trust.allows("callsc", "ode"));
  // What is cleared is made again; what was trusted was a decision.
  CHECK(store.clear().has_value());
  CHECK(trust.allows("calls", "code"));
  // A key that others can read, or another key, says nothing.
  const std::string key = store.directory() + "/key";
  struct stat facts {};
  REQUIRE(stat(key.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  REQUIRE(chmod(key.c_str(), 0644) == 0);
  CHECK(!trust.allows("calls", "code"));
  REQUIRE(chmod(key.c_str(), 0600) == 0);
  CHECK(trust.allows("calls", "code"));
  std::ofstream(key, std::ios::binary) << std::string(32, 'z');
  CHECK(!trust.allows("calls", "code"));
  std::ofstream(key, std::ios::binary) << "short";
  CHECK(!trust.allows("calls", "code"));
}

TEST_CASE("where no record can be kept, that is told") {
  Folder folder;
  std::ofstream(folder.path + "/file") << "no directory";
  Store store(folder.path + "/file");
  CHECK(!Trust(store).allow("calls", "code").has_value());
  CHECK(!Trust(store).allows("calls", "code"));
}
