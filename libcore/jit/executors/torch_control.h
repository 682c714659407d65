#pragma once

#include <span>
#include <vector>

#include "ir/subgraphs.h"
#include "torch/ops.h"
#include "torch/tensor_bridge.h"

namespace penstock::jit {

/// Runs nodes that have subgraphs by torch's own ops (torch_run.h).
class TorchControl {
 public:
  TorchControl(const Graph& graph, const std::int64_t* symbols, torch::TorchOps& ops,
               const torch::TensorBridge& bridge)
      : graph_(graph), symbols_(symbols), ops_(ops), bridge_(bridge) {}

  /// The node's results; `values` are those of the graph.
  Result<std::vector<python::PyRef>> run(const Node& node, std::span<const python::PyRef> values);

 private:
  using Tensors = std::vector<python::PyRef>;
  Result<Tensors> run(const Graph& subgraph, const Tensors& operands);
  Result<Tensors> run_loop(const Graph& condition, const Graph& body, Tensors operands,
                           std::size_t carried);
  Result<Tensors> run_scan(const Graph& body, Tensors operands, const ScanParts& parts);
  /// The first `count` operands, as tensors whose gradients `backward` gives.
  Result<Tensors> run_custom(const Graph& backward, const Tensors& operands, std::size_t count);
  Result<python::PyRef> call(const std::string& op, const std::vector<NamedArgument>& arguments,
                             const Tensors& tensors);

  const Graph& graph_;
  const std::int64_t* symbols_;
  torch::TorchOps& ops_;
  const torch::TensorBridge& bridge_;
};

}  // namespace penstock::jit
