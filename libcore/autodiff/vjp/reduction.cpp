// Derivatives of reductions.
#include <cmath>

#include "autodiff/vjp.h"

namespace penstock::autodiff {

namespace {

/// What a reduction prim, which drops its dims, reads: its input, and its tangent and result spread
/// over the input's shape.
struct Reduced {
  ValueId x, g, y;
  std::vector<std::int64_t> dims;
};

Reduced reduced(Vjp& d) {
  const ValueId x = d.value("self");
  Reduced r{x, d.tangent(), d.output(), d.constants("dims")};
  if (d.failed()) return r;
  const std::vector<SymExpr> sizes = d.sizes(x);
  r.x = d.wide(x);
  r.g = d.spread(d.wide(r.g), sizes, r.dims);
  r.y = d.spread(d.wide(r.y), sizes, r.dims);
  return r;
}

/// How many elements of some dims are true, spread over the shape.
ValueId count_of(Vjp& d, ValueId flags, DType dtype, const std::vector<std::int64_t>& dims) {
  const ValueId counted = d.reduce("sum", d.convert(flags, dtype), dims, true);
  return d.failed() ? counted : d.broadcast(counted, d.sizes(flags));
}

/// count - less as a divisor.
Argument as_real(Vjp& d, const SymExpr& count, double less) {
  if (auto plain = count.constant()) return static_cast<double>(*plain) - less;
  const auto whole = static_cast<std::int64_t>(less);
  if (static_cast<double>(whole) != less) d.fail("a fraction is taken off a count that changes");
  return count - SymExpr(whole);
}

}  // namespace

void sum_of(Vjp& d) {
  const ValueId x = d.value("self");
  d.give("self", d.spread(d.tangent(), d.sizes(x), d.constants("dims")));
}

/// Without a division by zero: where the group holds one zero, only that has a gradient, the
/// product of the others.
void product_of(Vjp& d) {
  const Reduced r = reduced(d);
  if (d.failed()) return;
  const ValueId is_zero = d.compare("eq", r.x, 0.0);
  const ValueId zeros = count_of(d, is_zero, d.dtype_of(r.x), r.dims);
  const ValueId others = d.reduce("prod", d.select(is_zero, 1.0, r.x), r.dims, true);
  if (d.failed()) return;
  const ValueId rest = d.broadcast(others, d.sizes(r.x));
  const ValueId at_zero = d.select(d.compare("eq", zeros, 1.0), d.mul(r.g, rest), 0.0);
  const ValueId elsewhere = d.select(d.compare("eq", zeros, 0.0), d.div(d.mul(r.g, r.y), r.x), 0.0);
  d.give("self", d.select(is_zero, at_zero, elsewhere));
}

void extreme_of(Vjp& d) {
  const Reduced r = reduced(d);
  if (d.failed()) return;
  const ValueId extreme = d.compare("eq", r.x, r.y);
  const ValueId count = count_of(d, extreme, d.dtype_of(r.x), r.dims);
  d.give("self", d.div(d.select(extreme, r.g, 0.0), count));
}

/// max() and min(): of a NaN all NaN are extreme.
void extreme_of_all(Vjp& d) {
  const ValueId x = d.wide(d.value("self"));
  if (d.failed()) return;
  std::vector<std::int64_t> dims;
  for (std::size_t dim = 0; dim < d.rank(x); ++dim) dims.push_back(static_cast<std::int64_t>(dim));
  const std::vector<SymExpr> sizes = d.sizes(x);
  const ValueId y = d.spread(d.wide(d.output()), sizes, dims);
  const ValueId both_nan = d.both("and", d.unary("isnan", x), d.unary("isnan", y));
  const ValueId extreme = d.both("or", d.compare("eq", x, y), both_nan);
  if (d.failed()) return;
  const ValueId share =
      d.div(d.spread(d.wide(d.tangent()), sizes, dims), count_of(d, extreme, d.dtype_of(x), dims));
  d.give("self", d.select(extreme, share, 0.0));
}

/// welford's mean and sum of squared deviations.
void moments(Vjp& d) {
  const ValueId x = d.value("self");
  const std::vector<std::int64_t> dims = d.constants("dims");
  if (d.failed()) return;
  const std::vector<SymExpr> sizes = d.sizes(x);
  ValueId gradient = kNoValue;
  if (d.has_tangent(0)) {
    const ValueId share = d.div(d.tangent(0), as_real(d, d.count(sizes, dims), 0));
    gradient = d.spread(share, sizes, dims);
  }
  if (d.has_tangent(1)) {
    const ValueId centred = d.sub(x, d.spread(d.output(0), sizes, dims));
    const ValueId bent = d.mul(d.mul(centred, 2.0), d.spread(d.tangent(1), sizes, dims));
    gradient = gradient == kNoValue ? bent : d.add(gradient, bent);
  }
  d.give("self", gradient);
}

namespace {

ValueId scanned(Vjp& d, std::string_view prim, ValueId x, std::int64_t dim) {
  return d.emit(prim, {passes::arg("self", passes::value_argument(x)), passes::arg("dim", dim)});
}

/// Of every element and those behind it the sum.
ValueId sums_from_behind(Vjp& d, ValueId x, std::int64_t dim) {
  const auto flip = [&](ValueId of) {
    return d.emit("prim.flip",
                  {passes::arg("self", passes::value_argument(of)),
                   passes::arg("dims", passes::list_of(std::vector<std::int64_t>{dim}))});
  };
  return flip(scanned(d, "prim.cumsum", flip(x), dim));
}

}  // namespace

void running_sum(Vjp& d) {
  const auto dim = d.constant("dim", 0);
  d.give("self", sums_from_behind(d, d.wide(d.tangent()), dim));
}

/// Products up to each element. Those in front of the first zero have a part in all products up to
/// there, which are divided by them; that zero has one in those up to the next zero, which are
/// multiplied without it; nothing behind it has any.
void running_product(Vjp& d) {
  const auto dim = d.constant("dim", 0);
  const ValueId self = d.value("self"), x = d.wide(self), g = d.wide(d.tangent()),
                y = d.wide(d.output());
  if (d.failed()) return;
  const ValueId is_zero = d.compare("eq", x, 0.0);
  const ValueId zeros = scanned(d, "prim.cumsum", d.convert(is_zero, DType::int64), dim);
  if (d.failed()) return;
  const auto are_zeros = [&](std::int64_t count) {
    return d.compare("eq", zeros, Argument(count));
  };
  const ValueId before = are_zeros(0), up_to_next = are_zeros(1);
  const ValueId is_first = d.both("and", up_to_next, is_zero);
  const ValueId shares = sums_from_behind(d, d.select(before, d.mul(g, y), 0.0), dim);
  const ValueId others = scanned(d, "prim.cumprod", d.select(is_first, 1.0, x), dim);
  const ValueId of_zero = d.select(up_to_next, d.mul(g, others), 0.0);
  const ValueId sum = d.reduce("sum", of_zero, {dim}, true);
  if (d.failed()) return;
  const ValueId behind = d.select(is_first, d.broadcast(sum, d.sizes(x)), 0.0);
  d.give("self", d.select(before, d.div(shares, x), behind));
}

/// A variance, or a standard deviation, whose slope at 0 is none, and maybe a mean beside it.
void deviation(Vjp& d) {
  const ValueId self = d.value("self"), x = d.wide(self);
  if (d.failed()) return;
  const std::vector<std::int64_t> dims = d.dims("dim", d.rank(x));
  const bool keeps = d.boolean("keepdim", false);
  const double correction = d.has("correction")           ? d.real("correction", 1)
                            : d.boolean("unbiased", true) ? 1
                                                          : 0;
  const std::vector<SymExpr> sizes = d.sizes(x);
  const SymExpr count = d.count(sizes, dims);
  ValueId gradient = kNoValue;
  if (d.has_tangent(0)) {
    const ValueId y = d.wide(d.output()), g = d.wide(d.tangent());
    const ValueId slope = d.detail() == "variance"
                              ? g
                              : d.select(d.compare("eq", y, 0.0), 0.0, d.div(g, d.mul(y, 2.0)));
    const ValueId mean = d.div(d.reduce("sum", x, dims, true), as_real(d, count, 0));
    const ValueId centred = d.sub(x, d.broadcast(mean, sizes));
    const ValueId scaled = d.div(d.mul(slope, 2.0), as_real(d, count, correction));
    gradient = d.mul(d.spread_back(scaled, sizes, dims, keeps), centred);
  }
  if (d.node().results.size() > 1 && d.has_tangent(1)) {
    const ValueId share = d.div(d.wide(d.tangent(1)), as_real(d, count, 0));
    const ValueId even = d.spread_back(share, sizes, dims, keeps);
    gradient = gradient == kNoValue ? even : d.add(gradient, even);
  }
  d.give("self", gradient);
}

/// softmax and its logarithm, of what they gave.
void shares(Vjp& d) {
  const ValueId y = d.wide(d.output()), g = d.wide(d.tangent());
  if (d.failed()) return;
  const bool logarithm = d.detail() == "log", row = d.rank(y) > 0;
  const std::int64_t dim = row ? d.dim("dim", -1, d.rank(y)) : 0;
  const auto total = [&](ValueId x) {
    return row ? d.broadcast(d.reduce("sum", x, {dim}, true), d.sizes(y)) : x;
  };
  const ValueId share = logarithm ? d.unary("exp", y) : y;
  const ValueId gradient =
      logarithm ? d.sub(g, d.mul(share, total(g))) : d.mul(d.sub(g, total(d.mul(g, y))), y);
  d.give("self", gradient);
}

void exponents(Vjp& d) {
  const ValueId x = d.value("self");
  if (d.failed()) return;
  const std::vector<std::int64_t> dims = d.dims("dim", d.rank(x));
  const std::vector<SymExpr> sizes = d.sizes(x);
  const bool keeps = d.boolean("keepdim", false);
  const DType compute = ops::compute_dtype(d.dtype_of(d.output()));
  const auto like_x = [&](ValueId id) {
    return d.spread_back(d.convert(id, compute), sizes, dims, keeps);
  };
  const ValueId share = d.unary("exp", d.sub(d.convert(x, compute), like_x(d.output())));
  d.give("self", d.mul(like_x(d.tangent()), share));
}

namespace {

/// What a norm's rule reads, all of the input's shape.
struct Norm {
  ValueId x, g, y, size;  ///< size: |x|
  std::vector<std::int64_t> dims;
};

/// The gradient of a norm of an order that is no special one.
ValueId norm_slope(Vjp& d, const Norm& n, double order) {
  const ValueId sign = d.unary("sign", n.x), none = d.compare("eq", n.y, 0.0);
  if (order < 1) {
    const ValueId steep = d.binary("pow", passes::value_argument(n.size), order - 1);
    const ValueId own = d.select(d.compare("eq", n.x, 0.0), 0.0, d.mul(sign, steep));
    const ValueId scale = d.binary("pow", passes::value_argument(n.y), 1 - order);
    return d.mul(d.mul(own, n.g), scale);
  }
  const ValueId scale = d.div(n.g, d.binary("pow", passes::value_argument(n.y), order - 1));
  const ValueId bounded = d.select(none, 0.0, scale);
  if (order < 2)
    return d.mul(d.mul(sign, d.binary("pow", passes::value_argument(n.size), order - 1)), bounded);
  return d.mul(d.mul(n.x, d.binary("pow", passes::value_argument(n.size), order - 2)), bounded);
}

/// The gradient of x, whose norm of that order, not 0, over some dims the node's result is.
ValueId gradient_of_norm(Vjp& d, ValueId x, double order, const std::vector<std::int64_t>& dims) {
  const std::vector<SymExpr> sizes = d.sizes(x);
  const DType compute = ops::compute_dtype(d.dtype_of(d.output()));
  const bool keeps = d.boolean("keepdim", false);
  const auto like_x = [&](ValueId id) {
    return d.spread_back(d.convert(id, compute), sizes, dims, keeps);
  };
  Norm n{d.convert(x, compute), like_x(d.tangent()), like_x(d.output()), kNoValue, dims};
  n.size = d.unary("abs", n.x);
  if (d.failed()) return n.x;
  if (order == 1) return d.mul(d.unary("sign", n.x), n.g);
  if (order == 2) return d.mul(n.g, d.select(d.compare("eq", n.y, 0.0), 0.0, d.div(n.x, n.y)));
  if (!std::isinf(order)) return norm_slope(d, n, order);
  const ValueId extreme = d.both("or", d.compare("eq", n.size, n.y), d.unary("isnan", n.size));
  const ValueId share = d.div(n.g, count_of(d, extreme, compute, dims));
  return d.mul(d.unary("sign", n.x), d.mul(share, d.convert(extreme, compute)));
}

}  // namespace

void norm_of(Vjp& d) {
  const double order = d.real(d.has("ord") ? "ord" : "p", 2);
  const ValueId x = d.value("self");
  if (d.failed()) return;
  if (order == 0) return d.give_none();
  d.give("self", gradient_of_norm(d, x, order, d.dims("dim", d.rank(x))));
}

/// The norm of a difference.
void distance_of(Vjp& d) {
  const double order = d.real("p", 2);
  const passes::Operands of = d.operands({"self", "other"}, passes::Promotion::same);
  if (order == 0) return d.fail("its order is 0");
  if (d.failed()) return;
  const ValueId gap = d.sub(d.materialize(of.terms[0], of), of.terms[1]);
  if (d.failed()) return;
  const ValueId gradient = gradient_of_norm(d, gap, order, d.dims("dim", d.rank(gap)));
  d.give("self", gradient);
  if (d.needs("other")) d.give("other", d.unary("neg", gradient));
}

}  // namespace penstock::autodiff
