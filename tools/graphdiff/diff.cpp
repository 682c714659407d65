#include "tools/graphdiff/diff.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "formats/stream.h"
#include "ir/argument_text.h"
#include "tools/graphdiff/match.h"

namespace penstock::graphdiff {
namespace {

using formats::Document;
using formats::GraphDocument;
using Kind = Difference::Kind;
using Json = nlohmann::json;

/// Collects differences of one graph, or of the stream.
class Collector {
 public:
  Collector(std::vector<Difference>& out, std::string graph)
      : out_(out), graph_(std::move(graph)) {}
  void add(Kind kind, std::string_view what, std::string before, std::string after) {
    out_.push_back({kind, graph_, std::string(what), std::move(before), std::move(after)});
  }
  /// Two lists in which order means nothing: what stands only in one of them.
  void unordered(std::string_view what, const std::vector<std::string>& a,
                 const std::vector<std::string>& b) {
    std::map<std::string, int> surplus;
    for (const std::string& text : a) ++surplus[text];
    for (const std::string& text : b) --surplus[text];
    for (const auto& [text, count] : surplus) {
      for (int i = 0; i < count; ++i) add(Kind::removed, what, text, "");
      for (int i = count; i < 0; ++i) add(Kind::added, what, "", text);
    }
  }
  /// Two lists that are compared place by place.
  void ordered(std::string_view what, const std::vector<std::string>& a,
               const std::vector<std::string>& b) {
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      if (i >= a.size())
        add(Kind::added, what, "", b[i]);
      else if (i >= b.size())
        add(Kind::removed, what, a[i], "");
      else if (a[i] != b[i])
        add(Kind::changed, what, a[i], b[i]);
    }
  }

 private:
  std::vector<Difference>& out_;
  std::string graph_;
};

/// The canonical text without `meta` and tensors, parsed.
Json canonical(const Document& document) {
  formats::WriteOptions options;
  options.tensors = false;
  options.strip_meta = true;
  Result<std::string> text = formats::encode(document, options);
  return text ? Json::parse(*text, nullptr, false) : Json();
}

std::vector<std::string> guards_of(const Interface& interface) {
  std::vector<std::string> out;
  for (const Guard& guard : interface.guards) out.push_back(to_string(guard, interface.sources));
  return out;
}

std::vector<std::string> inputs_of(const Interface& interface) {
  std::vector<std::string> out;
  for (const Input& input : interface.inputs) {
    std::string source =
        input.source == kNoSource ? "" : " = " + interface.sources.text(input.source);
    out.push_back(std::string(to_string(input.kind)) + " " + to_string(input.type) + source);
  }
  return out;
}

/// Compares two graphs of level torch, core or placed node by node.
class GraphComparison {
 public:
  GraphComparison(const Graph& a, const Graph& b, Collector& out)
      : a_(a), b_(b), match_(match(a, b)), to_a_(b.values.size(), kNoValue), out_(out) {
    std::size_t inputs = std::min(a.interface.inputs.size(), b.interface.inputs.size());
    for (std::size_t i = 0; i < inputs; ++i) to_a_[i] = static_cast<ValueId>(i);
    for (std::size_t i = 0; i < b.nodes.size(); ++i) {
      if (match_.to_a[i] < 0) continue;
      const Node& other = a.nodes[static_cast<std::size_t>(match_.to_a[i])];
      std::size_t results = std::min(other.results.size(), b.nodes[i].results.size());
      for (std::size_t r = 0; r < results; ++r) to_a_[b.nodes[i].results[r]] = other.results[r];
    }
  }

  void run() {
    for (std::size_t i = 0; i < a_.nodes.size(); ++i) {
      if (match_.to_b[i] < 0) {
        out_.add(Kind::removed, "node", to_text(a_, a_.nodes[i]), "");
      } else {
        compare(a_.nodes[i], b_.nodes[static_cast<std::size_t>(match_.to_b[i])]);
      }
    }
    for (std::size_t i = 0; i < b_.nodes.size(); ++i) {
      if (match_.to_a[i] < 0) out_.add(Kind::added, "node", "", to_text(b_, b_.nodes[i]));
    }
    std::vector<std::string> outputs_a, outputs_b;
    for (ValueId id : a_.outputs) outputs_a.push_back(name_of_a(id));
    for (ValueId id : b_.outputs) outputs_b.push_back(name_of_b(id));
    out_.ordered("output", outputs_a, outputs_b);
  }

 private:
  std::string name_of_a(ValueId id) const { return "%" + a_.values[id].name; }
  /// By the name that A has for it, so that a renamed value is no difference.
  std::string name_of_b(ValueId id) const {
    return to_a_[id] == kNoValue ? "%" + b_.values[id].name + " (new)" : name_of_a(to_a_[id]);
  }

  std::string arguments(const Node& node, const ValueName& name) const {
    std::string out;
    for (const NamedArgument& argument : node.args) {
      out += argument.name + "=" + to_string(argument.value, name) + " ";
    }
    return out;
  }

  void compare(const Node& a, const Node& b) {
    bool same = a.op == b.op &&
                arguments(a, [&](ValueId id) { return name_of_a(id); }) ==
                    arguments(b, [&](ValueId id) { return name_of_b(id); }) &&
                a.results.size() == b.results.size();
    for (std::size_t i = 0; same && i < a.results.size(); ++i) {
      same = to_string(a_.values[a.results[i]].type) == to_string(b_.values[b.results[i]].type);
    }
    if (!same) out_.add(Kind::changed, "node", to_text(a_, a), to_text(b_, b));
  }

