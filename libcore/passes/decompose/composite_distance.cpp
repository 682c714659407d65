// Norms of matrices and distances of vectors.
#include <algorithm>
#include <cmath>
#include <utility>

#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

/// The norm over `dims` of a tensor of type `dtype`, if one is given.
ValueId vector_norm_of(Decomposition& d, ValueId x, double order,
                       const std::vector<std::int64_t>& dims, bool keep) {
  std::vector<NamedArgument> args = {arg("self", value(x)), arg("ord", order),
                                     arg("dim", list_of(dims)), arg("keepdim", keep)};
  if (const auto dtype = d.dtype("dtype")) args.push_back(arg("dtype", *dtype));
  return d.apply("aten.linalg_vector_norm.default", std::move(args));
}

/// The norm of matrices of the given order; kNoValue where it takes singular values.
ValueId matrix_norm_of(Decomposition& d, ValueId x, double order, std::vector<std::int64_t> dims,
                       bool keep) {
  if (d.failed() || dims.size() != 2 || d.rank(x) < 2) return kNoValue;
  for (std::int64_t& dim : dims) dim = d.wrap_dim(dim, d.rank(x));
  const bool rows = std::isinf(order);
  if (d.failed() || dims[0] == dims[1] || (!rows && std::abs(order) != 1)) return kNoValue;
  if (rows) std::swap(dims[0], dims[1]);
  const ValueId sums = vector_norm_of(d, x, 1, {dims[0]}, true);
  const ValueId extremes =
      d.apply(order > 0 ? "aten.amax.default" : "aten.amin.default",
              {arg("self", value(sums)), arg("dim", list_of(std::vector<std::int64_t>{dims[1]})),
               arg("keepdim", true)});
  if (keep || d.failed()) return extremes;
  std::sort(dims.begin(), dims.end());
  return d.reshape(extremes, ops::reduced_sizes(d.sizes(x), dims, false));
}

std::vector<std::int64_t> matrix_dims(Decomposition& d, std::vector<std::int64_t> otherwise) {
  return d.has("dim") ? d.constants("dim") : std::move(otherwise);
}

void give_unless_none(Decomposition& d, ValueId result) {
  if (result == kNoValue) return d.keep();
  d.result(result);
}

/// The order that an argument gives; nothing for a text other than "fro", which is 2 over all
/// elements.
void text_norm(Decomposition& d, ValueId x, const std::vector<std::int64_t>& dims, bool keep) {
  if (d.text("ord", "fro") != "fro" || d.rank(x) < 2 || dims.size() != 2) return d.keep();
  d.result(vector_norm_of(d, x, 2, dims, keep));
}

}  // namespace

void matrix_norm(Decomposition& d) {
  const ValueId self = d.value(d.has("A") ? "A" : "self");
  const std::vector<std::int64_t> dims = matrix_dims(d, {-2, -1});
  const bool keep = d.boolean("keepdim", false);
  if (d.failed() || !is_floating(d.dtype_of(self))) return d.keep();
  if (d.detail() == "text") return text_norm(d, self, dims, keep);
  give_unless_none(d, matrix_norm_of(d, self, d.real("ord", 2), dims, keep));
}

/// Of matrices where an order is given and there are two dims; of vectors elsewhere.
void any_norm(Decomposition& d) {
  const ValueId self = d.value("self");
  const bool keep = d.boolean("keepdim", false);
  const std::vector<std::int64_t> dims = matrix_dims(d, {});
  if (d.failed() || !is_floating(d.dtype_of(self)) || (d.has("dim") && dims.empty()))
    return d.keep();
  const bool matrices = d.has("dim") ? dims.size() == 2 : d.rank(self) == 2;
  const std::vector<std::int64_t> own = d.has("dim") ? dims : std::vector<std::int64_t>{0, 1};
  if (d.detail() == "text") return matrices ? text_norm(d, self, own, keep) : d.keep();
  if (d.has("ord") && matrices)
    return give_unless_none(d, matrix_norm_of(d, self, d.real("ord", 2), own, keep));
  if (dims.size() > 2 || (d.has("ord") && !d.has("dim") && d.rank(self) != 1)) return d.keep();
  const double order = d.real("ord", 2);
  if (!d.failed())
    d.result(
        vector_norm_of(d, self, order, d.has("dim") ? dims : d.dims("dim", d.rank(self)), keep));
}

void frobenius_norm(Decomposition& d) {
  const ValueId self = d.value("self");
  const std::vector<std::int64_t> dims = matrix_dims(d, {});
  if (d.failed() || dims.empty() || !is_floating(d.dtype_of(self))) return d.keep();
  d.result(vector_norm_of(d, self, 2, dims, d.boolean("keepdim", false)));
}

/// The norm of a difference: over all of it, or with the detail "pairs" over its last dim.
void norm_of_difference(Decomposition& d) {
  const bool pairs = d.detail() == "pairs";
  const ValueId a = d.value(pairs ? "x1" : "self"), b = d.value(pairs ? "x2" : "other");
  const double order = d.real("p", 2);
  if (d.failed()) return;
  ValueId gap = d.apply("sub", value(a), value(b));
  if (!pairs)
    return d.result(d.apply("aten.norm.Scalar", {arg("self", value(gap)), arg("p", order)}));
  gap = d.apply("add", value(gap), d.beside(gap, d.real_or_input("eps", 1e-6)));
  d.result(d.apply("aten.norm.ScalarOpt_dim", {arg("self", value(gap)), arg("p", order),
                                               arg("dim", list_of(std::vector<std::int64_t>{-1})),
                                               arg("keepdim", d.boolean("keepdim", false))}));
}

