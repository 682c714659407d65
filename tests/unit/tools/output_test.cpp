#include "tools/common/output.h"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace fs = std::filesystem;
using penstock::Code;
using penstock::tools::Output;

namespace {

/// A directory that goes with its owner.
struct Scratch {
  fs::path path;
  Scratch() {
    std::string name = (fs::temp_directory_path() / "penstock-output-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Scratch() { fs::remove_all(path); }
};

std::string contents(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t entries(const fs::path& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("a committed file has its bytes, its mode, and no neighbours") {
  Scratch scratch;
  fs::path file = scratch.path / "a.json";
  auto out = Output::open(file.string());
  REQUIRE(out);
  REQUIRE(out->write(std::string(100'000, 'x')));
  CHECK_FALSE(fs::exists(file));
  REQUIRE(out->commit());
  CHECK(contents(file) == std::string(100'000, 'x'));
  CHECK(entries(scratch.path) == 1);
}

TEST_CASE("without commit the old file stays and nothing is left behind") {
  Scratch scratch;
  fs::path file = scratch.path / "a.json";
  std::ofstream(file) << "old";
  {
    auto out = Output::open(file.string());
    REQUIRE(out);
    REQUIRE(out->write("new"));
    REQUIRE(out->flush());
  }
  CHECK(contents(file) == "old");
  CHECK(entries(scratch.path) == 1);
}

TEST_CASE("a file that is replaced keeps its mode, and a link stays a link") {
  Scratch scratch;
  fs::path file = scratch.path / "a.json";
  fs::path link = scratch.path / "link.json";
  std::ofstream(file) << "old";
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a.json", link);
  auto out = Output::open(link.string());
  REQUIRE(out);
  REQUIRE(out->write("new"));
  REQUIRE(out->commit());
  CHECK(fs::is_symlink(link));
  CHECK(contents(file) == "new");
  CHECK((fs::status(file).permissions() & fs::perms::mask) ==
        (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("a full device is PS0103 when it is flushed") {
  auto out = Output::open("/dev/full");
  REQUIRE(out);
  REQUIRE(out->write("text"));
  auto done = out->commit();
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Code::PS0103);
}

TEST_CASE("a directory that is not there is PS0103") {
  auto out = Output::open("/nowhere/at/all/a.json");
  REQUIRE_FALSE(out);
  CHECK(out.error().code == Code::PS0103);
}
