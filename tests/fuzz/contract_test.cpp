// What verify accepts, no later stage breaks on: one edit after the other that a level's contract
// has to refuse, made wherever the seeds have a place for it.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "formats/stream.h"
#include "reader.h"
#include "seeds.h"

using namespace penstock;
using fuzz::Json;

namespace {

/// The code with which a document is refused; nothing: it is accepted.
std::optional<Code> refusal(const Json& record) {
  auto document = formats::decode(record.dump(), "edited");
  return document ? std::nullopt : std::optional(document.error().code);
}

bool is_refused(const Json& record) {
  const auto code = refusal(record);
  INFO(record.dump().substr(0, 2000));
  if (code) CHECK((code == Code::PS0205 || code == Code::PS0604 || code == Code::PS0201));
  CHECK(code.has_value());
  return code.has_value();
}

/// Calls visit(record, value) for a copy of each seed of a level and every value under `key` in it.
template <class Visit>
int for_each_under(Level level, const std::string& key, const Visit& visit) {
  int count = 0;
  for (const Json& seed : fuzz::seeds_of(level)) {
    const Json flat = seed.flatten();
    for (const auto& [path, ignored] : flat.items()) {
      const Json::json_pointer pointer(path);
      for (Json::json_pointer at = pointer; !at.empty(); at = at.parent_pointer()) {
        if (at.back() != key) continue;
        // Lists are met once: at their first item.
        if (at != pointer && pointer.to_string() != at.to_string() + "/0") break;
        Json record = seed;
        Json& value = record.at(at);
        count += visit(record, value);
        break;
      }
    }
  }
  return count;
}

}  // namespace

TEST_CASE("the seeds are sound at every level") {
  for (Level level : {Level::torch, Level::core, Level::placed, Level::loops, Level::kernels}) {
    CAPTURE(to_string(level));
    const auto seeds = fuzz::seeds_of(level);
    CHECK(seeds.size() >= 7);
    for (const Json& seed : seeds) CHECK(!refusal(seed));
  }
}

TEST_CASE("numbers of types are those of tensors that can be") {
  const Json edits[] = {
      {{"strides", {4, -1}}, {"sizes", {2, 2}}},
      {{"sizes", {-1}}, {"strides", {1}}},
      {{"offset", -1}},
      {{"sizes", {INT64_MAX, 4}}, {"strides", {1, 1}}},
      {{"sizes", {2, 2}}, {"strides", {INT64_MAX, 1}}},
      {{"sizes", Json(std::vector<int>(65, 1))}, {"strides", Json(std::vector<int>(65, 1))}},
      {{"sizes", {2}}, {"strides", {1, 1}}}};
  for (Level level : {Level::torch, Level::core, Level::placed, Level::loops}) {
    for (const Json& seed : fuzz::seeds_of(level)) {
      for (const Json& edit : edits) {
        Json record = seed;
        if (record["inputs"].empty()) continue;
        record["inputs"][0]["type"].update(edit);
        is_refused(record);
      }
    }
  }
}

TEST_CASE("hints lie in their ranges and fulfil the guards") {
  int symbolic = 0;
  for (const Json& seed : fuzz::seeds_of(Level::torch)) {
    if (seed["symbols"].empty()) continue;
    ++symbolic;
    for (const Json& edit : {Json{{"min", 100}}, Json{{"max", 1}}, Json{{"hint", -7}}}) {
      Json record = seed;
      record["symbols"][0].update(edit);
      is_refused(record);
    }
    Json record = seed;
    const std::string name = record["symbols"][0]["name"];
    record["guards"].push_back({{"kind", "condition"}, {"condition", name + " == 1000"}});
    is_refused(record);
  }
  CHECK(symbolic > 0);
}

