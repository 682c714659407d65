#include "passes/decompose/decided_sizes.h"

#include <algorithm>

#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

constexpr std::string_view kDeciding[] = {
#define PS_COMPOSITE(op, function, detail)
#define PS_DECIDING(op, function, detail) op,
#include "passes/decompose/composites.def"
#undef PS_DECIDING
#undef PS_COMPOSITE
};

bool is_mask(const Graph& graph, const Argument& index) {
  const auto* value = index.as<Argument::Value>();
  if (value == nullptr || value->id >= graph.values.size()) return false;
  const DType dtype = graph.values[value->id].type.dtype;
  return is_boolean(dtype) || dtype == DType::uint8;
}

}  // namespace

bool decides_size(const Node& node, const Graph& graph) {
  if (std::ranges::find(kDeciding, node.op) == std::end(kDeciding)) return false;
  if (node.op == "aten.index.Tensor") {
    const Argument* indices = find_argument(node, "indices");
    const auto* list = indices != nullptr ? indices->as<Argument::Sequence>() : nullptr;
    return list != nullptr && std::ranges::any_of(list->items, [&](const Argument& index) {
             return is_mask(graph, index);
           });
  }
  const Argument* told = find_argument(node, "output_size");
  return told == nullptr || told->is_none();
}

std::optional<SizedResults> decided_results(const Node& node, const Graph& graph,
                                            const Decided& decided) {
  return composite_sizes(node, graph, decided);
}

std::optional<DecidedDim> decided_dim(const Node& node, const Graph& graph) {
  constexpr std::int64_t kAnySize = std::int64_t{1} << 20;
  const SymExpr unknown = SymExpr::symbol("decided");
  const auto sized = decided_results(node, graph, {unknown, kAnySize});
  for (std::size_t i = 0; sized && i < sized->types.size(); ++i) {
    const std::vector<SymExpr>& sizes = sized->types[i].sizes;
    const auto found = std::ranges::find(sizes, unknown);
    if (found != sizes.end()) return DecidedDim{i, static_cast<std::size_t>(found - sizes.begin())};
  }
  return std::nullopt;
}

std::optional<SymExpr> decided_size(const Node& node, const Graph& graph) {
  const auto at = decided_dim(node, graph);
  if (!at || at->result >= node.results.size()) return std::nullopt;
  const TensorType& recorded = graph.values[node.results[at->result]].type;
  return at->dim < recorded.rank() ? std::optional(recorded.sizes[at->dim]) : std::nullopt;
}

}  // namespace penstock::passes
