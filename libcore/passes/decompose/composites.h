#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "passes/decompose/decompositions.h"

namespace penstock::passes {

// The functions that the table of composites names; a name that no file of this folder defines does
// not link.
#define PS_COMPOSITE(op, function, detail) void function(Decomposition&);
#include "passes/decompose/composites.def"
#undef PS_COMPOSITE

/// How an op without a row in ops.def is taken apart.
struct Composite {
  std::string_view op;
  void (*function)(Decomposition&);
  std::string_view detail;
};

/// The row of `op`, or null when there is none.
const Composite* find_composite(std::string_view op);

/// What a decomposition reads of its op, for one that ops.def does not know.
ops::OpFacts facts_of(const Composite& composite);

/// The value as an argument, and a binary prim of a value and another argument: what formulas are
/// written in.
inline Argument value(ValueId id) {
  return value_argument(id);
}
inline ValueId with(Decomposition& d, const char* prim, ValueId x, Argument other) {
  return d.binary(prim, value(x), std::move(other));
}

/// max(x, 0) as torch's losses have it: at 0 the derivative is 1.
inline ValueId at_least_zero(Decomposition& d, ValueId x) {
  return d.apply("aten.clamp_min.default", {arg("self", value(x)), arg("min", 0.0)});
}

/// Applies the schema's `reduction` to the losses of the elements.
void finish_reduced(Decomposition& d, ValueId losses, DType dtype);

/// Matrices whose diagonal `offset` places above the main one is x's last dim; zeros elsewhere.
ValueId on_diagonal(Decomposition& d, ValueId x, const SymExpr& offset);

/// What `source` sends to the places of `self` along `dim` that `index`, of its shape, names, as a
/// sum, a mean, a product or an extreme; together with the element that was there if that
/// `includes` it. kNoValue: that stays torch's.
ValueId reduce_at(Decomposition& d, std::string_view kind, ValueId self, ValueId index,
                  ValueId source, std::int64_t dim, bool includes);
/// The same for products and extremes.
ValueId reduce_by_place(Decomposition& d, std::string_view kind, ValueId self, ValueId index,
                        ValueId source, std::int64_t dim, bool includes);
/// log(exp(a) + exp(b)) of floats, or the same of powers of 2.
ValueId log_of_two(Decomposition& d, ValueId a, ValueId b, bool of_powers_of_two);
/// An error at run time unless the integers of `index` choose from `size`, or are `ignored`.
void require_index(Decomposition& d, ValueId index, const SymExpr& size,
                   std::optional<std::int64_t> ignored);
/// prim.gather along a dim.
ValueId gather_along(Decomposition& d, ValueId x, ValueId index, std::int64_t dim);

}  // namespace penstock::passes
