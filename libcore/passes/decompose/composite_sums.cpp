// Sums, products and losses that are formulas of others.
#include <cmath>
#include <numbers>

#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

/// What floats are added up in, and what of integers.
DType summed(DType dtype) {
  return is_floating(dtype) ? ops::compute_dtype(dtype) : DType::int64;
}

}  // namespace

void trace(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed() || d.rank(self) != 2) return d.keep();
  const auto rows = d.sizes(self)[0].constant(), columns = d.sizes(self)[1].constant();
  if (!rows || !columns || *rows > *columns) return d.keep();
  const DType dtype = d.dtype_of(self), compute = summed(dtype);
  const ValueId line = d.convert(main_diagonal(d, self, 0, 1), compute);
  d.finish(d.reduce("sum", line, {0}, false), is_floating(dtype) ? dtype : DType::int64);
}

/// Sums and means that leave NaN out.
void nan_reduction(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed() || d.has("dtype") || !is_floating(d.dtype_of(self))) return d.keep();
  const DType dtype = d.dtype_of(self), compute = ops::compute_dtype(dtype);
  const std::vector<std::int64_t> dims = d.dims("dim", d.rank(self));
  const bool keep = d.boolean("keepdim", false);
  if (d.failed()) return;
  const ValueId x = d.convert(self, compute), lacks = d.unary("isnan", x);
  ValueId result = d.reduce("sum", d.where(lacks, 0.0, value(x)), dims, keep);
  if (d.detail() == "mean") {
    const ValueId counted = d.convert(d.unary("not", lacks), compute);
    result = with(d, "div", result, value(d.reduce("sum", counted, dims, keep)));
  }
  d.finish(result, dtype);
}

void vector_dot(Decomposition& d) {
  const ValueId x = d.value("x"), y = d.value("y");
  if (d.failed() || !is_floating(d.dtype_of(x)) || d.dtype_of(x) != d.dtype_of(y)) return d.keep();
  const TensorType left = d.type(x), right = d.type(y);
  const TensorType* both[] = {&left, &right};
  const std::vector<SymExpr> sizes = broadcast_sizes(d, both);
  const std::int64_t dim = d.dim("dim", -1, sizes.size());
  const DType dtype = left.dtype, compute = ops::compute_dtype(dtype);
  if (d.failed() || sizes.empty()) return d.keep();
  const ValueId a = d.broadcast(d.convert(x, compute), sizes),
                b = d.broadcast(d.convert(y, compute), sizes);
  d.finish(d.reduce("sum", with(d, "mul", a, value(b)), {dim}, false), dtype);
}

/// Every element of the first by the whole of the second.
void kron(Decomposition& d) {
  const ValueId a = d.value("self"), b = d.value("other");
  if (d.failed()) return;
  std::vector<SymExpr> left = d.sizes(a), right = d.sizes(b), spread_left, spread_right, both,
                       result;
  const std::size_t rank = std::max(left.size(), right.size());
  left.insert(left.begin(), rank - left.size(), SymExpr(1));
  right.insert(right.begin(), rank - right.size(), SymExpr(1));
  for (std::size_t i = 0; i < rank; ++i) {
    spread_left.insert(spread_left.end(), {left[i], SymExpr(1)});
    spread_right.insert(spread_right.end(), {SymExpr(1), right[i]});
    both.insert(both.end(), {left[i], right[i]});
    result.push_back(left[i] * right[i]);
  }
  const DType dtype = ops::promote(d.dtype_of(a), d.dtype_of(b)),
              compute = ops::compute_dtype(dtype);
  const ValueId x = d.broadcast(d.reshape(d.convert(a, compute), spread_left), both);
  const ValueId y = d.broadcast(d.reshape(d.convert(b, compute), spread_right), both);
  const ValueId product = with(d, is_boolean(compute) ? "and" : "mul", x, value(y));
  d.finish(d.reshape(product, result), dtype);
}

