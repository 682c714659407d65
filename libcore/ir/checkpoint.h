#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph.h"

// Activation checkpoints. What a program computes in torch.utils.checkpoint.checkpoint is computed
// again for its gradients instead of being kept. Each such call of a graph has a number; the calls
// that were made in it bear it, of nested ones the outermost's. A call of its own stands in front
// of them, which no node is of: its arguments are the tensors that torch keeps for running the
// function again.

namespace penstock {

/// What the program called, as the target of the call in front.
inline constexpr std::string_view kCheckpoint = "torch.utils.checkpoint.checkpoint";

inline bool begins_checkpoint(const Call& call) {
  return call.checkpoint >= 0 && call.target == kCheckpoint;
}

/// The argument of a call in front of a checkpoint whose policy chooses what is kept: it holds as
/// many of the results as pays.
inline constexpr std::string_view kCheckpointPolicy = "context_fn";

inline bool is_selective(const Call& call) {
  return begins_checkpoint(call) && !call.kwargs.empty() &&
         call.kwargs.front().name == kCheckpointPolicy;
}

/// The checkpoint in which the node was recorded; -1: none.
inline std::int32_t checkpoint_of(const Graph& graph, const Node& node) {
  return node.call < 0 ? -1 : graph.calls[static_cast<std::size_t>(node.call)].checkpoint;
}

}  // namespace penstock