/// Parts of a dim whose norm is above the largest allowed are scaled down to it.
void limited_norm(Decomposition& d) {
  const ValueId self = d.value("self");
  const double order = d.real("p", 2), most = d.real("maxnorm", 0);
  if (d.failed() || d.rank(self) < 2) return d.keep();
  const std::int64_t dim = d.dim("dim", 0, d.rank(self));
  const DType dtype = d.dtype_of(self), compute = ops::compute_dtype(dtype);
  if (d.failed() || !is_floating(dtype)) return d.keep();
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(d.rank(self)); ++i) {
    if (i != dim) others.push_back(i);
  }
  const ValueId norm = vector_norm_of(d, d.convert(self, compute), order, others, true);
  const ValueId scale = d.binary("div", most, value(d.binary("add", value(norm), 1e-7)));
  const ValueId factor =
      d.convert(d.where(d.binary("gt", value(norm), most), value(scale), 1.0), dtype);
  d.result(d.apply("mul", value(self), value(factor)));
}

namespace {

/// The norm over the last dim of differences, as distances are added up.
ValueId distance(Decomposition& d, ValueId gap, double order) {
  const auto last = static_cast<std::int64_t>(d.rank(gap)) - 1;
  const auto sum = [&](ValueId terms) { return d.reduce("sum", terms, {last}, false); };
  const ValueId size = d.unary("abs", gap);
  // A difference counts as one; NaN stays.
  if (order == 0) return sum(d.binary("minimum", value(d.unary("ceil", size)), 1.0));
  if (order == 1) return sum(size);
  if (order == 2) return d.unary("sqrt", sum(d.binary("mul", value(gap), value(gap))));
  if (std::isinf(order)) return d.reduce("amax", size, {last}, false);
  return d.binary("pow", value(sum(d.binary("pow", value(size), order))), 1 / order);
}

bool has_distances(Decomposition& d, ValueId x, double order) {
  const DType dtype = d.dtype_of(x);
  return (dtype == DType::float32 || dtype == DType::float64) && order >= 0;
}

}  // namespace

/// Every row of one with every row of the other. The way over a product that torch takes for many
/// rows has an error that the root makes large near zero: it stays torch's.
void distances_between(Decomposition& d) {
  constexpr std::int64_t kMostRows = 25;
  const ValueId a = d.value("x1"), b = d.value("x2");
  const double order = d.real("p", 2);
  const std::int64_t mode = d.constant("compute_mode", 0);
  if (d.failed() || d.rank(a) < 2 || d.rank(b) < 2 || d.dtype_of(a) != d.dtype_of(b) ||
      !has_distances(d, a, order))
    return d.keep();
  TensorType left = d.type(a), right = d.type(b);
  const SymExpr rows = left.sizes[left.rank() - 2], columns = right.sizes[right.rank() - 2],
                width = left.sizes.back();
  const auto height = rows.constant(), breadth = columns.constant(), inner = width.constant();
  if (!height || !breadth || !inner || *inner == 0) return d.keep();
  const bool many = *height > kMostRows || *breadth > kMostRows;
  if (order == 2 && (mode == 1 || (mode == 0 && many))) return d.keep();
  left.sizes.resize(left.rank() - 2);
  right.sizes.resize(right.rank() - 2);
  const TensorType* both[] = {&left, &right};
  std::vector<SymExpr> pairs = broadcast_sizes(d, both);
  if (d.failed()) return;
  pairs.insert(pairs.end(), {rows, columns, width});
  const auto spread = [&](ValueId x, std::size_t place) {
    std::vector<SymExpr> sizes = d.sizes(x);
    sizes.insert(sizes.end() - static_cast<std::ptrdiff_t>(place), SymExpr(1));
    return value(d.broadcast(d.reshape(x, sizes), pairs));
  };
  ValueId gap = d.binary("sub", spread(a, 1), spread(b, 2));
  // Torch's maximum of these passes over NaN; that of distances within does not.
  if (std::isinf(order)) gap = d.where(d.unary("isnan", gap), 0.0, value(gap));
  d.result(distance(d, gap, order));
}

/// Every row with each behind it.
void distances_within(Decomposition& d) {
  constexpr std::int64_t kMostRows = 32;
  const ValueId self = d.value("self");
  const double order = d.real("p", 2);
  if (d.failed() || d.rank(self) != 2 || !has_distances(d, self, order)) return d.keep();
  const std::vector<SymExpr> sizes = d.sizes(self);
  const auto rows = sizes[0].constant(), width = sizes[1].constant();
  if (!rows || !width || *rows > kMostRows || *width == 0) return d.keep();
  if (*rows < 2) return d.result(d.full({SymExpr(0)}, 0.0, d.dtype_of(self)));
  std::vector<ValueId> gaps;
  for (std::int64_t row = 0; row + 1 < *rows; ++row) {
    const ValueId behind = d.slice(self, 0, row + 1, *rows - row - 1, 1);
    const ValueId own =
        d.broadcast(d.slice(self, 0, row, 1, 1), {SymExpr(*rows - row - 1), sizes[1]});
    gaps.push_back(d.binary("sub", value(own), value(behind)));
  }
  const ValueId all =
      d.apply("aten.cat.default", {arg("tensors", list_of(gaps)), arg("dim", std::int64_t{0})});
  if (!d.failed()) d.result(distance(d, all, order));
}

}  // namespace penstock::passes
