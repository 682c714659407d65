#pragma once

#include <vector>

#include "diag/diagnostic.h"
#include "ir/graph.h"
#include "ops/shape_context.h"

namespace penstock::ops {

/// One result as a shape rule gives it.
struct InferredResult {
  TensorType type;
  ValueId alias =
      kNoValue;  ///< the value whose memory the result shares; kNoValue: memory of its own
};

/// The results' dtypes, sizes and strides, as torch computes them, for a node of level `torch` or
/// `core`. Sizes may be symbolic; `shapes` answers what the rule must know of them. Only the
/// arguments are looked at, not the result types that the graph may hold. Errors: PS0602 an op
/// without a rule, PS0603 arguments that do not fit, PS0605 a size that cannot be decided.
Result<std::vector<InferredResult>> infer_results(const Node& node, const Graph& graph,
                                                  ShapeContext& shapes);

/// The types alone.
Result<std::vector<TensorType>> infer(const Node& node, const Graph& graph, ShapeContext& shapes);

/// The same with the ranges of the graph's symbols only.
Result<std::vector<TensorType>> infer(const Node& node, const Graph& graph);

/// Why a node's arguments are not what the rule of its op reads: one is missing, or of another
/// kind. Nothing where they are, whatever else the rule may say, and for an op without a rule.
std::optional<Diagnostic> wrong_kind(const Node& node, const Graph& graph, ShapeContext& shapes);

}  // namespace penstock::ops
