#pragma once

#include <algorithm>
#include <string_view>

#include "ir/graph.h"

namespace penstock::ops {

/// The op that a call of backward() or torch.autograd.grad is in a graph: gradients of values, with
/// respect to others that they depend on, as torch's engine gives them to leaves.
///
///   of        a value, or a list of them
///   with      a list of values: each has its gradient among the results, in this order
///   tangents  a list, one for each value of `of`; not there: of has one element, whose tangent is
///             1, and what is in `with` are leaves, which depend on nothing
///
/// Results that require gradients are ones that later gradients go through.
///
/// decompose puts the computation in its place (autodiff/expand_gradients.cpp): nothing runs it.
inline constexpr std::string_view kGradient = "torch.gradient.default";
inline constexpr std::string_view kGradientOf = "of", kGradientWith = "with",
                                  kGradientTangents = "tangents";

inline bool goes_backward(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return node.op == kGradient; });
}

}  // namespace penstock::ops
