#include "tools/convert/chosen_graph.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "passes/core_passes.h"
#include "tools/convert/pt2_files.h"

namespace penstock::tools {

namespace {

std::string ids_of(const std::vector<formats::GraphDocument>& graphs) {
  std::vector<std::string> ids;
  for (const formats::GraphDocument& each : graphs)
    ids.push_back(to_string(formats::interface_of(each).id));
  return fmt::format("{}", fmt::join(ids, ", "));
}

}  // namespace

Result<ChosenGraph> choose_graph(Stage& stage, const std::string& id, store::Store& tensors,
                                 const std::string& store) {
  const std::vector<std::string> files = stage.inputs();
  if (files.size() != 1)
    return failure(Code::PS0101,
                   fmt::format("{} files, but this tool reads one stream", files.size()));
  auto graphs = read_graphs(stage, files.front(), tensors, store);
  if (!graphs) return tl::unexpected(graphs.error());
  if (graphs->empty()) return failure(Code::PS0101, "there is no graph in the input");
  if (id.empty() && graphs->size() > 1) {
    return failure(Code::PS0101, fmt::format("the input has {} graphs, and the format holds one: "
                                             "name it by --graph: {}",
                                             graphs->size(), ids_of(*graphs)));
  }
  for (formats::GraphDocument& each : *graphs) {
    if (!id.empty() && to_string(formats::interface_of(each).id) != id) continue;
    auto* graph = std::get_if<Graph>(&each.graph);
    if (graph != nullptr) {
      auto settled = passes::settle_custom_vjps(std::move(*graph));
      if (!settled) return tl::unexpected(std::move(settled.error()));
      return ChosenGraph{std::move(*settled), std::move(each.meta)};
    }
    return failure(
        Code::PS0204,
        fmt::format("the graph is of level {}: levels torch and core have a form in other "
                    "compilers' formats",
                    to_string(formats::level(each))));
  }
  return failure(Code::PS0101,
                 fmt::format("there is no graph {}: the input has {}", id, ids_of(*graphs)));
}

}  // namespace penstock::tools
