#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/json/codec.h"
#include "formats/version/version.h"
#include "ir/control_steps.h"

namespace penstock::formats {

namespace {

struct Encoder {
  Json& meta;
  Json& blobs;

  Json operator()(const ProgramDocument& document) const { return encode_program(document, meta); }
  Json operator()(const ResultDocument& document) const { return encode_result(document, meta); }
  Json operator()(const EndDocument& document) const { return encode_end(document, meta); }
  Json operator()(const GraphDocument& document) const {
    Json out = Json::object();
    std::visit([&](const auto& graph) { encode_graph(graph, out, blobs); }, document.graph);
    out["level"] = to_string(level(document));
    if (auto spent = interface_of(document).capture_ns; spent != 0) meta["capture_ns"] = spent;
    return out;
  }
  Json operator()(const BackendDocument& document) const {
    return encode_event(document.event, meta);
  }
  template <class EventDocument>
  Json operator()(const EventDocument& document) const {
    return encode_event(document.event);
  }
};

/// Whether a reader must know of subgraphs, or of the branches that they become.
struct HasSubgraphs {
  bool operator()(const Graph& graph) const { return !graph.subgraphs.empty(); }
  bool operator()(const PlacedGraph& placed) const { return !placed.subgraphs.empty(); }
  template <class Program>
  bool operator()(const Program& program) const {
    const ControlSteps branches = control_steps_of(program.steps);
    return std::ranges::any_of(branches, [](const auto& branch) { return branch.has_value(); });
  }
};

Json parse_meta(const Meta& meta) {
  if (meta.json.empty()) return Json::object();
  Json parsed = Json::parse(meta.json, nullptr, false);
  return parsed.is_object() ? parsed : Json::object();
}

GraphDocument decode_graph_document(Record& record, Json& meta) {
  GraphDocument document;
  Level level = read_name(record.required("level"), level_from_name, "level");
  switch (level) {
    case Level::torch:
    case Level::core:
      document.graph = decode_graph(record, level);
      break;
    case Level::placed:
      document.graph = decode_placed(record);
      break;
    case Level::loops:
      document.graph = decode_loops(record);
      break;
    case Level::kernels:
      document.graph = decode_kernels(record);
      break;
  }
  auto spent = meta.find("capture_ns");
  if (spent != meta.end() && spent->is_number_integer()) {
    interface_of(document).capture_ns = spent->get<std::int64_t>();
    meta.erase(spent);
  }
  return document;
}

std::optional<Document> decode_kind(Record& record, Json& meta) {
  Field kind = record.required("penstock");
  std::string name = kind.text();
  if (name == "program") return decode_program(record, meta);
  if (name == "graph") return decode_graph_document(record, meta);
  if (name == "break") return BreakDocument{decode_break(record), {}};
  if (name == "skip") return SkipDocument{decode_skip(record), {}};
  if (name == "recompile") return RecompileDocument{decode_recompile(record), {}};
  if (name == "restart") return RestartDocument{decode_restart(record), {}};
  if (name == "backend") return BackendDocument{decode_backend(record, meta), {}};
  if (name == "result") return decode_result(record, meta);
  if (name == "end") return decode_end(record, meta);
  kind.fail(fmt::format("'{}' is no kind of document", name.substr(0, 80)));
  record.ignore_rest();
  return std::nullopt;
}

/// Whether the document's version can be read; newer ones are refused with PS0203.
bool check_version(Record& record) {
  Field field = record.required("version");
  if (field.length() != 2) {
    field.fail("expected [major, minor]");
    return false;
  }
  Version version{field.item(0).integer32(), field.item(1).integer32()};
  if (version.major_number > kCurrent.major_number) {
    field.fail(
        fmt::format("format version {} is newer than {}, the newest that this penstock reads",
                    to_string(version), to_string(kCurrent)),
        Code::PS0203);
    return false;
  }
  if (version.major_number < 1 || version.minor_number < 0) {
    field.fail(fmt::format("there is no format version {}", to_string(version)));
    return false;
  }
  bool known = true;
  record.each("requires", [&](const Field& item) {
    std::string feature = item.text();
    if (knows_feature(feature)) return;
    known = false;
    item.fail(fmt::format("the document requires the feature '{}', which this penstock (format {}) "
                          "does not know",
                          feature.substr(0, 80), to_string(kCurrent)),
              Code::PS0203);
  });
  record.field().problems().minor_version = version.minor_number;
  record.field().problems().ignore_unknown = version > kCurrent;
  return known;
}

}  // namespace

Json encode_document(const Document& document, bool tensors, bool strip_meta) {
  Json meta = std::visit([](const auto& one) { return parse_meta(one.meta); }, document);
  Json blobs = Json::array();
  Json out = std::visit(Encoder{meta, blobs}, document);
  out["penstock"] = kind(document);
  out["version"] = {kCurrent.major_number, kCurrent.minor_number};
  const auto* graph = std::get_if<GraphDocument>(&document);
  Json required = Json::array();
  if (graph != nullptr && level(*graph) == Level::kernels) required.push_back(kSealedCode);
  if (out.contains("device")) required.push_back(kDevices);
  if (graph != nullptr && std::visit(HasSubgraphs{}, graph->graph)) required.push_back(kSubgraphs);
  if (!required.empty()) out["requires"] = std::move(required);
  if (tensors && !blobs.empty()) out["blobs"] = std::move(blobs);
  if (!strip_meta && !meta.empty()) out["meta"] = std::move(meta);
  return out;
}

std::optional<Document> decode_document(const Field& field) {
  Record record(field);
  if (!field.json().is_object() || !field.json().contains("penstock")) {
    field.fail("no penstock document: the field 'penstock' is missing");
    record.ignore_rest();
    return std::nullopt;
  }
  if (!check_version(record)) {
    record.ignore_rest();
    return std::nullopt;
  }
  Json meta = Json::object();
  if (auto found = record.optional("meta")) {
    if (!found->json().is_object()) found->fail("expected a record");
    if (found->json().is_object()) meta = found->json();
  }
  std::optional<Document> document = decode_kind(record, meta);
  if (document && !meta.empty()) {
    std::visit([&](auto& one) { one.meta.json = to_line(meta); }, *document);
  }
  return document;
}

}  // namespace penstock::formats
