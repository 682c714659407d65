// Ops whose results are as large as elements say. A sum or a last element says how large, which
// prim.item makes a size of (Decomposition::decide); what stands behind knows it as any other size.
#include <numeric>

#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

ValueId flat(Decomposition& d, ValueId x) {
  return d.failed() ? x : d.reshape(x, {element_count(d.sizes(x))});
}

ValueId as_int64(Decomposition& d, ValueId x) {
  return d.convert(x, DType::int64);
}

/// Which elements are not zero.
ValueId marks_of(Decomposition& d, ValueId x) {
  const DType dtype = d.dtype_of(x);
  if (is_boolean(dtype)) return x;
  return d.binary("ne", value(x), Decomposition::number_as({DTypeCategory::integral, 0, 0}, dtype));
}

/// The places in a row of marks, as many as are decided to be.
ValueId places_of(Decomposition& d, ValueId row) {
  if (d.failed()) return kNoValue;
  d.decide(d.reduce("sum", as_int64(d, row), {0}, false));
  return d.emit("prim.nonzero", {arg("self", value(row)),
                                 arg("count", Decomposition::integer_argument(d.decided()))});
}

/// Along each dim, where the places in a row of all elements of `sizes` lie.
std::vector<ValueId> coordinates(Decomposition& d, ValueId places,
                                 const std::vector<SymExpr>& sizes) {
  std::vector<ValueId> all;
  SymExpr inner = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    ValueId one = places;
    if (inner != SymExpr(1))
      one = d.binary("floordiv", value(one), Decomposition::integer_argument(inner));
    if (i > 0) one = d.binary("remainder", value(one), Decomposition::integer_argument(sizes[i]));
    all.insert(all.begin(), one);
    inner *= sizes[i];
  }
  return all;
}

/// Where the elements that are not zero lie along each dim of x.
std::vector<ValueId> found(Decomposition& d, ValueId x) {
  const std::vector<SymExpr> sizes = d.sizes(x);
  const ValueId places = places_of(d, flat(d, marks_of(d, x)));
  return d.failed() ? std::vector<ValueId>() : coordinates(d, places, sizes);
}

/// Whether the marks can be counted: torch looks at a tensor without dims or elements in other
/// ways.
bool has_elements(Decomposition& d, ValueId x) {
  if (d.failed() || d.rank(x) == 0) return false;
  return element_count(d.sizes(x)).constant().value_or(1) > 0;
}

}  // namespace

/// A row for each place, which lies in memory as a column, as torch leaves it.
void nonzero(Decomposition& d) {
  const ValueId self = d.value("self");
  if (!has_elements(d, self)) return d.keep();
  std::vector<ValueId> lines;
  for (ValueId one : found(d, self)) lines.push_back(d.reshape(one, {SymExpr(1), d.decided()}));
  if (d.failed()) return;
  const ValueId matrix =
      lines.size() == 1
          ? lines.front()
          : d.emit("prim.cat", {arg("tensors", list_of(lines)), arg("dim", std::int64_t{0})});
  d.result(d.permute(matrix, {1, 0}));
}

/// The columns of nonzero, one after the other.
void nonzero_columns(Decomposition& d) {
  const ValueId self = d.value(d.has("condition") ? "condition" : "self");
  if (!has_elements(d, self)) return d.keep();
  for (ValueId one : found(d, self)) d.result(one);
}

void masked_select(Decomposition& d) {
  const ValueId self = d.value("self"), mask = d.value("mask");
  if (d.failed() || !is_boolean(d.dtype_of(mask))) return d.keep();
  const TensorType left = d.type(self), right = d.type(mask);
  const TensorType* both[] = {&left, &right};
  const std::vector<SymExpr> sizes = broadcast_sizes(d, both);
  if (d.failed() || sizes.empty() || element_count(sizes).constant().value_or(1) == 0)
    return d.keep();
  const ValueId places = places_of(d, flat(d, d.broadcast(mask, sizes)));
  d.result(d.index_select(flat(d, d.broadcast(self, sizes)), places, 0));
}

