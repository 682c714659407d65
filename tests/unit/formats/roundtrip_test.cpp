#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "formats/safetensors.h"
#include "formats/stream.h"
#include "rich_graph.h"

using namespace penstock;
using namespace penstock::formats;

namespace {

std::string written(const Document& document, Encoding encoding) {
  WriteOptions options;
  options.encoding = encoding;
  auto bytes = encode(document, options);
  INFO((bytes ? std::string() : bytes.error().message + " at " + bytes.error().place));
  REQUIRE(bytes.has_value());
  return *bytes;
}

Document read(const std::string& bytes) {
  auto document = decode(bytes, "test");
  INFO((document ? std::string() : document.error().message + " at " + document.error().place));
  REQUIRE(document.has_value());
  return std::move(*document);
}

/// Deterministic garbage: bytes changed, removed, inserted, pieces repeated.
std::string mutate(std::string bytes, std::mt19937& random) {
  auto below = [&](std::size_t bound) {
    return std::size_t(random() % std::max<std::size_t>(1, bound));
  };
  for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
    std::size_t at = below(bytes.size());
    switch (below(5)) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(at, below(20));
        break;
      case 2:
        bytes.insert(at, 1, "{}[]\",:0-9eE\\tfn\x00\xFF"[below(18)]);
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(bytes.size()), below(40)));
        break;
      default:
        bytes.resize(at);
    }
  }
  return bytes;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

}  // namespace

TEST_CASE("a graph that uses everything comes back as it was") {
  Document document = rich_graph();
  std::string line = written(document, Encoding::json);
  for (Encoding encoding : {Encoding::json, Encoding::pretty, Encoding::cbor}) {
    CHECK(written(read(written(document, encoding)), Encoding::json) == line);
  }
  Document again = read(line);
  const Graph& before = std::get<Graph>(std::get<GraphDocument>(document).graph);
  const Graph& after = std::get<Graph>(std::get<GraphDocument>(again).graph);
  CHECK(to_text(before) == to_text(after));
  CHECK(after.interface.capture_ns == 1234567);
  CHECK(after.calls[0].checkpoint == before.calls[0].checkpoint);
  CHECK(after.interface.inputs[0].blob == std::string(32, 'a'));
  for (std::size_t i = 0; i < before.nodes[0].args.size(); ++i) {
    CAPTURE(i);
    const auto& a = before.nodes[0].args[i];
    const auto& b = after.nodes[0].args[i];
    bool is_nan = a.value.as<double>() && std::isnan(*a.value.as<double>());
    bool holds_nan = a.value.as<Argument::Sequence>() != nullptr;
    if (!is_nan && !holds_nan) CHECK(a == b);
  }
}

TEST_CASE("tensors and meta are left out when asked") {
  Document document = rich_graph();
  WriteOptions options;
  options.tensors = false;
  options.strip_meta = true;
  std::string bytes = encode(document, options).value();
  CHECK(bytes.find("blobs") == std::string::npos);
  CHECK(bytes.find("meta") == std::string::npos);
  CHECK(bytes.find("1234567") == std::string::npos);
}

TEST_CASE("absolute files become names that do not depend on where things lie") {
  auto broke = [](std::string file) {
    BreakDocument document;
    document.event.code = "PS0301";
    document.event.reason = "r";
    document.event.location = Location{std::move(file), 1, 0, 1, 1};
    return Document(document);
  };
  WriteOptions options;
  options.directory = "/home/ada/project";
  auto name = [&](const std::string& file) {
    auto bytes = encode(broke(file), options);
    auto document = std::get<BreakDocument>(read(*bytes));
    CHECK(absolute_file(document.meta, document.event.location->file) == file);
    return document.event.location->file.text();
  };
  CHECK(name("/home/ada/project/src/model.py") == "src/model.py");
  CHECK(name("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py") ==
        "torch/nn/modules/linear.py");
  CHECK(name("/usr/lib/python3.11/json/decoder.py") == "json/decoder.py");
  CHECK(name("/home/ada/project/.venv/lib/python3.11/site-packages/timm/layers/norm.py") ==
        "timm/layers/norm.py");
  CHECK(name("/home/ada/project/build/../src/model.py") == "src/model.py");
  CHECK(name("/elsewhere/tool.py") == "tool.py");
  CHECK(name("<string>") == "<string>");
  std::string once = encode(broke("/home/ada/project/a.py"), options).value();
  CHECK(encode(read(once), {}).value() == once);
}

