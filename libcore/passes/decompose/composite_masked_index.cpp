// Reductions of what indices send to the same place, and indices of which a mask says what is
// meant.
#include <limits>
#include <optional>

#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

/// What a reduction of nothing gives.
Argument neutral(std::string_view prim, DType dtype) {
  if (prim == "prod") return Decomposition::number_as({DTypeCategory::integral, 1, 1}, dtype);
  const bool least = prim == "amax";
  if (is_floating(dtype))
    return least ? -std::numeric_limits<double>::infinity()
                 : std::numeric_limits<double>::infinity();
  const std::int64_t bits = static_cast<std::int64_t>(facts(dtype).size) * 8;
  const std::int64_t top = dtype == DType::uint8 ? 255
                           : bits == 64          ? std::numeric_limits<std::int64_t>::max()
                                                 : (std::int64_t{1} << (bits - 1)) - 1;
  if (dtype == DType::uint8) return least ? std::int64_t{0} : top;
  return least ? -top - 1 : top;
}

struct Kind {
  std::string_view prim;     ///< the reduction
  std::string_view combine;  ///< of two elements; empty: none of these
};

Kind kind_of(std::string_view name) {
  if (name == "prod" || name == "multiply") return {"prod", "mul"};
  if (name == "amax") return {"amax", "maximum"};
  if (name == "amin") return {"amin", "minimum"};
  return {};
}

}  // namespace

/// Every place of the dim looks at all indices: for dims of few elements that is a reduction like
/// others. Beside `dim`, index and source may cover a part of self alone.
ValueId reduce_by_place(Decomposition& d, std::string_view name, ValueId self, ValueId index,
                        ValueId source, std::int64_t dim, bool includes) {
  constexpr std::int64_t kMostPlaces = 64;
  const Kind kind = kind_of(name);
  const DType dtype = d.dtype_of(self), compute = ops::compute_dtype(dtype);
  const auto places = d.failed() ? std::nullopt : d.sizes(self)[dim].constant();
  if (kind.combine.empty() || is_boolean(dtype) || !places || *places == 0 || *places > kMostPlaces)
    return kNoValue;
  d.check_index(index, dim, SymExpr(*places), false);
  // The elements to reduce go last, behind the places.
  const std::vector<SymExpr> own = d.sizes(self), given = d.sizes(index);
  std::vector<SymExpr> pairs = given;
  pairs[dim] = SymExpr(*places);
  pairs.push_back(given[dim]);
  // Dims of a broadcast go up.
  std::vector<std::int64_t> order, sorted;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(given.size()); ++i) {
    if (i != dim) order.push_back(i), sorted.push_back(i);
  }
  order.push_back(dim);
  sorted.push_back(static_cast<std::int64_t>(given.size()));
  const auto spread = [&](ValueId x) { return d.broadcast(d.permute(x, order), pairs, sorted); };
  const auto last = static_cast<std::int64_t>(given.size());
  const ValueId hit = d.binary("eq", value(spread(index)),
                               value(d.broadcast(d.iota(SymExpr(*places)), pairs, {dim})));
  const Argument nothing = neutral(kind.prim, compute);
  ValueId reduced = d.reduce(
      kind.prim, d.where(hit, value(spread(d.convert(source, compute))), nothing), {last}, false);
  ValueId any = d.reduce("any", hit, {last}, false);
  std::vector<SymExpr> none(own.size(), SymExpr(0)), rest = none;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (static_cast<std::int64_t>(i) != dim) rest[i] = own[i] - given[i];
  }
  reduced = d.pad(reduced, none, rest, nothing);
  any = d.pad(any, none, rest, false);
  const ValueId before = d.convert(self, compute);
  if (includes) reduced = d.binary(kind.combine, value(before), value(reduced));
  return d.convert(d.where(any, value(reduced), value(before)), dtype);
}

void index_reduction(Decomposition& d) {
  ValueId self = d.value("self"), source = d.value("source"), index = d.value("index");
  if (d.failed() || d.rank(index) > 1 || d.rank(source) != d.rank(self) ||
      d.dtype_of(source) != d.dtype_of(self))
    return d.keep();
  const std::vector<SymExpr> result = d.sizes(self), one = {SymExpr(1)};
  // A tensor without dims is one of one element.
  if (result.empty()) self = d.reshape(self, one), source = d.reshape(source, one);
  if (d.rank(index) == 0) index = d.reshape(index, one);
  const std::int64_t dim = d.dim("dim", 0, d.rank(self));
  if (d.failed() || element_count(d.sizes(source)) == SymExpr(0)) return d.keep();
  const std::vector<SymExpr> sizes = d.sizes(source);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (static_cast<std::int64_t>(i) != dim && sizes[i] != d.sizes(self)[i]) return d.keep();
  }
  const ValueId spread = d.broadcast(d.convert(index, DType::int64), sizes, {dim});
  const ValueId reduced = reduce_at(d, d.text("reduce", ""), self, spread, source, dim,
                                    d.boolean("include_self", true));
  if (reduced == kNoValue) return d.keep();
  d.result(d.reshape(reduced, result));
}

namespace {

/// The list of indices with each held within its dim; nothing for masks and lists that are none.
std::optional<Argument> held_indices(Decomposition& d, ValueId self) {
  const Argument* given = d.find("indices");
  const auto* list = given != nullptr ? given->as<Argument::Sequence>() : nullptr;
  if (list == nullptr || list->items.size() > d.rank(self)) return std::nullopt;
  Argument::Sequence held = *list;
  const std::vector<SymExpr> sizes = d.sizes(self);
  for (std::size_t i = 0; i < held.items.size(); ++i) {
    const auto* index = held.items[i].as<Argument::Value>();
    if (index == nullptr) continue;
    if (is_boolean(d.dtype_of(index->id)) || d.dtype_of(index->id) == DType::uint8)
      return std::nullopt;
    held.items[i] = value(d.apply(
        "aten.clamp.default",
        {arg("self", value(index->id)), arg("min", Decomposition::integer_argument(-sizes[i])),
         arg("max", Decomposition::integer_argument(sizes[i] - SymExpr(1)))}));
  }
  return Argument(std::move(held));
}

}  // namespace

/// Indices that the mask leaves out may lie anywhere.
void masked_index(Decomposition& d) {
  const ValueId self = d.value("self"), mask = d.value("mask");
  if (d.failed() || element_count(d.sizes(self)).constant().value_or(0) == 0 ||
      !is_boolean(d.dtype_of(mask)))
    return d.keep();
  const auto indices = held_indices(d, self);
  if (!indices) return d.keep();
  const ValueId without = d.unary("not", mask);
  if (d.has("fill")) {
    const ValueId picked =
        d.apply("aten.index.Tensor", {arg("self", value(self)), arg("indices", *indices)});
    return d.result(d.apply(
        "aten.masked_fill.Scalar",
        {arg("self", value(picked)), arg("mask", value(without)), arg("value", *d.find("fill"))}));
  }
  const ValueId added = d.apply("aten.masked_fill.Scalar",
                                {arg("self", value(d.value("values"))), arg("mask", value(without)),
                                 arg("value", std::int64_t{0})});
  d.result(
      d.apply("aten.index_put.default", {arg("self", value(self)), arg("indices", *indices),
                                         arg("values", value(added)), arg("accumulate", true)}));
}

}  // namespace penstock::passes