/// An index of which one is a mask, and no other one a tensor: what it selects of the dims that it
/// covers, which become one.
void masked_index_select(Decomposition& d) {
  const ValueId self = d.value("self");
  const Argument* indices = d.find("indices");
  const auto* list = indices != nullptr ? indices->as<Argument::Sequence>() : nullptr;
  if (d.failed() || list == nullptr) return d.keep();
  ValueId mask = kNoValue;
  std::size_t first = 0;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const auto* index = list->items[i].as<Argument::Value>();
    if (index == nullptr) continue;
    if (mask != kNoValue || !is_boolean(d.dtype_of(index->id))) return d.keep();
    mask = index->id;
    first = i;
  }
  if (mask == kNoValue || !has_elements(d, mask)) return d.keep();
  const std::vector<SymExpr> own = d.sizes(self), covered = d.sizes(mask);
  if (first + covered.size() > own.size()) return d.keep();
  for (std::size_t i = 0; i < covered.size(); ++i) {
    if (!d.equal(own[first + i], covered[i])) return d.keep();
  }
  const auto at = static_cast<std::ptrdiff_t>(first);
  std::vector<SymExpr> merged(own.begin(), own.begin() + at);
  merged.push_back(element_count(covered));
  merged.insert(merged.end(), own.begin() + at + static_cast<std::ptrdiff_t>(covered.size()),
                own.end());
  const ValueId places = places_of(d, flat(d, mask));
  d.result(d.index_select(d.reshape(self, merged), places, static_cast<std::int64_t>(first)));
}

namespace {

/// A row with one of the elements in front of it.
ValueId with_first(Decomposition& d, ValueId row, bool first) {
  return d.pad(row, {SymExpr(1)}, {SymExpr(0)}, first);
}

/// Where elements of a row differ from the one before; the first one does.
ValueId begins_of_runs(Decomposition& d, ValueId row, const SymExpr& length) {
  const SymExpr pairs = length - SymExpr(1);
  return with_first(
      d, d.binary("ne", value(d.slice(row, 0, 1, pairs, 1)), value(d.slice(row, 0, 0, pairs, 1))),
      true);
}

/// How far it is from each place to the next one, or to the end of the row.
ValueId gaps(Decomposition& d, ValueId places, const SymExpr& length) {
  const SymExpr rest = d.decided() - SymExpr(1);
  const ValueId next = d.pad(d.slice(places, 0, 1, rest, 1), {SymExpr(0)}, {SymExpr(1)},
                             Decomposition::integer_argument(length));
  return d.binary("sub", value(next), value(places));
}

/// The number of the run that each element of a row is in.
ValueId numbers_of_runs(Decomposition& d, ValueId begins) {
  const ValueId counted =
      d.emit("prim.cumsum", {arg("self", value(as_int64(d, begins))), arg("dim", std::int64_t{0})});
  return d.binary("sub", value(counted), std::int64_t{1});
}

ValueId nothing(Decomposition& d) {
  return d.full({SymExpr(0)}, std::int64_t{0}, DType::int64);
}

}  // namespace

/// Values, in order, the number of the one that each element is, and how often each is there. Of a
/// sorted row these are its runs.
void unique_values(Decomposition& d) {
  const bool sorts = d.detail() == "sorted";
  const ValueId self = d.value("self");
  if (!has_elements(d, self) || (!sorts && d.has("dim"))) return d.keep();
  const bool inverse = d.boolean("return_inverse", false),
             counts = d.boolean("return_counts", false);
  const std::vector<SymExpr> sizes = d.sizes(self);
  const SymExpr length = element_count(sizes);
  ValueId row = flat(d, self), from = kNoValue;
  if (sorts) {
    const std::vector<ValueId> both = d.emit_all(
        "aten.sort.default",
        {arg("self", value(row)), arg("dim", std::int64_t{0}), arg("descending", false)});
    if (both.empty() || d.failed()) return;
    row = both[0];
    from = both[1];
  }
  const ValueId begins = begins_of_runs(d, row, length);
  const ValueId places = places_of(d, begins);
  d.result(d.index_select(row, places, 0));
  if (inverse) {
    ValueId numbers = numbers_of_runs(d, begins);
    if (sorts)
      numbers = d.emit(
          "prim.scatter",
          {arg("self", value(d.full({length}, std::int64_t{0}, DType::int64))),
           arg("index", value(from)), arg("src", value(numbers)), arg("dim", std::int64_t{0})});
    d.result(d.reshape(numbers, sizes));
  } else {
    d.result(nothing(d));
  }
  d.result(counts ? gaps(d, places, length) : nothing(d));
}

