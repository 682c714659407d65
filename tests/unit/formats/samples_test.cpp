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

std::vector<Document> read(std::string_view bytes, ReadOptions options = {}) {
  DocumentReader reader(source_of(bytes), "sample", options);
  auto documents = read_all(reader);
  INFO((documents ? std::string() : describe(documents.error())));
  REQUIRE(documents.has_value());
  return std::move(*documents);
}

std::string write(const std::vector<Document>& documents, Encoding encoding) {
  std::string bytes;
  WriteOptions options;
  options.encoding = encoding;
  DocumentWriter writer(
      [&](std::string_view piece) -> Result<void> {
        bytes += piece;
        return {};
      },
      options);
  for (const Document& document : documents) {
    auto written = writer.write(document);
    INFO((written ? std::string() : describe(written.error())));
    REQUIRE(written.has_value());
  }
  return bytes;
}

const std::string kSamples = PENSTOCK_SAMPLES;

}  // namespace

TEST_CASE("graphs can be read without their guards") {
  for (std::string level : {"torch", "core", "placed", "loops", "kernels"}) {
    CAPTURE(level);
    std::vector<Document> documents = read(read_file(kSamples + "/" + level + ".json"));
    const std::string json = write(documents, Encoding::json),
                      pretty = write(documents, Encoding::pretty),
                      cbor = write(documents, Encoding::cbor);
    std::size_t guards = 0;
    for (Document& document : documents) {
      if (auto* graph = std::get_if<GraphDocument>(&document)) {
        guards += interface_of(*graph).guards.size();
        interface_of(*graph).guards.clear();
      }
    }
    CHECK(guards > 0);
    const std::string without = write(documents, Encoding::json);
    for (const std::string& bytes : {json, pretty, cbor}) {
      CHECK(write(read(bytes, {.guards = false}), Encoding::json) == without);
    }
    // Nobody looks at them; what is wrong elsewhere keeps its place.
    std::string odd = json, wrong = json;
    odd.replace(odd.find("\"guards\":[") + 10, 1, "[[\"}\\\"]\"],");
    CHECK(write(read(odd, {.guards = false}), Encoding::json) == without);
    wrong.replace(wrong.find(",\"level\""), 1, ";");
    DocumentReader all(source_of(wrong), "sample"),
        some(source_of(wrong), "sample", {.guards = false});
    auto expected = read_all(all), actual = read_all(some);
    REQUIRE(!expected.has_value());
    REQUIRE(!actual.has_value());
    CHECK(describe(actual.error()) == describe(expected.error()));
  }
}

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
