#pragma once

#include <algorithm>
#include <string_view>

#include "ir/graph.h"

namespace penstock::ops {

/// The op that a call of backward(), or of torch.autograd.grad, is in a graph: gradients of values,
/// with respect to others that they depend on, as torch's engine gives them.
///
///   of       a value with one element, whose tangent is 1; or a list of values
///   with     a list of values: each has its gradient among the results, in this order
///   given    of torch.autograd.grad: the tangents of the values, in a list; empty: 1 each. The
///            ways back go through the values of `with` on to others
///   creates  of torch.autograd.grad: whether the results have gradients of their own
///
/// decompose puts the computation in its place (autodiff/expand_gradients.cpp): nothing runs it.
inline constexpr std::string_view kGradient = "torch.gradient.default";
inline constexpr std::string_view kGradientOf = "of", kGradientWith = "with",
                                  kGradientGiven = "given", kGradientCreates = "creates";

inline bool goes_backward(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return node.op == kGradient; });
}

}  // namespace penstock::ops
