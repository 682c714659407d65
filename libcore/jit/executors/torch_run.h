#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "torch/ops.h"
#include "torch/tensor_bridge.h"

namespace penstock::jit {

/// Runs a graph of level torch by torch's own ops. `values` has one place per value; those of the
/// inputs are filled, those of the outputs are on return. Fails where torch does not run an op.
Result<void> run_by_torch(const Graph& graph, const std::int64_t* symbols, torch::TorchOps& ops,
                          const torch::TensorBridge& bridge, std::span<python::PyRef> values);

/// torch's generator of random numbers, of a GPU or (-1) of the CPU, which is put back: by
/// restore(), and when this goes.
class RandomState {
 public:
  explicit RandomState(int gpu = -1);
  ~RandomState() { restore(); }
  RandomState(const RandomState&) = delete;
  RandomState& operator=(const RandomState&) = delete;
  void restore() const { set(state_); }
  /// Puts the generator into a state that another one had.
  void set(const python::PyRef& state) const;
  const python::PyRef& state() const { return state_; }

 private:
  python::PyRef generator_, state_;
};

}  // namespace penstock::jit