TEST_CASE("arguments of prims are all there, and axes lie in the tensor") {
  for (Level level : {Level::core, Level::placed}) {
    int dropped = 0, moved = 0;
    for (const Json& seed : fuzz::seeds_of(level)) {
      for (std::size_t n = 0; n < seed["nodes"].size(); ++n) {
        const Json& node = seed["nodes"][n];
        if (!node["op"].get<std::string>().starts_with("prim.")) continue;
        for (std::size_t a = 0; a < node["args"].size(); ++a) {
          Json record = seed;
          record["nodes"][n]["args"].erase(a);
          dropped += is_refused(record);
          const std::string name = node["args"][a]["name"];
          const bool message = node["op"] == "prim.check_index";
          if ((name != "dim" && name != "dims") || message) continue;
          for (const Json& wrong : {Json(64), Json(-1), Json("x")}) {
            record = seed;
            Json& value = record["nodes"][n]["args"][a];
            Json list = wrong;
            if (name == "dims") list = Json::array({wrong});
            value = {{"name", name}, {"const", list}};
            moved += is_refused(record);
          }
        }
      }
    }
    CHECK(dropped > 100);
    CHECK(moved > 30);
  }
}

TEST_CASE("dtypes of scalars follow from those of their operands") {
  int exchanged = 0;
  for (const Json& seed : fuzz::seeds_of(Level::loops)) {
    const Json flat = seed.at("steps").flatten();
    for (const auto& [path, value] : flat.items()) {
      const Json::json_pointer pointer(path);
      if (pointer.back() != "dtype") continue;
      const Json& instruction = seed["steps"].at(pointer.parent_pointer());
      // What makes a number out of nothing, or converts one, may be of any dtype where nothing else
      // uses it.
      const std::string op = instruction.value("op", "");
      if (op == "constant" || op == "index" || op == "convert" || !instruction.contains("operands"))
        continue;
      for (const char* other : {"bool", "int32", "float64", "complex64"}) {
        if (value == other) continue;
        Json record = seed;
        record["steps"].at(pointer) = other;
        exchanged += is_refused(record);
      }
    }
  }
  CHECK(exchanged > 200);
}

TEST_CASE("attributes of library calls are all there, and of their types") {
  for (Level level : {Level::loops, Level::kernels}) {
    int edited = 0;
    for (Json seed : fuzz::seeds_of(level)) {
      // Without a seal, as a document of version 1.0 may be.
      seed.erase("seal");
      seed["version"] = {1, 0};
      for (std::size_t s = 0; s < seed["steps"].size(); ++s) {
        if (seed["steps"][s]["kind"] != "library") continue;
        for (std::size_t a = 0; a < seed["steps"][s]["attributes"].size(); ++a) {
          for (const Json& wrong : {Json(), Json("x"), Json(-3), Json::array({1, 2, 3, 4, 5})}) {
            Json record = seed;
            Json& attributes = record["steps"][s]["attributes"];
            const std::string name = attributes[a]["name"];
            if (name == "ignored" && wrong.is_number()) continue;
            if (wrong.is_null())
              attributes.erase(a);
            else
              attributes[a] = {{"name", name}, {"const", wrong}};
            edited += is_refused(record);
          }
        }
        for (const char* list : {"inputs", "outputs"}) {
          if (seed["steps"][s][list].empty()) continue;
          // Results of a branch are what its steps write, as many as there are.
          const std::string name = seed["steps"][s]["name"];
          if (name == "branch" && list == std::string_view("outputs")) continue;
          // So are operands of a loop.
          if ((name == "while" || name == "for") && list == std::string_view("inputs")) continue;
          Json record = seed;
          record["steps"][s][list].erase(0);
          edited += is_refused(record);
        }
      }
    }
    CHECK(edited > 50);
  }
}

int main(int argc, char** argv) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "penstock-contract-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  setenv("PENSTOCK_FUZZ_FOLDER", folder.c_str(), 1);
  const int status = doctest::Context(argc, argv).run();
  std::filesystem::remove_all(folder);
  return status;
}
