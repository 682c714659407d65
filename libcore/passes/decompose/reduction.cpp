// Reductions and scans. 16-bit floats are accumulated in float32 and rounded once.
#include <cmath>
#include <limits>

#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

/// A reduction's input and what its arguments say.
struct Reduction {
  ValueId x;
  std::vector<std::int64_t> dims;
  bool keep;
  DType dtype;  ///< of the result
};

/// The input converted to `dtype` (or what sums use) and to the dtype that is computed in.
Reduction reduction(Decomposition& d, bool sums) {
  ValueId self = d.value("self");
  if (d.failed()) return {};
  bool integral = !is_floating(d.dtype_of(self));
  DType dtype = d.dtype("dtype").value_or(sums && integral ? DType::int64 : d.dtype_of(self));
  ValueId x = d.convert(d.convert(self, dtype), ops::compute_dtype(dtype));
  bool scans = d.op().name.starts_with("aten.cum");
  std::vector<std::int64_t> dims = scans ? std::vector<std::int64_t>{} : d.dims("dim", d.rank(x));
  return {x, std::move(dims), d.boolean("keepdim", false), dtype};
}

SymExpr reduced_count(Decomposition& d, const Reduction& r) {
  return d.count(d.sizes(r.x), r.dims);
}

/// x / n for a count n, which may be symbolic.
ValueId divide_by(Decomposition& d, ValueId x, const SymExpr& n) {
  if (auto plain = n.constant())
    return d.binary("div", value_argument(x), static_cast<double>(*plain));
  return d.binary("div", value_argument(x), n);
}

}  // namespace

void sum(Decomposition& d) {
  Reduction r = reduction(d, true);
  if (!d.failed()) d.finish(d.reduce(d.detail(), r.x, r.dims, r.keep), r.dtype);
}

void mean(Decomposition& d) {
  Reduction r = reduction(d, false);
  if (d.failed()) return;
  d.finish(divide_by(d, d.reduce("sum", r.x, r.dims, r.keep), reduced_count(d, r)), r.dtype);
}

void extreme(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed()) return;
  std::vector<std::int64_t> dims = d.dims("dim", d.rank(self));
  ValueId result = d.reduce(d.detail(), self, dims, d.boolean("keepdim", false));
  d.result(dims.empty() ? d.unary("clone", self) : result);
}

ValueId index_of_extreme(Decomposition& d, std::string_view prim, ValueId x, std::int64_t dim,
                         bool keep) {
  if (d.failed()) return x;
  if (d.rank(x) == 0) return d.full({}, std::int64_t{0}, DType::int64);
  return d.reduce(prim, x, {dim}, keep);
}

void extreme_with_index(Decomposition& d) {
  ValueId self = d.value("self");
  std::int64_t dim = d.dim("dim", 0, d.failed() ? 1 : d.rank(self));
  if (d.failed()) return;
  bool keep = d.boolean("keepdim", false), scalar = d.rank(self) == 0;
  std::string prim(d.detail());
  d.result(scalar ? d.unary("clone", self) : d.reduce("a" + prim, self, {dim}, keep));
  d.result(index_of_extreme(d, "arg" + prim, self, dim, keep));
}

void arg_extreme(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed()) return;
  bool keep = d.boolean("keepdim", false);
  if (d.has("dim"))
    return d.result(index_of_extreme(d, d.detail(), self, d.dim("dim", 0, d.rank(self)), keep));
  ValueId flat = d.reshape(self, {element_count(d.sizes(self))});
  ValueId index = index_of_extreme(d, d.detail(), flat, 0, false);
  if (keep) index = d.reshape(index, std::vector<SymExpr>(d.rank(self), SymExpr(1)));
  d.result(index);
}

void truth(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed()) return;
  std::vector<std::int64_t> dims = d.dims("dim", d.rank(self));
  ValueId result = d.reduce(d.detail(), to_bool(d, self), dims, d.boolean("keepdim", false));
  if (d.dtype_of(self) == DType::uint8) result = d.convert(result, DType::uint8);
  d.result(result == self ? d.unary("clone", self) : result);
}

void count_nonzero(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed()) return;
  ValueId flags = d.convert(to_bool(d, self), DType::int64);
  d.result(d.reduce("sum", flags, d.dims("dim", d.rank(self)), false));
}

