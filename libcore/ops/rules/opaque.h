#pragma once

#include "ops/infer.h"

namespace penstock::ops {

/// The results of an op of opaque.def; PS0602 for others.
Result<std::vector<InferredResult>> infer_opaque(const Node& node, const Graph& graph,
                                                 ShapeContext& shapes);

}  // namespace penstock::ops
