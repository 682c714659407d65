#pragma once

#include <algorithm>
#include <string_view>

#include "ir/graph.h"

namespace penstock::ops {

/// The op that a call of backward() is in a graph: gradients of a value, with respect to others
/// that it depends on, as torch's engine gives them to leaves.
///
///   of    a value with one element, whose tangent is 1
///   with  a list of values: each has its gradient among the results, in this order
///
/// decompose puts the computation in its place (autodiff/expand_gradients.cpp): nothing runs it.
inline constexpr std::string_view kGradient = "torch.gradient.default";
inline constexpr std::string_view kGradientOf = "of", kGradientWith = "with";

inline bool goes_backward(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return node.op == kGradient; });
}

}  // namespace penstock::ops