namespace {

/// max(count - correction, 0): a number, or the elements of a tensor like `like`.
Argument degrees_of_freedom(Decomposition& d, const SymExpr& count, double correction,
                            ValueId like) {
  if (auto plain = count.constant()) return std::max(static_cast<double>(*plain) - correction, 0.0);
  const auto whole = static_cast<std::int64_t>(correction);
  if (static_cast<double>(whole) == correction) return maximum(count - SymExpr(whole), 0);
  const ValueId counted = d.full({}, count, d.dtype_of(like));
  const ValueId rest = d.binary(
      "maximum", value_argument(d.binary("sub", value_argument(counted), correction)), 0.0);
  return value_argument(d.broadcast(rest, d.sizes(like)));
}

}  // namespace

void variance(Decomposition& d) {
  Reduction r = reduction(d, false);
  if (d.failed()) return;
  double correction = d.has("correction")           ? d.real("correction", 1)
                      : d.boolean("unbiased", true) ? 1
                                                    : 0;
  std::vector<SymExpr> sizes = ops::reduced_sizes(d.sizes(r.x), r.dims, r.keep);
  ValueId mean = r.x, squares = 0;
  if (r.dims.empty()) {
    squares = d.binary("sub", value_argument(r.x), value_argument(r.x));
  } else {
    std::vector<ValueId> both = d.emit_all(
        "prim.welford", {arg("self", value_argument(r.x)), arg("dims", list_of(r.dims))});
    if (d.failed()) return;
    mean = both[0];
    squares = both[1];
  }
  if (d.failed()) return;
  ValueId result = d.binary("div", value_argument(squares),
                            degrees_of_freedom(d, reduced_count(d, r), correction, squares));
  if (d.detail().starts_with("std")) result = d.unary("sqrt", result);
  d.finish(d.reshape(result, sizes), r.dtype);
  if (d.detail().ends_with("mean")) d.finish(d.reshape(mean, sizes), r.dtype);
}

ValueId norm_over(Decomposition& d, ValueId x, const std::vector<std::int64_t>& dims, bool keep,
                  double order) {
  // The derivative has a rule for what a root of 0 would make of it.
  if (d.before_derivatives()) {
    return d.emit("aten.linalg_vector_norm.default",
                  {arg("self", value_argument(x)), arg("ord", order), arg("dim", list_of(dims)),
                   arg("keepdim", keep)});
  }
  auto sum = [&](ValueId terms) { return d.reduce("sum", terms, dims, keep); };
  if (order == 2)
    return d.unary("sqrt", sum(d.binary("mul", value_argument(x), value_argument(x))));
  const ValueId size = d.unary("abs", x);
  if (std::isinf(order)) return d.reduce(order > 0 ? "amax" : "amin", size, dims, keep);
  if (order == 1) return sum(size);
  if (order == 0) return sum(d.convert(d.binary("ne", value_argument(x), 0.0), d.dtype_of(x)));
  return d.binary("pow", value_argument(sum(d.binary("pow", value_argument(size), order))),
                  1 / order);
}

void vector_norm(Decomposition& d) {
  Reduction r = reduction(d, false);
  double order = d.real(d.has("ord") ? "ord" : "p", 2);
  if (!d.failed()) d.finish(norm_over(d, r.x, r.dims, r.keep, order), r.dtype);
}

void logsumexp(Decomposition& d) {
  Reduction r = reduction(d, false);
  if (d.failed()) return;
  if (!is_floating(r.dtype)) {
    r.dtype = ops::kDefaultDType;
    r.x = d.convert(r.x, r.dtype);
  }
  ValueId top = d.without_gradient(d.reduce("amax", r.x, r.dims, true));
  // inf - inf would be NaN: an infinite maximum is left out of the exponent.
  ValueId shift = d.where(d.unary("isfinite", top), value_argument(top), 0.0);
  ValueId terms = d.unary("exp", d.binary_broadcast("sub", r.x, shift));
  ValueId total = d.unary("log", d.reduce("sum", terms, r.dims, true));
  ValueId result = d.binary("add", value_argument(total), value_argument(shift));
  d.finish(r.keep ? result : d.reshape(result, ops::reduced_sizes(d.sizes(r.x), r.dims, false)),
           r.dtype);
}

void scan(Decomposition& d) {
  Reduction r = reduction(d, true);
  std::int64_t dim = d.failed() ? 0 : d.dim("dim", 0, d.rank(r.x));
  if (d.failed()) return;
  if (d.rank(r.x) == 0) return d.finish(d.unary("clone", r.x), r.dtype);
  // One element after the other: torch's kernels for GPUs do it otherwise.
  if (d.type(r.x).device != "cpu") return d.keep();
  d.finish(d.emit("prim." + std::string(d.detail()),
                  {arg("self", value_argument(r.x)), arg("dim", dim)}),
           r.dtype);
}

}  // namespace penstock::passes
