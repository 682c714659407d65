// Ops that rearrange, join, or pick by position.
#include <algorithm>

#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

/// With ones around the dims, as torch's atleast_ functions put them.
ValueId widened(Decomposition& d, ValueId x, std::size_t rank) {
  if (d.failed() || d.rank(x) >= rank) return x;
  std::vector<SymExpr> sizes = d.sizes(x);
  if (rank >= 2 && sizes.size() < 2) sizes.insert(sizes.begin(), 2 - sizes.size(), SymExpr(1));
  if (sizes.size() < rank) sizes.insert(sizes.end(), rank - sizes.size(), SymExpr(1));
  return d.reshape(x, sizes);
}

/// The pieces of a dim between bounds that are clamped as a slice's are.
void cut(Decomposition& d, ValueId x, std::int64_t dim, const SymExpr& size,
         const std::vector<std::int64_t>& bounds) {
  const auto clamped = [&](std::int64_t bound) {
    const SymExpr place = bound < 0 ? size + SymExpr(bound) : SymExpr(bound);
    if (bound < 0 && d.less(place, SymExpr(0))) return SymExpr(0);
    return bound > 0 && d.less(size, place) ? size : place;
  };
  SymExpr from = 0;
  for (std::size_t i = 0; i <= bounds.size(); ++i) {
    const SymExpr to = i < bounds.size() ? clamped(bounds[i]) : size;
    const SymExpr length = d.less(to, from) ? SymExpr(0) : to - from;
    d.result(d.slice(x, dim, from, length, SymExpr(1)));
    from = to;
  }
}

/// So many pieces of a dim, of which the first ones are longer by one where it does not divide.
void cut_evenly(Decomposition& d, ValueId x, std::int64_t dim, const SymExpr& size,
                std::int64_t pieces) {
  SymExpr from = 0;
  for (std::int64_t i = 0; i < pieces; ++i) {
    // The last one is what is left: so it is seen to end where the whole does.
    const SymExpr length =
        i + 1 < pieces ? floordiv(size + SymExpr(pieces - 1 - i), pieces) : size - from;
    d.result(d.slice(x, dim, from, length, SymExpr(1)));
    from = from + length;
  }
}

}  // namespace

void swap_last_dims(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed() || d.rank(self) < 2) return d.keep();
  d.result(d.swap_last(self));
}

void at_least(Decomposition& d) {
  const ValueId self = d.value("self");
  if (!d.failed()) d.result(widened(d, self, static_cast<std::size_t>(d.detail()[0] - '0')));
}

void split_evenly(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed() || d.rank(self) == 0) return d.keep();
  const std::size_t rank = d.rank(self);
  std::int64_t dim = 0;
  if (d.detail() == "h")
    dim = rank == 1 ? 0 : 1;
  else if (d.detail() == "d")
    dim = 2;
  else if (d.detail().empty())
    dim = d.dim("dim", 0, rank);
  if (d.failed() || dim >= static_cast<std::int64_t>(rank)) return d.keep();
  const SymExpr size = d.sizes(self)[static_cast<std::size_t>(dim)];
  if (d.has("indices")) return cut(d, self, dim, size, d.constants("indices"));
  const std::int64_t sections = d.constant("sections", 1);
  if (d.failed() || sections < 1) return d.keep();
  cut_evenly(d, self, dim, size, sections);
}

void broadcast_all(Decomposition& d) {
  const std::vector<ValueId> values = d.values("tensors");
  if (d.failed()) return;
  std::vector<TensorType> types;
  for (ValueId id : values) types.push_back(d.type(id));
  std::vector<const TensorType*> pointers;
  for (const TensorType& type : types) pointers.push_back(&type);
  const std::vector<SymExpr> sizes = broadcast_sizes(d, pointers);
  for (ValueId id : values) d.result(d.broadcast(id, sizes));
}

