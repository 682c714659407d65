// Archives of torch.export.save: their records and their ZIP.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "formats/archive.h"
#include "formats/pack.h"
#include "formats/safetensors.h"
#include "interchange/pt2/read.h"
#include "interchange/pt2/write.h"
#include "reader.h"

namespace penstock::fuzz {

namespace {

std::string folder() {
  return std::getenv("PENSTOCK_FUZZ_FOLDER");
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

/// The members of the seeds' archives.
const std::vector<std::vector<formats::PackMember>>& seeds() {
  static const auto all = [] {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(PENSTOCK_FUZZ_PT2))
      paths.push_back(entry.path());
    std::ranges::sort(paths);
    std::vector<std::vector<formats::PackMember>> out;
    for (const auto& path : paths) {
      const std::string bytes = bytes_of(path);
      auto archive = formats::ArchiveReader::open(bytes, path.string());
      std::vector<formats::PackMember> members;
      for (std::uint64_t i = 0; archive && i < (*archive)->size(); ++i) {
        const std::string name((*archive)->name(i));
        auto member = (*archive)->member(name);
        if (member && *member) members.push_back({name, std::move(**member)});
      }
      out.push_back(std::move(members));
    }
    return out;
  }();
  return all;
}

/// A text in a record that is a record itself: the containers of a call.
void edit_trees(Mutator& mutator, Json& program) {
  Json::json_pointer at("/graph_module/module_call_graph/0/signature");
  if (!program.contains(at)) return;
  for (const char* key : {"in_spec", "out_spec"}) {
    Json& text = program[at][key];
    if (!text.is_string() || mutator.below(4) != 0) continue;
    Json tree = Json::parse(text.get<std::string>(), nullptr, false);
    mutator.edit(tree);
    text = tree.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  Json& conditions = program["guards_code"];
  if (!conditions.is_array() || conditions.empty() || !conditions[0].is_string()) return;
  if (mutator.below(4) == 0) {
    conditions[0] =
        mutator.edit_text(conditions[0].get<std::string>(),
                          {"L['x']", ".size()[", "]", "(", ")", " % ", "//", "-", "=="});
  }
}

}  // namespace

std::string damage_pt2(Mutator& mutator) {
  std::vector<formats::PackMember> members = seeds()[mutator.below(seeds().size())];
  for (formats::PackMember& member : members) {
    const bool program = member.name.ends_with("models/model.json");
    const bool config = member.name.ends_with("_config.json");
    if ((!program && !config) || mutator.below(program ? 10 : 4) == 9 ||
        (config && mutator.below(4) != 0))
      continue;
    Json json = Json::parse(member.bytes);
    if (program) edit_trees(mutator, json);
    if (mutator.below(3) != 0) mutator.edit(json);
    member.bytes = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (mutator.below(10) == 0)
      member.bytes = mutator.edit_text(std::move(member.bytes),
                                       {"{", "[", "Symbol('s0'", "Integer(", "Pow(", ")", "\""});
  }
  const std::string path = folder() + "/seed.pt2";
  std::filesystem::remove(path);
  store::Store store(folder() + "/seeds");
  static_cast<void>(formats::write_pack(path, {}, store, members));
  std::string bytes = bytes_of(path);
  if (mutator.below(5) != 0) return bytes;
  return mutator.edit_text(std::move(bytes),
                           {"PK\x03\x04", "PK\x01\x02", "PK\x05\x06", "models/", "archive_format"});
}

Outcome run_pt2(const std::string& bytes) {
  Outcome outcome;
  auto archive = formats::ArchiveReader::open(bytes, "damaged.pt2");
  if (!archive) {
    outcome.note("open", archive.error());
    return outcome;
  }
  store::Store store(folder() + "/pt2-store");
  auto document = pt2::read_pt2(**archive, [&](const formats::TensorBytes& tensor) {
    return formats::put_tensor(store, tensor);
  });
  if (!document) {
    outcome.note("read", document.error());
    return outcome;
  }
  const std::string path = folder() + "/written.pt2";
  std::filesystem::remove(path);
  if (auto written = pt2::write_pt2(path, std::get<Graph>(document->graph), store); !written) {
    outcome.note("write", written.error());
  } else {
    const std::string again = bytes_of(path);
    auto reader = formats::ArchiveReader::open(again, "written.pt2");
    auto read =
        reader ? pt2::read_pt2(**reader,
                               [](const formats::TensorBytes&) { return std::string(64, '0'); })
               : tl::unexpected(reader.error());
    if (!read) {
      outcome.note("write", {Code::PS0601,
                             "what is written is not read: " + read.error().message,
                             {},
                             {},
                             {},
                             Severity::error});
      return outcome;
    }
  }
  std::string stream;
  for (const formats::Document& part :
       {formats::Document(std::move(*document)), formats::Document(formats::EndDocument{})}) {
    auto line = formats::encode(part, {});
    if (!line) {
      outcome.note("encode", line.error());
      return outcome;
    }
    stream += *line;
  }
  return run_documents(stream);
}

}  // namespace penstock::fuzz
