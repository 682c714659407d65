// Ops that put tensors, diagonals and parts of memory in place of others, turn and shift.
#include <algorithm>

#include "ir/strides.h"
#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

Argument zero_of(DType dtype) {
  return Decomposition::number_as({DTypeCategory::integral, 0, 0}, dtype);
}

ValueId flipped(Decomposition& d, ValueId x, std::vector<std::int64_t> dims) {
  return d.apply("aten.flip.default", {arg("self", value(x)), arg("dims", list_of(dims))});
}

ValueId joined(Decomposition& d, const std::vector<ValueId>& values, std::int64_t dim) {
  return d.apply("aten.cat.default", {arg("tensors", list_of(values)), arg("dim", dim)});
}

/// The values in the dtype that all are promoted to.
std::vector<ValueId> promoted(Decomposition& d, std::string_view name) {
  std::vector<ValueId> values = d.values(name);
  ops::ResultType common;
  for (ValueId id : values) common.add_tensor(d.dtype_of(id), d.rank(id) > 0);
  for (ValueId& id : values) id = d.convert(id, common.dtype());
  return values;
}

}  // namespace

/// Each block is padded to the whole width.
void block_diagonal(Decomposition& d) {
  std::vector<ValueId> blocks = promoted(d, "tensors");
  if (d.failed() || blocks.empty()) return d.keep();
  SymExpr width = 0;
  for (ValueId& block : blocks) {
    std::vector<SymExpr> sizes = d.sizes(block);
    if (sizes.size() > 2) return d.keep();
    sizes.insert(sizes.begin(), 2 - sizes.size(), SymExpr(1));
    block = d.reshape(block, sizes);
    width += sizes[1];
  }
  SymExpr before = 0;
  for (ValueId& block : blocks) {
    const SymExpr own = d.failed() ? SymExpr(0) : d.sizes(block)[1];
    block = d.pad(block, {0, before}, {0, width - before - own}, zero_of(d.dtype_of(block)));
    before += own;
  }
  d.result(blocks.size() == 1 ? d.unary("clone", blocks.front()) : joined(d, blocks, 0));
}

void cartesian_product(Decomposition& d) {
  std::vector<ValueId> values = d.values("tensors");
  if (d.failed() || values.empty()) return d.keep();
  if (values.size() == 1) return d.result(values.front());
  std::vector<SymExpr> grid;
  for (ValueId id : values) {
    if (d.rank(id) != 1 || d.dtype_of(id) != d.dtype_of(values.front())) return d.keep();
    grid.push_back(d.sizes(id)[0]);
  }
  const SymExpr count = element_count(grid);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = d.reshape(d.broadcast(values[i], grid, {static_cast<std::int64_t>(i)}),
                          {count, SymExpr(1)});
  }
  d.result(joined(d, values, 1));
}

/// A quarter turn is a flip and a transposition.
void quarter_turns(Decomposition& d) {
  const ValueId self = d.value("self");
  std::vector<std::int64_t> dims =
      d.has("dims") ? d.constants("dims") : std::vector<std::int64_t>{0, 1};
  const std::int64_t turns = ((d.constant("k", 1) % 4) + 4) % 4;
  if (d.failed() || dims.size() != 2 || d.rank(self) < 2) return d.keep();
  for (std::int64_t& dim : dims) dim = d.wrap_dim(dim, d.rank(self));
  if (turns == 0) return d.result(d.unary("clone", self));
  if (turns == 2) return d.result(flipped(d, self, dims));
  const ValueId turned = flipped(d, self, {turns == 1 ? dims[1] : dims[0]});
  d.result(d.apply("aten.transpose.int",
                   {arg("self", value(turned)), arg("dim0", dims[0]), arg("dim1", dims[1])}));
}

void flat_diagonal(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed()) return;
  const ValueId line = d.reshape(self, {element_count(d.sizes(self))});
  d.result(d.unary("clone", on_diagonal(d, line, d.integer("offset", 0))));
}

/// Rolls each dim by half its size; the detail says to which side an odd element goes.
void half_roll(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed()) return;
  const std::vector<std::int64_t> dims =
      d.has("dim") ? d.dims("dim", d.rank(self)) : d.dims("none", d.rank(self));
  if (d.failed() || dims.empty()) return d.keep();
  std::vector<SymExpr> shifts;
  for (std::int64_t dim : dims) {
    const auto size = d.sizes(self)[dim].constant();
    if (!size) return d.keep();
    shifts.emplace_back(d.detail() == "back" ? (*size + 1) / 2 : *size / 2);
  }
  d.result(d.apply("aten.roll.default", {arg("self", value(self)), arg("shifts", list_of(shifts)),
                                         arg("dims", list_of(dims))}));
}

