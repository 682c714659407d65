#include <algorithm>

#include "fusion/kernel_builder.h"

namespace penstock::fusion {

namespace {

/// Half types are summed in float32.
DType accumulation_type(std::string_view op, DType dtype) {
  bool adds = op == "sum" || op == "prod" || op == "welford";
  bool half = dtype == DType::float16 || dtype == DType::bfloat16;
  return adds && half ? DType::float32 : dtype;
}

/// Dims that go; all of them when the list is empty and the result has none.
std::vector<std::int64_t> reduced_dims(const Node& node, std::size_t rank, std::size_t kept) {
  std::vector<std::int64_t> dims = integer_list(node, "dims");
  if (dims.empty() && kept == 0) {
    for (std::size_t i = 0; i < rank; ++i) dims.push_back(static_cast<std::int64_t>(i));
  }
  std::sort(dims.begin(), dims.end());
  return dims;
}

}  // namespace

/// Loops over the reduced dims one inside the other, which schedule merges where memory allows. A
/// position and a running mean cannot be combined from those of parts: their loop runs over all
/// reduced elements at once.
ScalarId lower_reduce(KernelBuilder& builder, const Node& node, std::size_t result,
                      const Index& index) {
  std::string_view op = std::string_view(node.op).substr(5);
  ValueId self = operand_value(node, "self");
  const TensorType& type = builder.plan().type(self);
  const TensorType& result_type = builder.plan().type(node.results[result]);
  std::vector<std::int64_t> dims = reduced_dims(node, type.rank(), result_type.rank());
  Sizes extents;
  for (std::int64_t dim : dims) extents.push_back(type.sizes[dim]);
  bool positional = op == "argmax" || op == "argmin";
  bool flat = (positional || op == "welford") && extents.size() > 1;
  DType accumulated = accumulation_type(op, type.dtype);

  Sizes loops = flat ? Sizes{element_count(extents)} : extents;
  if (loops.empty()) loops.push_back(1);
  auto body = [&](const Index& variables) {
    Index inner = flat ? delinearise(variables.front(), extents, builder.facts()) : variables;
    Index full(type.rank(), SymExpr(0));
    std::size_t kept = 0, gone = 0;
    for (std::size_t i = 0; i < full.size(); ++i) {
      bool reduced = std::binary_search(dims.begin(), dims.end(), static_cast<std::int64_t>(i));
      full[i] = reduced ? inner[gone++] : index[kept++];
    }
    ScalarId value = builder.element(self, full);
    return accumulated == type.dtype ? value : builder.emit("convert", accumulated, {value});
  };
  std::vector<ScalarId> results = builder.reduce(op, positional ? type.dtype : accumulated,
                                                 node.results.front(), loops, index, body);
  ScalarId scalar = results[result];
  return positional || accumulated == result_type.dtype
             ? scalar
             : builder.emit("convert", result_type.dtype, {scalar});
}

}  // namespace penstock::fusion
