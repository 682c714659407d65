// Reductions and scans.
#include "interchange/mlir/rules/rules.h"

namespace penstock::mlir {

namespace {

/// Sums and products of whole numbers say which ones: torch's are int64 else.
Typed same_dtype(Rule& rule) {
  const DType dtype = rule.type("self").dtype;
  return is_integral(dtype) ? rule.out().dtype(dtype) : rule.out().none();
}

std::vector<SymExpr> without(std::vector<SymExpr> sizes, const std::vector<std::int64_t>& dims,
                             bool keep) {
  for (std::size_t i = dims.size(); i-- > 0;) {
    const auto dim = static_cast<std::size_t>(dims[i]);
    if (dim >= sizes.size()) continue;
    if (keep)
      sizes[dim] = 1;
    else
      sizes.erase(sizes.begin() + dims[i]);
  }
  return sizes;
}

}  // namespace

void reduce(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  const Typed x = rule.in("self");
  if (rule.failed() || dims.empty()) return rule.give(x);
  Emitter& out = rule.out();
  rule.give(rule.make(rule.detail(), {x, out.ints(dims), out.boolean(false), same_dtype(rule)}));
}

void extreme(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  const Typed x = rule.in("self");
  if (rule.failed() || dims.empty()) return rule.give(x);
  rule.give(rule.make(rule.detail(), {x, rule.out().ints(dims), rule.out().boolean(false)}));
}

void reduce_each(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  Typed x = rule.in("self");
  if (rule.failed()) return;
  Emitter& out = rule.out();
  std::vector<SymExpr> sizes = rule.type("self").sizes;
  const bool typed = rule.detail() == "aten.prod.dim_int";
  for (std::size_t i = dims.size(); i-- > 0;) {
    sizes = without(std::move(sizes), {dims[i]}, false);
    Operands given = {x, out.integer(dims[i]), out.boolean(false)};
    if (typed) given.push_back(same_dtype(rule));
    x = rule.make(rule.detail(), given, rule.result().dtype, sizes);
  }
  rule.give(x);
}

void arg_reduce(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  const Typed x = rule.in("self");
  if (rule.failed()) return;
  Emitter& out = rule.out();
  const Typed dim = dims.empty() ? out.none() : out.integer(dims.front());
  rule.give(rule.make(rule.detail(), {x, dim, out.boolean(false)}));
}

void welford(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  const Typed x = rule.in("self");
  if (rule.failed()) return;
  if (dims.empty()) return rule.refuse("the moments of single elements");
  Emitter& out = rule.out();
  const TensorType& self = rule.type("self");
  const Typed places = out.ints(dims), no = out.boolean(false), none = out.none();
  const Typed mean = rule.make("aten.mean.dim", {x, places, out.boolean(true), none}, self.dtype,
                               without(self.sizes, dims, true));
  const Typed gap = rule.make("aten.sub.Tensor", {x, mean, out.integer(1)}, self.dtype, self.sizes);
  const Typed square = rule.make("aten.mul.Tensor", {gap, gap}, self.dtype, self.sizes);
  rule.give(rule.view(mean, self.dtype, rule.result(0).sizes), 0);
  rule.give(rule.make("aten.sum.dim_IntList", {square, places, no, none}, rule.result(1)), 1);
}

void scan(Rule& rule) {
  const std::int64_t dim = rule.arguments().constant("dim", 0);
  const Typed x = rule.in("self");
  if (rule.failed() || rule.result().rank() == 0) return rule.give(x);
  rule.give(rule.make(rule.detail(), {x, rule.out().integer(dim), same_dtype(rule)}));
}

}  // namespace penstock::mlir
