#pragma once

#include <string_view>
#include <vector>

#include "ops/arguments.h"
#include "ops/host_tensor.h"
#include "ops/op.h"
#include "ops/promotion.h"
#include "ops/reference/array.h"

namespace penstock::ops {

/// One node being computed: its arguments are constants and tensors, its results are allocated with
/// the dtype, sizes and strides that the op's rule gives, and waiting for their elements.
class Evaluation : public Arguments {
 public:
  /// `graph` has a value of constant type for every tensor in `tensors`.
  Evaluation(const OpFacts& op, const Node& node, const Graph& graph,
             std::vector<HostTensor>& tensors)
      : Arguments(node, graph), op_(op), tensors_(tensors) {}

  const OpFacts& op() const { return op_; }
  std::string_view base_name() const;  ///< "add" of aten.add.Tensor and of prim.add

  HostTensor& host(std::string_view name);
  HostTensor& host(ValueId id) { return tensors_[id]; }
  Array array(std::string_view name);  ///< elements as doubles
  Array array(ValueId id) { return {tensors_[id].sizes, tensors_[id].reals()}; }
  Array array_or(std::string_view name, double otherwise);  ///< a number or default: without dims
  Shape shape(std::string_view name) { return host(name).sizes; }

  std::vector<HostTensor>& results() { return results_; }
  HostTensor& result(std::size_t i = 0) { return results_[i]; }
  /// Result i takes the array's elements, broadcast to its sizes.
  void store(const Array& array, std::size_t i = 0);

  /// What the named operands promote to.
  DType promoted(std::initializer_list<std::string_view> names);

 private:
  const OpFacts& op_;
  std::vector<HostTensor>& tensors_;
  std::vector<HostTensor> results_;
  HostTensor none_ = HostTensor::contiguous(DType::float32, {0});  ///< stands in after an error
};

}  // namespace penstock::ops