TEST_CASE("a file outside of the program's folder is named from its outermost package") {
  namespace fs = std::filesystem;
  fs::path work = fs::temp_directory_path() / ("penstock-names-" + std::to_string(getpid()));
  fs::create_directories(work / "src/pack/inner");
  for (const char* package : {"src/pack", "src/pack/inner"}) {
    std::ofstream(work / package / "__init__.py");
  }
  BreakDocument document;
  document.event.code = "PS0301";
  document.event.reason = "r";
  document.event.location = Location{(work / "src/pack/inner/net.py").string(), 1, 0, 1, 1};
  std::string bytes = encode(document, {}).value();
  CHECK(std::get<BreakDocument>(read(bytes)).event.location->file.text() == "pack/inner/net.py");
  fs::remove_all(work);
}

TEST_CASE("what came of a back end is read as it was written, its times under meta") {
  BackendDocument document;
  document.event = {{3, 1, 0}, "own", "1.2", BackendEvent::Outcome::slower, "r", true, 20, 10};
  for (const Encoding encoding : {Encoding::json, Encoding::cbor}) {
    WriteOptions options;
    options.encoding = encoding;
    const BackendEvent event =
        std::get<BackendDocument>(read(encode(Document(document), options).value())).event;
    CHECK(event.id == EntryId{3, 1, 0});
    CHECK(event.backend == "own");
    CHECK(event.version == "1.2");
    CHECK(event.outcome == BackendEvent::Outcome::slower);
    CHECK(event.reason == "r");
    CHECK(event.remembered);
    CHECK(event.backend_ns == 20);
    CHECK(event.own_ns == 10);
    options.strip_meta = true;
    const BackendEvent bare =
        std::get<BackendDocument>(read(encode(Document(document), options).value())).event;
    CHECK_FALSE(bare.remembered);
    CHECK(bare.backend_ns == 0);
  }
}

TEST_CASE("hostile documents give diagnostics, never a crash") {
  std::mt19937 random(1);
  std::vector<std::string> seeds{written(rich_graph(), Encoding::json),
                                 written(rich_graph(), Encoding::cbor)};
  for (std::string level : {"torch", "placed", "loops", "kernels"}) {
    std::string text = read_file(std::string(PENSTOCK_COMPAT) + "/v1.0/" + level + ".json");
    REQUIRE(!text.empty());
    seeds.push_back(text);
    seeds.push_back(read_file(std::string(PENSTOCK_COMPAT) + "/v1.0/" + level + ".cbor"));
  }
  int refused = 0, total = 0;
  for (const std::string& seed : seeds) {
    for (int i = 0; i < 400; ++i) {
      std::string bytes = mutate(seed, random);
      DocumentReader reader(source_of(bytes), "fuzz");
      auto documents = read_all(reader);
      DocumentReader hasty(source_of(bytes), "fuzz", {.guards = false});
      const bool hastily = read_all(hasty).has_value();
      CHECK((hastily || !documents));
      ++total;
      if (!documents) {
        ++refused;
        CHECK(!documents.error().message.empty());
        continue;
      }
      for (const Document& document : *documents) CHECK(encode(document, {}).has_value());
    }
  }
  CHECK(refused > total / 2);
}

TEST_CASE("safetensors: what is written comes back, and garbage is refused") {
  std::string numbers(24, '\1'), flags(3, '\0');
  std::vector<TensorBytes> tensors{{"weight", DType::float32, {2, 3}, numbers},
                                   {"mask", DType::bool_, {3}, flags},
                                   {"empty", DType::int64, {0, 4}, {}}};
  std::string file = encode_safetensors(tensors);
  CHECK(safetensors_header(tensors).size() % 64 == 0);
  auto read_back = decode_safetensors(file);
  REQUIRE(read_back.has_value());
  REQUIRE(read_back->size() == 3);
  CHECK((*read_back)[0].name == "weight");
  CHECK((*read_back)[0].bytes == numbers);
  CHECK((*read_back)[0].sizes == std::vector<std::int64_t>{2, 3});
  std::mt19937 random(2);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = mutate(file, random);
    auto decoded = decode_safetensors(bytes);
    if (!decoded) continue;
    for (const TensorBytes& tensor : *decoded) {
      CHECK(tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + bytes.size());
    }
  }
  CHECK(decode_safetensors("").error().code == Code::PS0207);
  CHECK(decode_safetensors(std::string(8, '\xFF')).error().code == Code::PS0207);
}
