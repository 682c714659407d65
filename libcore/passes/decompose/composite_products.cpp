// Matrix products and what is made of them.
#include <algorithm>
#include <array>

#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

ValueId mm(Decomposition& d, ValueId a, ValueId b) {
  return d.apply("aten.mm.default", {arg("self", value(a)), arg("mat2", value(b))});
}

ValueId matmul_of(Decomposition& d, ValueId a, ValueId b) {
  return d.apply("aten.matmul.default", {arg("self", value(a)), arg("other", value(b))});
}

ValueId transposed(Decomposition& d, ValueId x) {
  return d.apply("aten.t.default", {arg("self", value(x))});
}

/// The plain integers of sizes; empty when one is symbolic.
std::vector<std::int64_t> constants_of(const std::vector<SymExpr>& sizes) {
  std::vector<std::int64_t> plain;
  for (const SymExpr& size : sizes) {
    const auto constant = size.constant();
    if (!constant) return {};
    plain.push_back(*constant);
  }
  return plain;
}

}  // namespace

/// Dims that are contracted become the columns of one matrix and the rows of another.
void tensor_dot(Decomposition& d) {
  ValueId a = d.value("self"), b = d.value("other");
  std::vector<std::int64_t> left = d.constants("dims_self"), right = d.constants("dims_other");
  if (d.failed() || left.size() != right.size() || d.dtype_of(a) != d.dtype_of(b)) return d.keep();
  for (std::int64_t& dim : left) dim = d.wrap_dim(dim, d.rank(a));
  for (std::int64_t& dim : right) dim = d.wrap_dim(dim, d.rank(b));
  if (d.failed() || (d.rank(a) == 0 && !left.empty()) || (d.rank(b) == 0 && !left.empty()))
    return d.keep();
  const auto summed = [&](ValueId x, std::int64_t dim) {
    return d.apply("aten.sum.dim_IntList",
                   {arg("self", value(x)), arg("dim", list_of(std::vector<std::int64_t>{dim})),
                    arg("keepdim", true), arg("dtype", d.dtype_of(x))});
  };
  SymExpr inner = 1;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const SymExpr one = d.sizes(a)[left[i]], other = d.sizes(b)[right[i]];
    // A dim of one element meets all of the other's.
    if (one == other)
      inner *= one;
    else if (one == SymExpr(1))
      b = summed(b, right[i]);
    else if (other == SymExpr(1))
      a = summed(a, left[i]);
    else
      return d.keep();
    if (d.failed()) return;
  }
  std::vector<std::int64_t> order_a, order_b = right;
  std::vector<SymExpr> result;
  SymExpr rows = 1, columns = 1;
  for (std::int64_t dim = 0; dim < static_cast<std::int64_t>(d.rank(a)); ++dim) {
    if (std::ranges::find(left, dim) != left.end()) continue;
    order_a.push_back(dim);
    rows *= d.sizes(a)[dim];
    result.push_back(d.sizes(a)[dim]);
  }
  order_a.insert(order_a.end(), left.begin(), left.end());
  for (std::int64_t dim = 0; dim < static_cast<std::int64_t>(d.rank(b)); ++dim) {
    if (std::ranges::find(right, dim) != right.end()) continue;
    order_b.push_back(dim);
    columns *= d.sizes(b)[dim];
    result.push_back(d.sizes(b)[dim]);
  }
  const ValueId product = mm(d, d.reshape(d.permute(a, order_a), {rows, inner}),
                             d.reshape(d.permute(b, order_b), {inner, columns}));
  d.result(d.reshape(product, result));
}