/// Sums what broadcasting to the own sizes repeated.
void sum_to_sizes(Decomposition& d) {
  const ValueId self = d.value("self");
  const std::vector<SymExpr> sizes = d.integers("size");
  if (d.failed() || sizes.size() > d.rank(self)) return d.keep();
  const std::vector<SymExpr> own = d.sizes(self);
  const std::size_t leading = own.size() - sizes.size();
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const bool inner = i >= leading && sizes[i - leading] == SymExpr(1) && own[i] != SymExpr(1);
    if (i < leading || inner) dims.push_back(static_cast<std::int64_t>(i));
  }
  if (dims.empty()) return d.result(self);
  const ValueId total =
      d.apply("aten.sum.dim_IntList",
              {arg("self", value(self)), arg("dim", list_of(dims)), arg("keepdim", true)});
  d.result(d.reshape(total, sizes));
}

/// Element i of the diagonal's last dim lies in row i, or where the diagonal begins below the first
/// row in column i.
void diagonal_scatter(Decomposition& d) {
  const ValueId self = d.value("self");
  ValueId source = d.value("src");
  const std::int64_t offset = d.constant("offset", 0);
  if (d.failed() || d.rank(self) < 2 || d.rank(source) + 1 != d.rank(self)) return d.keep();
  const std::vector<SymExpr> sizes = d.sizes(self);
  const std::int64_t rows = d.dim("dim1", 0, sizes.size()),
                     columns = d.dim("dim2", 1, sizes.size());
  const auto height = sizes[rows].constant(), width = sizes[columns].constant(),
             length = d.sizes(source).back().constant();
  if (d.failed() || rows == columns || !height || !width || !length) return d.keep();
  const std::int64_t numbered = offset < 0 ? columns : rows;
  const std::int64_t spare = (offset < 0 ? *width : *height) - *length;
  if (spare < 0) return d.keep();
  std::vector<SymExpr> none(d.rank(source), SymExpr(0)), behind = none;
  behind.back() = spare;
  source = d.convert(source, d.dtype_of(self));
  source = d.pad(source, none, behind, zero_of(d.dtype_of(self)));
  std::vector<std::int64_t> places;
  for (std::int64_t dim = 0; dim < static_cast<std::int64_t>(sizes.size()); ++dim) {
    if (dim != rows && dim != columns) places.push_back(dim);
  }
  // Dims of a broadcast go up: the numbered one moves to its place.
  std::vector<std::int64_t> order(d.rank(source));
  const auto before =
      std::count_if(places.begin(), places.end(), [&](std::int64_t dim) { return dim < numbered; });
  for (std::size_t i = 0, next = 0; i < order.size(); ++i) {
    order[i] = static_cast<std::ptrdiff_t>(i) == before
                   ? static_cast<std::int64_t>(order.size()) - 1
                   : static_cast<std::int64_t>(next++);
  }
  places.insert(places.begin() + before, numbered);
  const ValueId spread = d.broadcast(d.permute(source, order), sizes, places);
  const ValueId row = d.broadcast(d.iota(sizes[rows]), sizes, {rows}),
                column = d.broadcast(d.iota(sizes[columns]), sizes, {columns});
  const ValueId hit = d.binary("eq", value(d.binary("add", value(row), offset)), value(column));
  d.result(d.where(hit, value(spread), value(self)));
}

/// Writes elements of the flattened tensor: strides of memory that is dense are steps in it.
void strided_scatter(Decomposition& d) {
  const ValueId self = d.value("self"), source = d.value("src");
  if (d.failed() || !is_contiguous(d.type(self)) || d.dtype_of(self) != d.dtype_of(source))
    return d.keep();
  const std::vector<SymExpr> sizes = d.integers("size"), strides = d.integers("stride");
  const auto first = d.integer("storage_offset", d.type(self).storage_offset).constant(),
             all = element_count(d.sizes(self)).constant();
  const auto own_first = d.type(self).storage_offset.constant();
  if (d.failed() || sizes.size() != strides.size() || d.sizes(source) != sizes || !first || !all ||
      own_first != 0)
    return d.keep();
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  std::int64_t last = *first;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto size = sizes[i].constant(), stride = strides[i].constant();
    if (!size || !stride || *size == 0) return d.keep();
    steps.emplace_back(*size, *stride);
    last += (*size - 1) * *stride;
  }
  if (may_overlap(steps) || *first < 0 || last >= *all) return d.keep();
  ValueId place = d.full(sizes, *first, DType::int64);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const ValueId step =
        d.binary("mul", value(d.iota(sizes[i])), Decomposition::integer_argument(strides[i]));
    place = d.binary("add", value(place),
                     value(d.broadcast(step, sizes, {static_cast<std::int64_t>(i)})));
  }
  const std::vector<SymExpr> line = {element_count(sizes)};
  const ValueId written = d.emit(
      "prim.scatter", {arg("self", value(d.reshape(self, {SymExpr(*all)}))),
                       arg("index", value(d.reshape(place, line))),
                       arg("src", value(d.reshape(source, line))), arg("dim", std::int64_t{0})});
  if (!d.failed()) d.result(d.reshape(written, d.sizes(self)));
}

}  // namespace penstock::passes
