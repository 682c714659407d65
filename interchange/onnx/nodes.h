#pragma once

#include "interchange/onnx/emitter.h"

namespace penstock::onnx {

/// Writes the nodes of a graph by their rules. PS0602 for one that has no form in ONNX.
Result<void> write_nodes(const Graph& graph, Emitter& out);

/// The sizes of a tensor, as ports have them.
std::vector<Port::Size> port_sizes(const TensorType& type);

}  // namespace penstock::onnx
