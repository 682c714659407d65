#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "formats/stream.h"

using namespace penstock;
using namespace penstock::formats;

namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

std::string describe(const Diagnostic& diagnostic) {
  return std::string(facts(diagnostic.code).id) + ": " + diagnostic.message + " at " +
         diagnostic.place;
}

std::vector<Document> read(std::string_view bytes) {
  DocumentReader reader(source_of(bytes), "sample");
  auto documents = read_all(reader);
  INFO((documents ? std::string() : describe(documents.error())));
  REQUIRE(documents.has_value());
  return std::move(*documents);
}

std::string write(const std::vector<Document>& documents, Encoding encoding) {
  std::string bytes;
  WriteOptions options;
  options.encoding = encoding;
  DocumentWriter writer([&](std::string_view piece) -> Result<void> {
    bytes += piece;
    return {};
  }, options);
  for (const Document& document : documents) {
    auto written = writer.write(document);
    INFO((written ? std::string() : describe(written.error())));
    REQUIRE(written.has_value());
  }
  return bytes;
}

const std::string kSamples = PENSTOCK_SAMPLES;

}  // namespace

TEST_CASE("samples of every level survive JSON, pretty JSON and CBOR unchanged") {
  for (std::string level : {"torch", "core", "placed", "loops", "kernels"}) {
    CAPTURE(level);
    std::string bytes = read_file(kSamples + "/" + level + ".json");
    REQUIRE(!bytes.empty());
    std::vector<Document> documents = read(bytes);
    std::string canonical = write(documents, Encoding::json);
    CHECK(std::count(canonical.begin(), canonical.end(), '\n') ==
          static_cast<std::ptrdiff_t>(documents.size()));
    CHECK(write(read(canonical), Encoding::json) == canonical);
    std::string pretty = write(documents, Encoding::pretty);
    CHECK(pretty == bytes);  // samples are kept as `convert --pretty` writes them
    CHECK(write(read(pretty), Encoding::json) == canonical);
    std::string cbor = write(documents, Encoding::cbor);
    CHECK(cbor.size() < canonical.size());
    CHECK(write(read(cbor), Encoding::json) == canonical);
    CHECK(write(read(cbor), Encoding::cbor) == cbor);
  }
}