  const Graph& a_;
  const Graph& b_;
  NodeMatch match_;
  std::vector<ValueId> to_a_;  ///< by value of B: the value of A
  Collector& out_;
};

const Graph* plain_graph(const GraphDocument& document) {
  if (const auto* graph = std::get_if<Graph>(&document.graph)) return graph;
  if (const auto* placed = std::get_if<PlacedGraph>(&document.graph)) return &placed->graph;
  return nullptr;
}

/// What graph documents of a level without nodes differ in, by JSON pointer.
void compare_json(const Json& a, const Json& b, Collector& out) {
  for (const Json& step : Json::diff(a, b)) {
    const std::string path = step.at("path");
    const std::string op = step.at("op");
    Json::json_pointer pointer(path);
    std::string before = op == "add" ? "" : path + ": " + a.at(pointer).dump();
    std::string after = op == "remove" ? "" : path + ": " + step.at("value").dump();
    out.add(op == "add"      ? Kind::added
            : op == "remove" ? Kind::removed
                             : Kind::changed,
            "field", before, after);
  }
}

std::vector<std::string> regions_of(const PlacedGraph& placed) {
  std::vector<std::string> out;
  for (const Region& region : placed.regions) {
    out.push_back(std::string(to_string(region.placement)) + " of " +
                  std::to_string(region.last - region.first) + " nodes");
  }
  return out;
}

void compare_graphs(const GraphDocument& a, const GraphDocument& b, std::vector<Difference>& out) {
  Collector collector(out, to_string(formats::interface_of(a).id));
  if (formats::level(a) != formats::level(b)) {
    collector.add(Kind::changed, "level", std::string(to_string(formats::level(a))),
                  std::string(to_string(formats::level(b))));
    return;
  }
  const Graph* graph_a = plain_graph(a);
  const Graph* graph_b = plain_graph(b);
  if (graph_a == nullptr || graph_b == nullptr) {
    compare_json(canonical(Document(a)), canonical(Document(b)), collector);
    return;
  }
  collector.ordered("input", inputs_of(graph_a->interface), inputs_of(graph_b->interface));
  collector.unordered("guard", guards_of(graph_a->interface), guards_of(graph_b->interface));
  GraphComparison(*graph_a, *graph_b, collector).run();
  if (const auto* placed = std::get_if<PlacedGraph>(&a.graph)) {
    collector.ordered("region", regions_of(*placed), regions_of(std::get<PlacedGraph>(b.graph)));
  }
}

using ById = std::map<std::string, const GraphDocument*>;

ById graphs_of(const std::vector<Document>& documents) {
  ById out;
  for (const Document& document : documents) {
    if (const auto* graph = std::get_if<GraphDocument>(&document)) {
      out.emplace(to_string(formats::interface_of(*graph).id), graph);
    }
  }
  return out;
}

std::vector<std::string> others_of(const std::vector<Document>& documents, std::string_view kind) {
  std::vector<std::string> out;
  for (const Document& document : documents) {
    if (formats::kind(document) == kind) out.push_back(canonical(document).dump());
  }
  return out;
}

std::string title(const GraphDocument& document) {
  return formats::interface_of(document).name + " (" +
         std::string(to_string(formats::level(document))) + ")";
}

}  // namespace

std::vector<Difference> diff(const std::vector<Document>& a, const std::vector<Document>& b) {
  std::vector<Difference> out;
  ById graphs_a = graphs_of(a), graphs_b = graphs_of(b);
  for (const auto& [id, graph] : graphs_a) {
    auto other = graphs_b.find(id);
    if (other == graphs_b.end()) {
      out.push_back({Kind::removed, id, "graph", title(*graph), ""});
    } else {
      compare_graphs(*graph, *other->second, out);
    }
  }
  for (const auto& [id, graph] : graphs_b) {
    if (!graphs_a.contains(id)) out.push_back({Kind::added, id, "graph", "", title(*graph)});
  }
  Collector stream(out, "");
  for (const char* kind : {"break", "skip", "recompile", "restart", "result"}) {
    stream.unordered(kind, others_of(a, kind), others_of(b, kind));
  }
  return out;
}

std::string to_text(const std::vector<Difference>& differences, bool color) {
  std::string out;
  auto line = [&](char sign, const char* paint, const Difference& row, const std::string& text) {
    std::string place = row.graph.empty() ? "" : "[" + row.graph + "] ";
    out += (color ? paint : "") + std::string(1, sign) + ' ' + place + row.what + ' ' + text +
           (color ? "\x1b[0m" : "") + '\n';
  };
  for (const Difference& row : differences) {
    if (row.kind != Kind::added) line('-', "\x1b[31m", row, row.before);
    if (row.kind != Kind::removed) line('+', "\x1b[32m", row, row.after);
  }
  return out;
}

std::string to_json(const std::vector<Difference>& differences) {
  constexpr const char* kNames[] = {"added", "removed", "changed"};
  Json rows = Json::array();
  for (const Difference& row : differences) {
    Json object = {{"kind", kNames[static_cast<std::size_t>(row.kind)]}, {"what", row.what}};
    if (!row.graph.empty()) object["graph"] = row.graph;
    if (row.kind != Kind::added) object["before"] = row.before;
    if (row.kind != Kind::removed) object["after"] = row.after;
    rows.push_back(std::move(object));
  }
  return Json{{"differences", rows}}.dump(2) + "\n";
}

}  // namespace penstock::graphdiff
