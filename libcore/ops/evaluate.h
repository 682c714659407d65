#pragma once

#include <functional>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/graph.h"
#include "ops/host_tensor.h"

namespace penstock::ops {

/// Gives the tensor of a value of the graph.
using TensorOf = std::function<const HostTensor&(ValueId)>;
/// Gives the number of a symbol.
using SymbolValue = std::function<std::optional<std::int64_t>(std::string_view)>;

/// Computes the results of `node`, whose arguments `tensor_of` gives, slow and obvious. Results of
/// views share memory with their argument, in-place ops write theirs, as in torch. Floating dtypes
/// are computed in double and rounded once. Errors: those of infer; PS0602 for ops without a
/// reference.
Result<std::vector<HostTensor>> evaluate(const Node& node, const Graph& graph,
                                         const TensorOf& tensor_of,
                                         const SymbolValue& symbol_value);

}  // namespace penstock::ops
