// Indexing by tensors. The indices of primitive ops may count from the end, ATen's may not.
// Indices out of range are checked by whoever runs the function, or not: there is no form for it.
#include "interchange/mlir/rules/rules.h"

namespace penstock::mlir {

namespace {

/// The indices, none of them negative.
Typed wrapped(Rule& rule, std::int64_t dim) {
  const TensorType& index = rule.type("index");
  const Typed given = rule.in("index");
  const TensorType& self = rule.type("self");
  if (rule.failed() || static_cast<std::size_t>(dim) >= self.rank()) return given;
  Emitter& out = rule.out();
  const Typed back = rule.make(
      "aten.add.Scalar",
      {given, out.size(self.sizes[static_cast<std::size_t>(dim)]), out.integer(1)}, index);
  const Typed negative =
      rule.make("aten.lt.Scalar", {given, out.integer(0)}, DType::bool_, index.sizes);
  return rule.make("aten.where.self", {negative, back, given}, index);
}

std::int64_t dim_of(Rule& rule) {
  return rule.arguments().dim("dim", 0, rule.type("self").rank());
}

}  // namespace

void nothing(Rule& rule) {
  static_cast<void>(rule);
}

void gather(Rule& rule) {
  const std::int64_t dim = dim_of(rule);
  const Typed x = rule.in("self"), index = wrapped(rule, dim);
  if (rule.failed()) return;
  Emitter& out = rule.out();
  rule.give(rule.make(rule.detail(), {x, out.integer(dim), index, out.boolean(false)}));
}

void index_select(Rule& rule) {
  const std::int64_t dim = dim_of(rule);
  const Typed x = rule.in("self");
  Typed index = wrapped(rule, dim);
  if (rule.failed()) return;
  if (rule.type("self").rank() == 0) return rule.give(x);
  if (rule.type("index").rank() == 0)
    index = rule.view(index, rule.type("index").dtype, {SymExpr(1)});
  rule.give(rule.make(rule.detail(), {x, rule.out().integer(dim), index}));
}

void scatter(Rule& rule) {
  const std::int64_t dim = dim_of(rule);
  const TensorType& places = rule.type("index");
  const DType dtype = rule.result().dtype;
  const Typed x = rule.in("self"), index = wrapped(rule, dim);
  const ops::Operand given = rule.arguments().operand("src");
  if (rule.failed()) return;
  Emitter& out = rule.out();
  Typed src;
  if (!given.is_tensor()) {
    const Typed none = out.none();
    src = rule.make(
        "aten.full",
        {out.sizes(places.sizes), rule.number("src", dtype), out.dtype(dtype), none, none, none},
        dtype, places.sizes);
  } else {
    src = rule.in("src");
    // Elements of src beside the indices are not looked at.
    std::vector<SymExpr> sizes = given.tensor->sizes;
    for (std::size_t i = 0; i < sizes.size() && i < places.rank(); ++i) {
      if (sizes[i] == places.sizes[i]) continue;
      sizes[i] = places.sizes[i];
      src = rule.make("aten.slice.Tensor",
                      {src, out.integer(static_cast<std::int64_t>(i)), out.integer(0),
                       out.size(sizes[i]), out.integer(1)},
                      dtype, sizes);
    }
  }
  if (!rule.failed()) rule.give(rule.make(rule.detail(), {x, out.integer(dim), index, src}));
}

}  // namespace penstock::mlir
