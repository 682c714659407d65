// Reductions and scans. Results are contiguous, as torch allocates them.
#include "ops/promotion.h"
#include "ops/rules/rules.h"

namespace penstock::ops::rules {

namespace {

std::vector<SymExpr> result_sizes(Inference& in, const TensorType& self) {
  std::vector<std::int64_t> dims = in.dims("dim", self.rank());
  return reduced_sizes(self.sizes, dims, in.boolean("keepdim", false));
}

/// An extreme of no elements does not exist.
void require_elements(Inference& in, const TensorType& self) {
  for (std::int64_t dim : in.dims("dim", self.rank())) {
    if (!self.sizes.empty() && self.sizes[dim] == SymExpr(0))
      return in.fail("reduces a dim of size 0");
  }
}

}  // namespace

void sum(Inference& in) {
  const TensorType& self = in.tensor("self");
  bool integral = is_integral(self.dtype) || is_boolean(self.dtype);
  DType dtype = in.dtype("dtype").value_or(integral ? DType::int64 : self.dtype);
  std::vector<SymExpr> sizes = result_sizes(in, self);
  if (!in.failed()) in.add(dtype, std::move(sizes), self);
}

void mean(Inference& in) {
  const TensorType& self = in.tensor("self");
  DType dtype = in.dtype("dtype").value_or(self.dtype);
  std::vector<SymExpr> sizes = result_sizes(in, self);
  if (is_integral(dtype) || is_boolean(dtype)) in.fail("mean needs a floating dtype");
  if (!in.failed()) in.add(dtype, std::move(sizes), self);
}

void extreme(Inference& in) {
  const TensorType& self = in.tensor("self");
  bool sums = in.op().id == OpId::logsumexp_default;
  if (!sums) require_elements(in, self);
  std::vector<SymExpr> sizes = result_sizes(in, self);
  bool to_float = sums && !is_floating(self.dtype) && !is_complex(self.dtype);
  if (!in.failed()) in.add(to_float ? kDefaultDType : self.dtype, std::move(sizes), self);
}

void extreme_index(Inference& in) {
  const TensorType& self = in.tensor("self");
  require_elements(in, self);
  std::vector<SymExpr> sizes = result_sizes(in, self);
  if (in.failed()) return;
  in.add(self.dtype, sizes, self);
  in.add(DType::int64, std::move(sizes), self);
}

void arg_extreme(Inference& in) {
  const TensorType& self = in.tensor("self");
  require_elements(in, self);
  std::vector<SymExpr> sizes = result_sizes(in, self);
  if (!in.failed()) in.add(DType::int64, std::move(sizes), self);
}

void truth(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::vector<SymExpr> sizes = result_sizes(in, self);
  // uint8 stood for bool once; torch keeps its dtype here.
  DType dtype = self.dtype == DType::uint8 ? DType::uint8 : DType::bool_;
  if (!in.failed()) in.add(dtype, std::move(sizes), self);
}

void variance(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::vector<SymExpr> sizes = result_sizes(in, self);
  if (!is_floating(self.dtype) && !is_complex(self.dtype))
    in.fail("variance needs a floating dtype");
  if (in.failed()) return;
  in.add(real_dtype(self.dtype), sizes, self);
  if (in.op().name.find("_mean.") != std::string_view::npos)
    in.add(self.dtype, std::move(sizes), self);
}

void vector_norm(Inference& in) {
  const TensorType& self = in.tensor("self");
  DType dtype = in.dtype("dtype").value_or(self.dtype);
  std::vector<SymExpr> sizes = result_sizes(in, self);
  if (!is_floating(dtype) && !is_complex(dtype)) in.fail("a norm needs a floating dtype");
  if (!in.failed()) in.add(real_dtype(dtype), std::move(sizes), self);
}

void count_nonzero(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::vector<SymExpr> sizes = result_sizes(in, self);
  if (!in.failed()) in.add(DType::int64, std::move(sizes), self);
}

void scan(Inference& in) {
  const TensorType& self = in.tensor("self");
  in.dim("dim", 0, self.rank());
  bool integral = is_integral(self.dtype) || is_boolean(self.dtype);
  DType dtype = in.dtype("dtype").value_or(integral ? DType::int64 : self.dtype);
  if (!in.failed()) in.add(dtype, self.sizes, self);
}

}  // namespace penstock::ops::rules