void mesh(Decomposition& d) {
  const std::vector<ValueId> values = d.values("tensors");
  const bool swaps = d.text("indexing", "ij") == "xy" && values.size() >= 2;
  if (d.failed()) return;
  std::vector<std::int64_t> dims(values.size());
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<std::int64_t>(i);
  if (swaps) std::swap(dims[0], dims[1]);
  std::vector<SymExpr> sizes(values.size(), SymExpr(1));
  for (std::size_t i = 0; i < values.size(); ++i)
    sizes[static_cast<std::size_t>(dims[i])] = element_count(d.sizes(values[i]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (d.rank(values[i]) > 1) return d.keep();
    const ValueId row = d.reshape(values[i], {element_count(d.sizes(values[i]))});
    d.result(d.broadcast(row, sizes, {dims[i]}));
  }
}

void flip_dim(Decomposition& d) {
  const ValueId self = d.value("self");
  const std::int64_t dim = d.detail()[0] - '0';
  if (d.failed() || dim >= static_cast<std::int64_t>(d.rank(self))) return d.keep();
  d.result(d.emit("prim.flip", {arg("self", value_argument(self)),
                                arg("dims", list_of(std::vector<std::int64_t>{dim}))}));
}

void tile(Decomposition& d) {
  const ValueId self = d.value("self");
  std::vector<SymExpr> counts = d.integers("dims");
  if (d.failed()) return;
  std::vector<SymExpr> own = d.sizes(self), split, spread, result;
  const std::size_t rank = std::max(own.size(), counts.size());
  own.insert(own.begin(), rank - own.size(), SymExpr(1));
  counts.insert(counts.begin(), rank - counts.size(), SymExpr(1));
  for (std::size_t i = 0; i < rank; ++i) {
    split.insert(split.end(), {SymExpr(1), own[i]});
    spread.insert(spread.end(), {counts[i], own[i]});
    result.push_back(counts[i] * own[i]);
  }
  d.result(d.unary("clone", d.reshape(d.broadcast(d.reshape(self, split), spread), result)));
}

void stack_along(Decomposition& d) {
  std::vector<ValueId> values = d.values("tensors");
  if (d.failed()) return;
  ops::ResultType promoted;
  for (ValueId id : values) promoted.add_tensor(d.dtype_of(id), d.rank(id) > 0);
  const char kind = d.detail()[0];
  for (ValueId& id : values) {
    id = d.convert(id, promoted.dtype());
    // A column for a row; the others get ones around their dims.
    if (kind == 'c' && !d.failed() && d.rank(id) < 2)
      id = d.reshape(id, {element_count(d.sizes(id)), SymExpr(1)});
    else
      id = widened(d, id, kind == 'h' ? 1 : kind == 'v' ? 2 : kind == 'd' ? 3 : 2);
  }
  if (d.failed()) return;
  const bool rows = kind == 'v' || (kind == 'h' && d.rank(values.front()) == 1);
  const std::int64_t dim = kind == 'd' ? 2 : rows ? 0 : 1;
  if (values.size() == 1) return d.result(d.unary("clone", values.front()));
  d.result(d.emit("prim.cat", {arg("tensors", list_of(values)), arg("dim", dim)}));
}

ValueId on_diagonal(Decomposition& d, ValueId x, const SymExpr& offset) {
  if (d.failed()) return kNoValue;
  std::vector<SymExpr> sizes = d.sizes(x), flat = sizes;
  const bool below = d.less(offset, SymExpr(0));
  const SymExpr length = sizes.back(), away = below ? -offset : offset, side = length + away;
  // Every row is one longer than the matrix: element i of the diagonal begins row i.
  flat.push_back(SymExpr(1));
  std::vector<SymExpr> none(flat.size(), SymExpr(0)), behind = none;
  behind.back() = side;
  const DType dtype = d.dtype_of(x);
  const Argument zero = Decomposition::number_as({DTypeCategory::integral, 0, 0}, dtype);
  ValueId rows = d.pad(d.reshape(x, flat), none, behind, zero);
  std::vector<SymExpr> line(sizes.begin(), sizes.end() - 1);
  line.push_back(length * (side + SymExpr(1)));
  rows = d.reshape(rows, line);
  const SymExpr first = below ? away * side : away, all = side * side;
  std::vector<SymExpr> low(line.size(), SymExpr(0)), high = low;
  low.back() = first;
  high.back() = all - first - line.back();
  std::vector<SymExpr> square(sizes.begin(), sizes.end() - 1);
  square.insert(square.end(), {side, side});
  return d.reshape(d.pad(rows, low, high, zero), square);
}

void diag(Decomposition& d) {
  const ValueId self = d.value("self");
  const SymExpr offset = d.integer("diagonal", 0);
  if (d.failed()) return;
  if (d.rank(self) == 1) return d.result(d.unary("clone", on_diagonal(d, self, offset)));
  if (d.rank(self) != 2) return d.keep();
  d.result(d.unary("clone", d.apply("aten.diagonal.default",
                                    {arg("self", value_argument(self)), arg("offset", offset)})));
}

void diag_embed(Decomposition& d) {
  const ValueId self = d.value("self");
  const SymExpr offset = d.integer("offset", 0);
  if (d.failed() || d.rank(self) == 0) return d.keep();
  const auto rank = static_cast<std::int64_t>(d.rank(self)) + 1;
  const bool last = d.dim("dim1", -2, d.rank(self) + 1) == rank - 2 &&
                    d.dim("dim2", -1, d.rank(self) + 1) == rank - 1;
  if (d.failed() || !last) return d.keep();
  d.result(d.unary("clone", on_diagonal(d, self, offset)));
}

}  // namespace penstock::passes
