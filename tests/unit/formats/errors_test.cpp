// Every kind of bad input has its code and its place.

#include <doctest/doctest.h>

#include <string>

#include "formats/stream.h"
#include "formats/version/version.h"

using namespace penstock;
using namespace penstock::formats;

namespace {

const std::string kEnd = R"({"penstock":"end","version":[1,0],"counts":[],"calls":[],"status":0})"
                         "\n";

/// The first error of a stream; REQUIREs one.
Diagnostic error_of(const std::string& bytes) {
  DocumentReader reader(source_of(bytes), "in");
  auto documents = read_all(reader);
  REQUIRE(!documents.has_value());
  return documents.error();
}

bool reads(const std::string& bytes) {
  DocumentReader reader(source_of(bytes), "in");
  return read_all(reader).has_value();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("streams that are no streams") {
  CHECK(error_of("").code == Code::PS0209);
  CHECK(error_of(" \n\n").code == Code::PS0209);
  CHECK(error_of("hello").code == Code::PS0201);
  CHECK(error_of("\x7F"
                 "ELF")
            .code == Code::PS0201);
  CHECK(has(error_of(std::string("PK\x03\x04")).message, "name the file"));
  CHECK(error_of("{}\n").code == Code::PS0201);
  CHECK(error_of("[1]").code == Code::PS0201);
  CHECK(error_of("{\"penstock\":").code == Code::PS0202);
  CHECK(error_of("{\"a\":1,}").code == Code::PS0201);
  CHECK(error_of(R"({"penstock":"poem","version":[1,0]})").code == Code::PS0201);
  CHECK(error_of(kEnd + "garbage").code == Code::PS0201);
}

TEST_CASE("a stream without its end was cut off") {
  std::string skip =
      R"({"penstock":"skip","version":[1,0],"code":"PS0401","name":"f","reason":"r"})"
      "\n";
  CHECK(error_of(skip).code == Code::PS0202);
  CHECK(reads(skip + kEnd));
  CHECK(reads(kEnd + skip + kEnd));
  std::string whole = skip + kEnd;
  for (std::size_t length = 1; length + 1 < whole.size(); ++length) {
    CHECK(!reads(whole.substr(0, length)));
  }
}

TEST_CASE("places name the document, the line and the field") {
  std::string bad =
      kEnd + "\n" + R"({"penstock":"skip","version":[1,0],"code":"PS0401","name":7,"reason":"r"})";
  Diagnostic diagnostic = error_of(bad);
  CHECK(diagnostic.code == Code::PS0201);
  CHECK(diagnostic.place == "in: document 2, line 3, /name");
  Diagnostic syntax = error_of("{\n \"penstock\": nope\n}");
  CHECK(has(syntax.place, "in: document 1, line 1, line 2 of it"));
}

TEST_CASE("a field twice, and a field that the version does not define, are errors") {
  CHECK(has(error_of(R"({"penstock":"end","penstock":"end"})").message, "twice"));
  Diagnostic unknown = error_of(
      R"({"penstock":"end","version":[1,0],"counts":[],"calls":[],"status":0,"colour":1})");
  CHECK(has(unknown.message, "colour"));
  CHECK(has(unknown.place, "/colour"));
  CHECK(reads(R"({"penstock":"end","version":[1,0],"counts":[],"calls":[],"status":0,)"
              R"("meta":{"colour":1}})"));
}

TEST_CASE("newer versions are read as far as that is sound") {
  auto end = [](const std::string& version, const std::string& more) {
    return R"({"penstock":"end","version":)" + version + R"(,"counts":[],"calls":[],"status":0)" +
           more + "}";
  };
  CHECK(error_of(end("[2,0]", "")).code == Code::PS0203);
  CHECK(reads(end("[1,7]", "")));
  CHECK(reads(end("[1,7]", R"(,"colour":1)")));
  Diagnostic feature = error_of(end("[1,7]", R"(,"requires":["telepathy"])"));
  CHECK(feature.code == Code::PS0203);
  CHECK(has(feature.message, "telepathy"));
  CHECK(error_of(end("[0,9]", "")).code == Code::PS0201);
  CHECK(error_of(end("\"1.0\"", "")).code == Code::PS0201);
}

TEST_CASE("depth is limited in both encodings") {
  std::string deep = R"({"penstock":)" + std::string(100000, '[');
  CHECK(error_of(deep).code == Code::PS0208);
  std::string cbor =
      "\xA1\x61"
      "a" +
      std::string(100000, '\x81');
  CHECK(error_of(cbor).code == Code::PS0208);
}

TEST_CASE("CBOR that lies about lengths") {
  CHECK(error_of(std::string("\xA1\x61"
                             "a"
                             "\x9B\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
                             12))
            .code == Code::PS0201);
  CHECK(error_of(std::string("\xBB\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 9)).code == Code::PS0201);
  CHECK(error_of(std::string("\xA1\x7A\x7F\xFF\xFF\xFF", 6)).code == Code::PS0201);
  CHECK(error_of(std::string("\xA1\x61"
                             "a"
                             "\x1C",
                             4))
            .code == Code::PS0201);
  CHECK(error_of(std::string("\xD9\xD9\xF7", 3)).code == Code::PS0202);
  // Neither integers nor tags end at a break: nothing that may come behind one makes it a document.
  for (const char* first : {"\x1F", "\x3F", "\xDF"}) {
    CHECK(error_of(std::string("\xA1\x61"
                               "a") +
                   first)
              .code == Code::PS0201);
  }
}

TEST_CASE("a version is two numbers and nothing else") {
  auto version = parse_version("1.12");
  REQUIRE(version.has_value());
  CHECK(version->major_number == 1);
  CHECK(version->minor_number == 12);
  for (const char* text : {"", "1", "1.", ".1", "1.1x", "1.1 ", "1.1.0", "1x.1", " 1.1", "1.-1"}) {
    INFO("version ", text);
    auto none = parse_version(text);
    REQUIRE(!none.has_value());
    CHECK(none.error().code == Code::PS0101);
  }
}

TEST_CASE("a graph of another level is refused, naming the stage") {
  Graph graph;
  graph.level = Level::torch;
  auto refused = expect_level(GraphDocument{graph, {}}, Level::placed);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().code == Code::PS0204);
  CHECK(has(refused.error().hint, "decompose | partition"));
  CHECK(expect_level(GraphDocument{graph, {}}, Level::torch).has_value());
}

TEST_CASE("a broken contract is not written") {
  Graph graph;
  graph.nodes.push_back({"prim.neg", {{"self", Argument::Value{3}}}, {}, -1});
  auto bytes = encode(GraphDocument{graph, {}}, {});
  REQUIRE(!bytes.has_value());
  CHECK(bytes.error().code == Code::PS0205);
}