namespace {

/// Where a product of the matrices first..last is cut in two, by [first][last]: the cheapest, the
/// leftmost of equal ones.
std::vector<std::vector<std::size_t>> cheapest_cuts(const std::vector<std::int64_t>& sides) {
  const std::size_t count = sides.size() - 1;
  std::vector<std::vector<double>> costs(count, std::vector<double>(count, 0));
  std::vector<std::vector<std::size_t>> cuts(count, std::vector<std::size_t>(count, 0));
  for (std::size_t span = 1; span < count; ++span) {
    for (std::size_t first = 0; first + span < count; ++first) {
      const std::size_t last = first + span;
      for (std::size_t cut = first; cut < last; ++cut) {
        const double own = static_cast<double>(sides[first]) * static_cast<double>(sides[cut + 1]) *
                           static_cast<double>(sides[last + 1]);
        const double cost = costs[first][cut] + costs[cut + 1][last] + own;
        if (cut > first && cost >= costs[first][last]) continue;
        costs[first][last] = cost;
        cuts[first][last] = cut;
      }
    }
  }
  // Of three torch multiplies the first two where both ways cost the same.
  if (count == 3) {
    const auto cost = [&](std::size_t a, std::size_t b, std::size_t c) {
      return sides[a] * sides[b] * sides[c];
    };
    cuts[0][2] = cost(0, 1, 2) + cost(0, 2, 3) > cost(1, 2, 3) + cost(0, 1, 3) ? 0 : 1;
  }
  return cuts;
}

ValueId product_of(Decomposition& d, const std::vector<ValueId>& matrices,
                   const std::vector<std::vector<std::size_t>>& cuts, std::size_t first,
                   std::size_t last) {
  if (first == last) return matrices[first];
  const std::size_t cut = cuts[first][last];
  const ValueId left = product_of(d, matrices, cuts, first, cut);
  return mm(d, left, product_of(d, matrices, cuts, cut + 1, last));
}

}  // namespace

/// A vector in front is a row, one at the end a column.
void chain_of_products(Decomposition& d) {
  constexpr std::size_t kMost = 32;
  std::vector<ValueId> matrices = d.values(d.has("matrices") ? "matrices" : "tensors");
  if (d.failed() || matrices.size() < 2 || matrices.size() > kMost) return d.keep();
  const bool row = d.rank(matrices.front()) == 1, column = d.rank(matrices.back()) == 1;
  if (row)
    matrices.front() = d.reshape(matrices.front(), {SymExpr(1), d.sizes(matrices.front())[0]});
  if (column)
    matrices.back() = d.reshape(matrices.back(), {d.sizes(matrices.back())[0], SymExpr(1)});
  std::vector<SymExpr> sides;
  for (ValueId id : matrices) {
    if (d.failed() || d.rank(id) != 2) return d.keep();
    sides.push_back(d.sizes(id)[0]);
  }
  sides.push_back(d.sizes(matrices.back())[1]);
  const std::vector<std::int64_t> plain = constants_of(sides);
  if (plain.empty()) return d.keep();
  std::vector<SymExpr> result;
  if (!row) result.push_back(sides.front());
  if (!column) result.push_back(sides.back());
  d.result(
      d.reshape(product_of(d, matrices, cheapest_cuts(plain), 0, matrices.size() - 1), result));
}

/// By squares, as torch multiplies.
void matrix_power_of(Decomposition& d) {
  const ValueId self = d.value("self");
  std::int64_t n = d.constant("n", 0);
  if (d.failed() || d.rank(self) < 2 || n < 0) return d.keep();
  if (n == 1) return d.result(d.unary("clone", self));
  if (n == 0) {
    const std::vector<SymExpr> sizes = d.sizes(self), square(sizes.end() - 2, sizes.end());
    const ValueId row = d.broadcast(d.iota(square[0]), square, {0}),
                  column = d.broadcast(d.iota(square[1]), square, {1});
    const ValueId one = d.convert(d.binary("eq", value(row), value(column)), d.dtype_of(self));
    return d.result(d.unary("clone", d.broadcast(one, sizes)));
  }
  if (n == 3) return d.result(matmul_of(d, matmul_of(d, self, self), self));
  ValueId square = kNoValue, result = kNoValue;
  for (; n > 0; n /= 2) {
    square = square == kNoValue ? self : matmul_of(d, square, square);
    if (n % 2 == 1) result = result == kNoValue ? square : matmul_of(d, result, square);
  }
  d.result(result);
}

