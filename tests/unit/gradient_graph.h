#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "ops/interpreter.h"
#include "torch_graph.h"

namespace penstock {

/// Graphs of float64 vectors, whose types say what requires grad.
class GradientGraph : public TorchGraph {
 public:
  ValueId leaf(std::int64_t length = 3) {
    const ValueId id = input({SymExpr(length)}, DType::float64);
    graph.values[id].type.requires_grad = graph.interface.inputs[id].type.requires_grad = true;
    return id;
  }
  /// Applies an op; the result requires grad if it `tracks`.
  ValueId apply(const std::string& op, std::vector<NamedArgument> args, bool tracks = true) {
    const ValueId id = call("aten." + op, std::move(args));
    REQUIRE(id != kNoValue);
    graph.values[id].type.requires_grad = tracks;
    return id;
  }
  ValueId unary(const std::string& op, ValueId x, bool tracks = true) {
    return apply(op + ".default", {{"self", value(x)}}, tracks);
  }
  ValueId binary(const std::string& op, ValueId x, Argument other, bool tracks = true) {
    return apply(op + ".Tensor", {{"self", value(x)}, {"other", std::move(other)}}, tracks);
  }
};

/// A tensor of float64.
inline ops::HostTensor float_vector(const std::vector<double>& numbers) {
  auto tensor =
      ops::HostTensor::contiguous(DType::float64, {static_cast<std::int64_t>(numbers.size())});
  tensor.assign(numbers);
  return tensor;
}

}  // namespace penstock
