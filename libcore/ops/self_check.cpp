#include "ops/self_check.h"

#include <algorithm>

#include "ops/infer.h"
#include "ops/promotion.h"

namespace penstock::ops {
namespace {

bool same_type(const TensorType& inferred, const TensorType& recorded) {
  if (inferred.dtype != recorded.dtype || inferred.sizes != recorded.sizes) return false;
  for (const SymExpr& size : recorded.sizes) {
    if (size == SymExpr(0)) return true;
  }
  for (std::size_t i = 0; i < recorded.rank(); ++i) {
    if (recorded.sizes[i] != SymExpr(1) && inferred.strides[i] != recorded.strides[i]) return false;
  }
  return true;
}

/// Whether the program has another default dtype than the rules take for granted: a guard says so.
bool has_other_default(const Interface& interface) {
  return std::ranges::any_of(interface.guards, [&](const Guard& guard) {
    const auto* dtype = guard.expected.as<DType>();
    return guard.kind == GuardKind::global_state && dtype != nullptr && *dtype != kDefaultDType &&
           interface.sources[guard.source].name == "get_default_dtype";
  });
}

/// `type` as the rule gives it where the result may be of the default dtype.
TensorType with_dtype_of(TensorType type, const TensorType& recorded) {
  const bool floats = is_floating(type.dtype) && is_floating(recorded.dtype);
  if (floats || (is_complex(type.dtype) && is_complex(recorded.dtype))) type.dtype = recorded.dtype;
  return type;
}

}  // namespace

std::vector<WrongRule> check_rules(const Graph& graph) {
  std::vector<WrongRule> wrong;
  RangeShapes shapes(graph.interface);
  const bool other_default = has_other_default(graph.interface);
  for (const Node& node : graph.nodes) {
    auto types = infer(node, graph, shapes);
    if (!types) {
      if (types.error().code != Code::PS0602 && types.error().code != Code::PS0605) {
        wrong.push_back({node.call, node.op + ": " + types.error().message});
      }
      continue;
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const TensorType& recorded = graph.values[node.results[i]].type;
      if (i < types->size() && other_default)
        (*types)[i] = with_dtype_of(std::move((*types)[i]), recorded);
      if (i < types->size() && same_type((*types)[i], recorded)) continue;
      wrong.push_back({node.call, node.op + ": inferred " +
                                      (i < types->size() ? to_string((*types)[i]) : "no result") +
                                      ", got " + to_string(recorded)});
    }
  }
  return wrong;
}

}  // namespace penstock::ops
