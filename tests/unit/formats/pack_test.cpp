// Packed files: the same bytes for the same contents, and archives that say too little or too much
// of an entry.
#include "formats/pack.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <string_view>

#include "formats/scan.h"

using namespace penstock;
using namespace penstock::formats;

namespace {

/// A folder with a store and packed files, gone when the test is.
struct Folder {
  std::string path = "/tmp/penstock-pack-XXXXXX";
  Folder() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
};

/// A graph whose only output is in the store.
GraphDocument graph_with_blob(const std::string& blob) {
  Graph graph;
  graph.level = Level::core;
  add_value(graph, "x", TensorType{});
  Input input;
  input.name = "x";
  graph.interface.inputs.push_back(input);
  graph.outputs.push_back(0);
  Output output;
  output.blob = blob;
  graph.interface.outputs.push_back(output);
  return {graph, {}};
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

void set_number(std::string& bytes, std::size_t at, std::uint32_t number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

/// Packs one break and has the archive say that its documents have `size` bytes, in both places
/// where it does.
std::string pack_that_says(const Folder& folder, std::uint32_t size) {
  const std::string path = folder.path + "/says.zip";
  BreakDocument document;
  document.event.code = "PS0301";
  document.event.reason = std::string(1000, 'r');
  REQUIRE(write_pack(path, {document}, store::Store(folder.path + "/store")).has_value());
  std::string bytes = content_of(path);
  constexpr std::size_t kSizeInLocalHeader = 22, kSizeInDirectory = 24;
  const std::size_t directory = bytes.find("PK\x01\x02");
  REQUIRE(directory != std::string::npos);
  set_number(bytes, kSizeInLocalHeader, size);
  set_number(bytes, directory + kSizeInDirectory, size);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

Diagnostic error_of(const Folder& folder, const std::string& path) {
  auto reader = open_documents(path, folder.path + "/store");
  if (!reader) return reader.error();
  auto documents = read_all(*reader);
  REQUIRE(!documents.has_value());
  return documents.error();
}

}  // namespace

TEST_CASE("a packed file does not depend on when it was written") {
  Folder folder;
  store::Store store(folder.path + "/store");
  const GraphDocument document = graph_with_blob(store.put("some bytes").value());
  const std::string path = folder.path + "/packed.zip";
  REQUIRE(write_pack(path, {document}, store).has_value());
  const std::string bytes = content_of(path);
  // Its blobs were used just now, whatever their age: only the time that stands there tells today
  // from tomorrow.
  constexpr std::string_view kStartOf1980("\0\0\x21\0", 4);
  constexpr std::size_t kTimeInLocalHeader = 10;
  int entries = 0;
  for (std::size_t at = bytes.find("PK\x03\x04"); at != std::string::npos;
       at = bytes.find("PK\x03\x04", at + 1)) {
    ++entries;
    CHECK(bytes.substr(at + kTimeInLocalHeader, kStartOf1980.size()) == kStartOf1980);
  }
  CHECK(entries == 2);
}

TEST_CASE("an entry is not read beyond what it says") {
  Folder folder;
  const Diagnostic why = error_of(folder, pack_that_says(folder, 100));
  CHECK(why.code == Code::PS0201);
  CHECK(why.message == "'documents.json' is longer than it says");
}

TEST_CASE("an entry that says too much is not opened") {
  Folder folder;
  const std::string path = pack_that_says(folder, 2 * kFreeInflation);
  REQUIRE(std::filesystem::file_size(path) * kMaxInflation < kFreeInflation);
  CHECK(error_of(folder, path).code == Code::PS0208);
}

TEST_CASE("a pipe is opened by its reader alone") {
  const Folder folder;
  const std::string pipe = folder.path + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(InputFile::is_read_once(pipe));
  CHECK_FALSE(InputFile::is_read_once("/"));
  // Nobody writes: who opened it would wait for ever.
  auto looked = std::async(std::launch::async, [&] {
    const auto member = read_member(pipe, "any");
    return member && !*member && !is_pack(pipe);
  });
  const bool done = looked.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  CHECK(done);
  while (looked.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready)
    close(open(pipe.c_str(), O_WRONLY | O_NONBLOCK));  // lets it go
  CHECK(looked.get());
}
