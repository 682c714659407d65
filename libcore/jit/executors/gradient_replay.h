#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "autodiff/saved_operands.h"
#include "jit/executors/gradient_executor.h"
#include "torch/gradient_node.h"
#include "torch/ops.h"
#include "torch/tensor_bridge.h"

namespace penstock::jit {

/// An input of a call that is over.
struct HeldInput {
  python::PyRef object;
  std::int64_t integer = 0;
  double real = 0;
  std::uint32_t version = 0;
};

/// All that the nodes of one entry share.
struct GradientProgram {
  GradientParts parts;
  const torch::TensorBridge* bridge = nullptr;
  const torch::GradientNodeClass* node_class = nullptr;
  torch::TorchOps ops;
  std::vector<std::uint32_t> inputs;    ///< of forward, that have gradients: the node's
  std::vector<std::uint32_t> attached;  ///< made tensors that require grad: the node's outputs
  std::vector<std::uint32_t> kept_inputs, kept_outputs;  ///< in the order in which torch keeps them
  std::vector<autodiff::SavedAs> kept_as;                ///< by kept input
  /// What backward reads and torch's own ops would not keep: the program may write it meanwhile.
  std::vector<std::uint32_t> copied_inputs, copied_outputs;
  /// Of `inputs`, those that torch's own ops would not keep: the program may write them meanwhile.
  std::vector<std::uint32_t> loose_inputs;
  std::vector<bool> reads;         ///< by input: the ops that torch runs again read it
  std::vector<bool> decides;       ///< by input: what it holds may change a gradient
  std::vector<std::uint32_t> all;  ///< positions of backward's inputs
  /// Where an input of backward's comes from: a tensor that torch keeps, a copy, a result of
  /// forward's kernels that nobody else has, or an input of the call.
  struct Place {
    enum class Kind : std::uint8_t { kept, copied, result, held } kind = Kind::held;
    std::size_t index = 0;
  };
  std::vector<Place> saved, passed;    ///< by Saved and Passed of backward's interface
  std::vector<std::size_t> tangents;   ///< by Tangent: its output's place among `attached`
  std::vector<std::size_t> gradients;  ///< by Gradient: its input's place among `inputs`
  std::vector<std::vector<std::size_t>> reached_from;  ///< by Gradient: places among `attached`
  std::size_t own_outputs = 0;
  std::int64_t calls = 0;  ///< of forward
  bool draws = false;
  bool saves_nothing = false;  ///< torch's ops would not, and backward's kernels read nothing
  bool running = false;
  std::int32_t device_index = -1;  ///< of the GPU that the kernels run on; -1: the CPU

  /// The tensor is where the kernels run.
  bool is_there(const torch::TensorView& view) const {
    return view.device_type == (device_index < 0 ? 0 : 1) && view.device_index == device_index;
  }
  /// The gate's time: on a GPU what was begun is over by then.
  Gate::Nanoseconds now() const { return parts.gate ? parts.gate->now() : Gate::steady_time(); }
  /// The graph writes the input.
  bool writes(std::size_t input) const {
    return std::ranges::any_of(parts.mutations, [&](const Mutation& mutation) {
      return mutation.input == static_cast<std::int32_t>(input);
    });
  }
};

/// A call of a segment that is over, as torch runs it again.
struct GradientReplay {
  std::vector<std::int64_t> symbols;
  std::vector<HeldInput> inputs;  ///< one per input of the recorded graph
  python::PyRef random;           ///< the generator's state in front of it; null: it draws nothing
};

/// The recorded graph without what its `attached` outputs do not need. Ops that draw random numbers
/// stay where one that is needed does: they share a generator.
Graph needed_again(Graph recorded, const std::vector<std::uint32_t>& attached);

/// By input, whether a node reads it.
std::vector<bool> inputs_read(const Graph& graph);

/// By input, whether what it holds may change what comes of the graph's `attached` outputs. Running
/// statistics that are only moved on, and numbers that are only counted up, do not.
std::vector<bool> inputs_that_decide(const Graph& graph,
                                     const std::vector<std::uint32_t>& attached);

/// The gradients of the program's inputs by torch's own ops: the recorded graph is run again under
/// gradient mode. `tangents`: one per attached output, null where none comes. Where gradient mode
/// is on the gradients have gradients themselves. `engine_time`: what torch's engine took.
/// False with a Python error set: torch's own, or that an input was written since.
bool differentiate_by_torch(GradientProgram& program, const GradientReplay& replay,
                            std::span<PyObject* const> tangents,
                            std::vector<python::PyRef>& gradients,
                            std::chrono::nanoseconds& engine_time);

}  // namespace penstock::jit