/// weight[k] between the vectors of the last dims: one product with the first, then sums with the
/// second.
void bilinear_form(Decomposition& d) {
  const ValueId first = d.value("input1"), second = d.value("input2"), weight = d.value("weight");
  if (d.failed() || d.rank(weight) != 3 || d.rank(first) == 0 || d.rank(first) != d.rank(second))
    return d.keep();
  const DType dtype = d.dtype_of(first), compute = ops::compute_dtype(dtype);
  if (!is_floating(dtype) || d.dtype_of(second) != dtype || d.dtype_of(weight) != dtype)
    return d.keep();
  const std::vector<SymExpr> form = d.sizes(weight);
  std::vector<SymExpr> sizes = d.sizes(first);
  sizes.pop_back();
  const SymExpr count = element_count(sizes);
  ValueId matrix =
      d.reshape(d.permute(d.convert(weight, compute), {1, 0, 2}), {form[1], form[0] * form[2]});
  matrix = mm(d, d.reshape(d.convert(first, compute), {count, form[1]}), matrix);
  const std::vector<SymExpr> spread = {count, form[0], form[2]};
  const ValueId other =
      d.broadcast(d.reshape(d.convert(second, compute), {count, form[2]}), spread, {0, 2});
  const ValueId terms = d.binary("mul", value(d.reshape(matrix, spread)), value(other));
  ValueId result = d.convert(d.reduce("sum", terms, {2}, false), dtype);
  sizes.push_back(form[0]);
  result = d.reshape(result, sizes);
  d.result(d.has("bias") ? d.apply("add", value(result), value(d.value("bias"))) : result);
}

namespace {

/// The covariances of rows; kNoValue where torch warns, or weighs.
ValueId covariance(Decomposition& d) {
  ValueId x = d.value("self");
  if (d.failed() || d.rank(x) > 2 || d.has("fweights") || d.has("aweights")) return kNoValue;
  if (d.rank(x) < 2) x = d.reshape(x, {SymExpr(1), element_count(d.sizes(x))});
  const auto count = d.sizes(x)[1].constant();
  const std::int64_t correction = d.constant("correction", 1);
  if (d.failed() || !count || *count == 0 || *count <= correction || is_boolean(d.dtype_of(x)))
    return kNoValue;
  const ValueId total =
      d.apply("aten.sum.dim_IntList",
              {arg("self", value(x)), arg("dim", list_of(std::vector<std::int64_t>{1})),
               arg("keepdim", true)});
  const ValueId centred = d.apply("sub", value(x), value(d.apply("div", value(total), *count)));
  const ValueId products = mm(d, centred, transposed(d, centred));
  return d.apply("aten.squeeze.default",
                 {arg("self", value(d.apply("div", value(products), *count - correction)))});
}

}  // namespace

void covariances(Decomposition& d) {
  const ValueId result = covariance(d);
  if (result == kNoValue) return d.keep();
  d.result(result);
}

void correlations(Decomposition& d) {
  ValueId x = covariance(d);
  if (x == kNoValue || d.failed()) return d.keep();
  if (d.rank(x) == 0) return d.result(d.apply("div", value(x), value(x)));
  const SymExpr count = d.sizes(x)[0];
  const ValueId variances = d.apply("aten.diagonal.default", {arg("self", value(x))});
  const ValueId deviations = d.apply("aten.sqrt.default", {arg("self", value(variances))});
  x = d.apply("div", value(x), value(d.reshape(deviations, {count, SymExpr(1)})));
  x = d.apply("div", value(x), value(d.reshape(deviations, {SymExpr(1), count})));
  d.result(d.apply("aten.clamp.default", {arg("self", value(x)), arg("min", std::int64_t{-1}),
                                          arg("max", std::int64_t{1})}));
}

void cross_product(Decomposition& d) {
  const ValueId a = d.value("self"), b = d.value("other");
  if (d.failed() || d.rank(a) != d.rank(b) || d.rank(a) == 0 || d.dtype_of(a) != d.dtype_of(b))
    return d.keep();
  const std::vector<SymExpr> sizes = d.sizes(a);
  std::int64_t dim = -1;
  if (d.detail() == "last" || d.has("dim"))
    dim = d.dim("dim", -1, sizes.size());
  else
    dim = std::ranges::find(sizes, SymExpr(3)) - sizes.begin();
  if (d.failed() || dim >= static_cast<std::int64_t>(sizes.size()) || sizes[dim] != SymExpr(3) ||
      d.sizes(b)[dim] != SymExpr(3))
    return d.keep();
  const auto part = [&](ValueId x, std::int64_t i) { return d.slice(x, dim, i, 1, 1); };
  std::vector<ValueId> parts;
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::int64_t next = (i + 1) % 3, other = (i + 2) % 3;
    const ValueId plus = d.apply("mul", value(part(a, next)), value(part(b, other)));
    const ValueId minus = d.apply("mul", value(part(a, other)), value(part(b, next)));
    parts.push_back(d.apply("sub", value(plus), value(minus)));
  }
  d.result(d.apply("aten.cat.default", {arg("tensors", list_of(parts)), arg("dim", dim)}));
}

}  // namespace penstock::passes