/// target (log(target) - input), with 0 log 0 = 0; of logarithms exp(target) (target - input).
void divergence(Decomposition& d) {
  const Operands x = d.operands({"self", "target"}, Promotion::same);
  if (d.failed() || !is_floating(x.promoted)) return d.keep();
  const ValueId input = d.materialize(x.terms[0], x), target = d.materialize(x.terms[1], x);
  ValueId losses = kNoValue;
  if (d.boolean("log_target", false)) {
    losses = with(d, "mul", d.unary("exp", target), value(with(d, "sub", target, value(input))));
  } else {
    const ValueId product = with(d, "mul", target, value(d.unary("log", target)));
    const ValueId entropy = d.where(with(d, "eq", target, 0.0), 0.0, value(product));
    losses = with(d, "sub", entropy, value(with(d, "mul", target, value(input))));
  }
  finish_reduced(d, losses, x.promoted);
}

void margin_loss(Decomposition& d) {
  if (d.detail() == "soft") {
    const Operands x = d.operands({"self", "target"}, Promotion::same);
    if (d.failed() || !is_floating(x.promoted)) return d.keep();
    const ValueId product = with(d, "mul", d.materialize(x.terms[0], x), x.terms[1]);
    return finish_reduced(d, d.unary("log1p", d.unary("exp", d.unary("neg", product))), x.promoted);
  }
  if (d.detail() == "ranking") {
    const Operands x = d.operands({"input1", "input2", "target"}, Promotion::same);
    const Argument margin = d.real_or_input("margin", 0);
    if (d.failed() || !is_floating(x.promoted)) return d.keep();
    const ValueId gap = with(d, "sub", d.materialize(x.terms[0], x), x.terms[1]);
    const ValueId product =
        with(d, "mul", d.unary("neg", d.materialize(x.terms[2], x)), value(gap));
    return finish_reduced(d, at_least_zero(d, with(d, "add", product, d.beside(product, margin))),
                          x.promoted);
  }
  const Operands x = d.operands({"self", "target"}, Promotion::same);
  const Argument margin = d.real_or_input("margin", 1);
  if (d.failed() || !is_floating(x.promoted)) return d.keep();
  const ValueId input = d.materialize(x.terms[0], x), target = d.materialize(x.terms[1], x);
  const ValueId away = at_least_zero(d, d.binary("sub", d.beside(input, margin), value(input)));
  const ValueId near = d.where(with(d, "eq", target, 1.0), 0.0, value(away));
  const ValueId own = d.where(with(d, "eq", target, -1.0), 0.0, value(input));
  finish_reduced(d, with(d, "add", near, value(own)), x.promoted);
}

void poisson_loss(Decomposition& d) {
  const Operands x = d.operands({"input", "target"}, Promotion::same);
  const Argument eps = d.real_or_input("eps", 1e-8);
  if (d.failed() || !is_floating(x.promoted)) return d.keep();
  const ValueId input = d.materialize(x.terms[0], x), target = d.materialize(x.terms[1], x);
  const bool logs = d.boolean("log_input", true);
  const ValueId rate = logs ? d.unary("exp", input) : input;
  const ValueId log_rate =
      logs ? input : d.unary("log", with(d, "add", input, d.beside(input, eps)));
  ValueId losses = with(d, "sub", rate, value(with(d, "mul", target, value(log_rate))));
  if (d.boolean("full", false)) {
    // Stirling's formula for the logarithm of the factorial, for targets above 1.
    const ValueId leading =
        with(d, "sub", with(d, "mul", target, value(d.unary("log", target))), value(target));
    const ValueId root =
        with(d, "mul", d.unary("log", with(d, "mul", target, 2 * std::numbers::pi)), 0.5);
    const ValueId term = with(d, "add", leading, value(root));
    losses = with(d, "add", losses, value(d.where(with(d, "le", target, 1.0), 0.0, value(term))));
  }
  finish_reduced(d, losses, x.promoted);
}

}  // namespace penstock::passes
