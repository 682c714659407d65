// Streams that a released version wrote stay readable for ever; tests/compat is never rewritten.

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "formats/diff.h"
#include "formats/pack.h"

using namespace penstock;
using namespace penstock::formats;

TEST_CASE("a kernels document of 1.0 may be without a seal, and stays so; one of 1.1 has one") {
  const std::string folder = PENSTOCK_COMPAT;
  auto bundle_of = [](const std::string& path) {
    auto reader = open_documents(path);
    REQUIRE(reader.has_value());
    auto documents = read_all(*reader);
    REQUIRE(documents.has_value());
    for (const Document& document : *documents) {
      const auto* graph = std::get_if<GraphDocument>(&document);
      if (graph != nullptr) return std::get<KernelBundle>(graph->graph);
    }
    return KernelBundle();
  };
  const KernelBundle older = bundle_of(folder + "/v1.0/kernels.json"),
                     newer = bundle_of(folder + "/v1.1/kernels.json");
  CHECK(!older.sealed);
  CHECK(newer.sealed);
  REQUIRE(newer.code.size() == 1);
  CHECK(newer.code[0].hash == newer.code[0].blob);
  auto again = decode(encode(GraphDocument{older, {}}, {}).value(), "again");
  REQUIRE(again.has_value());
  CHECK(!std::get<KernelBundle>(std::get<GraphDocument>(*again).graph).sealed);
  // Without its tensors a document still says which code it is for.
  WriteOptions plain;
  plain.tensors = false;
  auto without = decode(encode(GraphDocument{newer, {}}, plain).value(), "without");
  REQUIRE(without.has_value());
  const auto& bare = std::get<KernelBundle>(std::get<GraphDocument>(*without).graph);
  CHECK(bare.sealed);
  CHECK(bare.code[0].blob.empty());
  CHECK(bare.code[0].hash == newer.code[0].hash);
  std::string line = encode(GraphDocument{newer, {}}, {}).value();
  for (const char* key : {"\"seal\":\"", "\"hash\":\""}) {
    std::string edited = line;
    edited[edited.find(key, edited.find("\"code\":[{")) + std::string(key).size()] ^= 1;
    CHECK(!decode(edited, "edited").has_value());
  }
  const std::size_t seal = line.find("\"seal\":\"");
  CHECK(
      !decode(line.substr(0, seal) + line.substr(line.find(",", seal) + 1), "edited").has_value());
}

TEST_CASE("frozen streams are read, and JSON and CBOR of them say the same") {
  int streams = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(PENSTOCK_COMPAT)) {
    const bool is_schema = entry.path().parent_path().filename() == "schema";
    if (entry.path().extension() != ".json" || is_schema) continue;
    ++streams;
    std::string path = entry.path().string();
    CAPTURE(path);
    auto json = open_documents(path);
    auto cbor = open_documents(path.substr(0, path.size() - 4) + "cbor");
    REQUIRE(json.has_value());
    REQUIRE(cbor.has_value());
    auto left = read_all(*json), right = read_all(*cbor);
    REQUIRE(left.has_value());
    REQUIRE(right.has_value());
    CHECK(left->size() == right->size());
    CHECK(cbor->encoding() == Encoding::cbor);
    CHECK(compare(*left, *right).graphs.empty());
    for (std::size_t i = 0; i < left->size(); ++i) {
      CHECK(encode((*left)[i], {}).value() == encode((*right)[i], {}).value());
    }
  }
  CHECK(streams >= 10);
}
