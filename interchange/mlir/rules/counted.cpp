// Rows of numbers, and views that show an element several times: their elements are selected.
#include "interchange/mlir/rules/rules.h"

namespace penstock::mlir {

namespace {

Typed counted(Rule& rule, const SymExpr& count, DType dtype) {
  Emitter& out = rule.out();
  const Typed none = out.none();
  return rule.make("aten.arange", {out.size(count), out.dtype(dtype), none, none, none}, dtype,
                   {count});
}

/// Places along two dims, added to each other.
Typed added(Rule& rule, const Typed& x, const std::vector<SymExpr>& x_sizes, const Typed& y,
            const std::vector<SymExpr>& y_sizes, const std::vector<SymExpr>& sizes) {
  return rule.sum(rule.view(x, DType::int64, x_sizes), rule.view(y, DType::int64, y_sizes),
                  DType::int64, sizes);
}

}  // namespace

Typed stepped(Rule& rule, const SymExpr& start, const SymExpr& step, const SymExpr& count) {
  Emitter& out = rule.out();
  Typed numbers = counted(rule, count, DType::int64);
  if (step != SymExpr(1))
    numbers = rule.make("aten.mul.Scalar", {numbers, out.size(step)}, DType::int64, {count});
  if (start != SymExpr(0)) {
    numbers = rule.make("aten.add.Scalar", {numbers, out.size(start), out.integer(1)}, DType::int64,
                        {count});
  }
  return numbers;
}

void iota(Rule& rule) {
  ops::Arguments& arguments = rule.arguments();
  const DType dtype = rule.result().dtype;
  const SymExpr length = arguments.integer("length");
  const ops::Number start = arguments.number("start", {}), step = arguments.number("step", {});
  if (rule.failed()) return;
  if (start.category != DTypeCategory::floating && step.category != DTypeCategory::floating) {
    const Typed numbers = stepped(rule, start.integer, step.integer, length);
    return rule.give(dtype == DType::int64 ? numbers : rule.cast(numbers, dtype, {length}));
  }
  Typed numbers = counted(rule, length, DType::float64);
  const DType compute = DType::float64;
  numbers = rule.make("aten.mul.Tensor", {numbers, rule.in_as("step", compute)}, compute, {length});
  numbers = rule.sum(numbers, rule.in_as("start", compute), compute, {length});
  rule.give(dtype == compute ? numbers : rule.cast(numbers, dtype, {length}));
}

void unfold(Rule& rule) {
  ops::Arguments& arguments = rule.arguments();
  const auto dim = static_cast<std::size_t>(arguments.constant("dim", 0));
  const SymExpr size = arguments.integer("size"), step = arguments.integer("step");
  const SymExpr dilation = arguments.integer("dilation");
  const Typed x = rule.in("self");
  const TensorType& type = rule.result();
  const std::size_t rank = type.rank();
  if (rule.failed() || rank < 2 || dim + 1 >= rank) return;
  const SymExpr count = type.sizes[dim];
  const Typed places = added(rule, stepped(rule, 0, step, count), {count, 1},
                             stepped(rule, 0, dilation, size), {1, size}, {count, size});
  std::vector<SymExpr> sizes = rule.type("self").sizes;
  sizes[dim] = count * size;
  Emitter& out = rule.out();
  const Typed chosen = rule.make("aten.index_select",
                                 {x, out.integer(static_cast<std::int64_t>(dim)),
                                  rule.view(places, DType::int64, {count * size})},
                                 type.dtype, sizes);
  sizes[dim] = count;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim) + 1, size);
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != dim + 1) order.push_back(static_cast<std::int64_t>(i));
  }
  order.push_back(static_cast<std::int64_t>(dim) + 1);
  rule.give(rule.make("aten.permute", {rule.view(chosen, type.dtype, sizes), out.ints(order)}));
}

void as_strided(Rule& rule) {
  ops::Arguments& arguments = rule.arguments();
  const auto sizes = arguments.integers("size"), strides = arguments.integers("stride");
  const SymExpr offset = arguments.integer("offset");
  const TensorType& self = rule.type("self");
  const Typed x = rule.in("self");
  if (rule.failed() || strides.size() != sizes.size()) return;
  if (!is_contiguous(self) || self.storage_offset != SymExpr(0))
    return rule.refuse("it counts places in memory, and the dialect's values have none");
  std::vector<SymExpr> now;
  Typed places = stepped(rule, offset, 1, 1);
  SymExpr all = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    places = rule.view(added(rule, places, {all, 1}, stepped(rule, 0, strides[i], sizes[i]),
                             {1, sizes[i]}, {all, sizes[i]}),
                       DType::int64, {all * sizes[i]});
    all = all * sizes[i];
  }
  const Typed flat = rule.view(x, self.dtype, {element_count(self.sizes)});
  const Typed chosen =
      rule.make("aten.index_select", {flat, rule.out().integer(0), places}, self.dtype, {all});
  rule.give(rule.view(chosen, self.dtype, sizes));
}

}  // namespace penstock::mlir
