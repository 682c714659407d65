#include "tools/reduce/shrink.h"

#include <algorithm>
#include <utility>

#include "ops/contract.h"
#include "passes/subgraph.h"
#include "tools/reduce/minimise.h"
#include "tools/reduce/recorded_values.h"
#include "tools/reduce/shrink_sizes.h"

namespace penstock::tools {
namespace {

using formats::Document;
using formats::GraphDocument;
using Stream = std::vector<Document>;

bool stays(const Document& document) {
  return std::holds_alternative<formats::ProgramDocument>(document) ||
         std::holds_alternative<formats::EndDocument>(document);
}

/// The program, the documents of `part`, and the end, which speaks of those only.
Stream part_of(const Stream& stream, const std::vector<bool>& part) {
  Stream out;
  std::vector<EntryId> ids;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (!part[i] && !stays(stream[i])) continue;
    out.push_back(stream[i]);
    if (const auto* graph = std::get_if<GraphDocument>(&stream[i])) {
      ids.push_back(formats::interface_of(*graph).id);
    }
  }
  for (Document& document : out) {
    auto* end = std::get_if<formats::EndDocument>(&document);
    if (end == nullptr) continue;
    end->counts.clear();
    std::erase_if(end->calls, [&](const auto& row) {
      return std::find(ids.begin(), ids.end(), row.id) == ids.end();
    });
  }
  return out;
}

class GraphShrinker {
 public:
  GraphShrinker(Stream& stream, std::size_t position, store::Store& store,
                const Interesting& interesting)
      : stream_(stream),
        position_(position),
        graph_(std::get<Graph>(std::get<GraphDocument>(stream[position]).graph)),
        store_(store),
        values_(graph_, store),
        interesting_(interesting) {}

  void run() {
    if (!try_graph(of(std::vector<bool>(graph_.nodes.size(), true)))) return shrink_guards();
    minimise(graph_.nodes.size(),
             [&](const std::vector<bool>& keep) { return try_graph(of(keep)); });
    shrink_sizes(std::get<Graph>(std::get<GraphDocument>(stream_[position_]).graph), store_,
                 [&](Graph smaller) { return try_graph(std::move(smaller)); });
  }

 private:
  Graph of(const std::vector<bool>& keep) {
    return passes::subgraph(graph_, keep, [&](ValueId id) { return values_.blob(id); });
  }

  /// What is looked for needs the graph's ties to its program.
  void shrink_guards() {
    minimise(graph_.interface.guards.size(), [&](const std::vector<bool>& keep) {
      Graph fewer = graph_;
      fewer.interface.guards.clear();
      for (std::size_t i = 0; i < keep.size(); ++i) {
        if (keep[i]) fewer.interface.guards.push_back(graph_.interface.guards[i]);
      }
      return try_graph(std::move(fewer));
    });
  }

  /// Keeps the graph in the stream if that is still interesting.
  bool try_graph(Graph graph) {
    if (!ops::verify_contract(graph, graph.level)) return false;
    Stream candidate = stream_;
    std::get<GraphDocument>(candidate[position_]).graph = std::move(graph);
    if (!interesting_(candidate)) return false;
    stream_ = std::move(candidate);
    return true;
  }

  Stream& stream_;
  std::size_t position_;
  const Graph graph_;
  store::Store& store_;
  RecordedValues values_;
  const Interesting& interesting_;
};

}  // namespace

Stream shrink(Stream stream, store::Store& store, const Interesting& interesting) {
  const std::vector<bool> part = minimise(stream.size(), [&](const std::vector<bool>& keep) {
    return interesting(part_of(stream, keep));
  });
  Stream out = part_of(stream, part);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto* graph = std::get_if<GraphDocument>(&out[i]);
    if (graph != nullptr && std::holds_alternative<Graph>(graph->graph)) {
      GraphShrinker(out, i, store, interesting).run();
    }
  }
  return out;
}

}  // namespace penstock::tools