namespace {

/// Which of a row of counts each of as many results as they sum up to belongs to: it counts, up to
/// there, the ones that begin.
ValueId owners(Decomposition& d, ValueId repeats) {
  const SymExpr length = d.sizes(repeats)[0];
  const ValueId ends =
      d.emit("prim.cumsum", {arg("self", value(repeats)), arg("dim", std::int64_t{0})});
  d.decide(d.reshape(d.slice(ends, 0, length - SymExpr(1), 1, 1), {}));
  const SymExpr others = length - SymExpr(1), total = d.decided();
  const ValueId starts = d.slice(ends, 0, 0, others, 1);
  // A negative number of repeats is an error of torch's.
  require_index(d, repeats, total + SymExpr(1), std::nullopt);
  const ValueId marks =
      d.emit("prim.scatter_add",
             {arg("self", value(d.full({total + SymExpr(1)}, std::int64_t{0}, DType::int64))),
              arg("index", value(starts)),
              arg("src", value(d.full({others}, std::int64_t{1}, DType::int64))),
              arg("dim", std::int64_t{0})});
  const ValueId counted =
      d.emit("prim.cumsum", {arg("self", value(marks)), arg("dim", std::int64_t{0})});
  return d.slice(counted, 0, 0, total, 1);
}

}  // namespace

void repeated_places(Decomposition& d) {
  const ValueId repeats = d.value("repeats");
  if (!has_elements(d, repeats) || d.rank(repeats) != 1) return d.keep();
  const DType dtype = d.dtype_of(repeats);
  if (dtype != DType::int64 && dtype != DType::int32) return d.keep();
  d.result(d.convert(owners(d, as_int64(d, repeats)), dtype));
}

void repeated_slices(Decomposition& d) {
  const ValueId self = d.value("self"), repeats = d.value("repeats");
  if (!has_elements(d, repeats) || d.rank(repeats) != 1 || d.rank(self) == 0) return d.keep();
  const DType dtype = d.dtype_of(repeats);
  if (dtype != DType::int64 && dtype != DType::int32) return d.keep();
  const bool all = !d.has("dim");
  const ValueId source = all ? flat(d, self) : self;
  const std::int64_t dim = all ? 0 : d.dim("dim", 0, d.rank(self));
  const SymExpr slices = d.failed() ? SymExpr(0) : d.sizes(source)[dim];
  if (d.failed() || !d.equal(slices, d.sizes(repeats)[0])) return d.keep();
  d.result(d.index_select(source, owners(d, as_int64(d, repeats)), dim));
}

/// How often each number is there: as many as the largest says, or as are asked for.
void counted_numbers(Decomposition& d) {
  const ValueId self = d.value("self");
  if (!has_elements(d, self) || d.rank(self) != 1 || is_boolean(d.dtype_of(self)) ||
      d.has("weights"))
    return d.keep();
  const SymExpr least = d.integer("minlength", 0);
  const ValueId numbers = as_int64(d, self);
  const ValueId largest = d.reduce("amax", numbers, {0}, false);
  d.decide(d.binary("maximum", value(d.binary("add", value(largest), std::int64_t{1})),
                    Decomposition::integer_argument(least)));
  require_index(d, numbers, d.decided(), std::nullopt);
  d.result(d.emit("prim.scatter_add",
                  {arg("self", value(d.full({d.decided()}, std::int64_t{0}, DType::int64))),
                   arg("index", value(numbers)),
                   arg("src", value(d.full(d.sizes(self), std::int64_t{1}, DType::int64))),
                   arg("dim", std::int64_t{0})}));
}

}  // namespace penstock::passes
