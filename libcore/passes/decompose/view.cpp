// Views: six prims say where every element comes from.
#include <algorithm>
#include <numeric>

#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

ValueId without_dim(Decomposition& d, ValueId x, std::int64_t dim) {
  if (d.failed()) return x;
  std::vector<SymExpr> sizes = d.sizes(x);
  sizes.erase(sizes.begin() + dim);
  return d.reshape(x, sizes);
}

/// In the flattened matrix of two dims a diagonal is a slice of step width + 1. The dim with the
/// larger stride goes first, so that flattening is a view wherever it can be; where it is none,
/// nothing may be written through it.
ValueId diagonal_of(Decomposition& d, ValueId x, std::int64_t rows, std::int64_t columns,
                    SymExpr offset, const SymExpr& length) {
  const TensorType type = d.type(x);
  auto rank = static_cast<std::int64_t>(type.rank());
  auto gap = (type.strides[columns] - type.strides[rows]).constant();
  if (gap && *gap > 0) {
    std::swap(rows, columns);
    offset = -offset;
  }
  std::vector<std::int64_t> order;
  for (std::int64_t dim = 0; dim < rank; ++dim) {
    if (dim != rows && dim != columns) order.push_back(dim);
  }
  order.insert(order.end(), {rows, columns});
  ValueId moved = d.permute(x, order);
  std::vector<SymExpr> sizes = d.sizes(moved);
  SymExpr width = sizes.back();
  SymExpr start = d.less(offset, SymExpr(0)) ? -offset * width : offset;
  sizes[sizes.size() - 2] *= width;
  sizes.pop_back();
  if (length == SymExpr(0)) start = 0;
  if (!d.failed() && d.graph_writes() && !ops::view_strides(d, d.type(moved), sizes)) {
    d.fail("a diagonal of a matrix with gaps, in a graph that writes to tensors, is not followed");
  }
  return d.slice(d.reshape(moved, sizes), rank - 2, start, length, width + SymExpr(1));
}

}  // namespace

/// Whether the strides allow the view was torch's question: of its own strides, which a value that
/// was taken apart may not have. Where these allow none, nothing may be written through it. The
/// detail `may copy` is of ops that copy where they have to: whether torch's run did is seen by the
/// memory that was recorded.
void view_as_reshape(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed()) return;
  const TensorType &from = d.type(self), &to = d.type(d.node().results.front());
  const std::vector<SymExpr> sizes = to.sizes;
  const bool known = from.storage >= 0 && to.storage >= 0;
  const bool shared = known ? from.storage == to.storage : d.detail() != "may copy";
  if (shared && d.graph_writes() && !ops::view_strides(d, d.type(self), sizes)) {
    d.fail(
        "a view of a value that lies otherwise than torch's, in a graph that writes to tensors, is "
        "not followed");
  }
  d.result(d.reshape(self, sizes));
}

void alias(Decomposition& d) {
  d.result(d.value("self"));
}

void permute(Decomposition& d) {
  ValueId self = d.value("self");
  std::vector<std::int64_t> dims = ops::view_permutation(d);
  if (!d.failed()) d.result(d.permute(self, dims));
}

void expand(Decomposition& d) {
  for (const TensorType& type : d.inferred()) d.result(d.broadcast(d.value("self"), type.sizes));
}

void select(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed() || d.rank(self) == 0) return d.fail("select needs a dim");
  std::int64_t dim = d.dim("dim", 0, d.rank(self));
  SymExpr index = d.integer("index");
  if (d.less(index, SymExpr(0))) index += d.sizes(self)[dim];
  d.result(without_dim(d, d.slice(self, dim, index, 1, 1), dim));
}

void slice(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed() || d.rank(self) == 0) return d.fail("slice needs a dim");
  std::int64_t dim = d.dim("dim", 0, d.rank(self));
  SymExpr step = d.integer("step", 1);
  SymExpr size = d.sizes(self)[dim];
  ops::SliceBounds bounds = ops::clamp_slice(d, size, d.find("start"), d.find("end"), step);
  d.result(d.slice(self, dim, bounds.start, bounds.length, step));
}

void narrow(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed() || d.rank(self) == 0) return d.fail("narrow needs a dim");
  std::int64_t dim = d.dim("dim", 0, d.rank(self));
  SymExpr start = d.integer("start"), length = d.integer("length");
  if (d.less(start, SymExpr(0))) start += d.sizes(self)[dim];
  d.result(d.slice(self, dim, start, length, 1));
}

void split(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed() || d.rank(self) == 0) return d.fail("split needs a dim");
  std::int64_t dim = d.dim("dim", 0, d.rank(self));
  SymExpr start = 0;
  for (const TensorType& piece : d.inferred()) {
    d.result(d.slice(self, dim, start, piece.sizes[dim], 1));
    start += piece.sizes[dim];
  }
}

void unbind(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed() || d.rank(self) == 0) return d.fail("unbind needs a dim");
  std::int64_t dim = d.dim("dim", 0, d.rank(self)), index = 0;
  for (std::size_t pieces = d.inferred().size(); pieces > 0; --pieces) {
    d.result(without_dim(d, d.slice(self, dim, index++, 1, 1), dim));
  }
}

void diagonal(Decomposition& d) {
  ValueId self = d.value("self");
  std::vector<TensorType> results = d.inferred();
  if (d.failed() || results.empty()) return;
  std::int64_t rows = d.dim("dim1", 0, d.rank(self)), columns = d.dim("dim2", 1, d.rank(self));
  d.result(
      diagonal_of(d, self, rows, columns, d.integer("offset", 0), results.front().sizes.back()));
}

ValueId main_diagonal(Decomposition& d, ValueId x, std::int64_t rows, std::int64_t columns) {
  return d.failed() ? x : diagonal_of(d, x, rows, columns, 0, d.sizes(x)[rows]);
}

void unfold(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed()) return;
  std::int64_t dim = d.dim("dimension", 0, d.rank(self));
  if (d.rank(self) == 0)
    return d.result(d.slice(d.reshape(self, {SymExpr(1)}), 0, 0, d.integer("size"), 1));
  d.result(d.unfold(self, dim, d.integer("size"), d.integer("step", 1), 1));
}

void as_strided(Decomposition& d) {
  for (const TensorType& type : d.inferred()) {
    d.result(d.emit("prim.as_strided",
                    {arg("self", value_argument(d.value("self"))), arg("size", list_of(type.sizes)),
                     arg("stride", list_of(type.strides)),
                     arg("offset", Decomposition::integer_argument(type.storage_offset))}));
  }
}

}  // namespace penstock::passes
