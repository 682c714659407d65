// Streams that a released version wrote stay readable for ever; tests/compat is never rewritten.

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "formats/diff.h"
#include "formats/pack.h"

using namespace penstock;
using namespace penstock::formats;

TEST_CASE("frozen streams are read, and JSON and CBOR of them say the same") {
  int streams = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(PENSTOCK_COMPAT)) {
    if (entry.path().extension() != ".json") continue;
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
    CHECK(compare(*left, *right).empty());
    for (std::size_t i = 0; i < left->size(); ++i) {
      CHECK(encode((*left)[i], {}).value() == encode((*right)[i], {}).value());
    }
  }
  CHECK(streams >= 5);
}
