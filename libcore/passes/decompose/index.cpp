// Indexing by tensors.
#include <algorithm>
#include <numeric>
#include <optional>

#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

ValueId int64(Decomposition& d, ValueId index) {
  return d.convert(index, DType::int64);
}

Argument zero_of(DType dtype) {
  return Decomposition::number_as({DTypeCategory::integral, 0, 0}, dtype);
}

ValueId index_select_dim(Decomposition& d, ValueId self, ValueId index, std::int64_t dim) {
  return d.emit("prim.index_select", {arg("self", value_argument(self)),
                                      arg("index", value_argument(index)), arg("dim", dim)});
}

}  // namespace

void gather(Decomposition& d) {
  ValueId self = d.value("self"), index = int64(d, d.value("index"));
  if (d.failed()) return;
  std::int64_t dim = d.dim("dim", 0, d.rank(self));
  std::vector<SymExpr> sizes = d.sizes(index);
  // A tensor without dims is one of one element.
  if (d.rank(self) == 0) self = d.reshape(self, {SymExpr(1)});
  if (sizes.empty()) index = d.reshape(index, {SymExpr(1)});
  // gather looks only at the part of self that index covers, beside dim.
  std::vector<SymExpr> window = d.sizes(index), own = d.sizes(self);
  // An index without elements may have any rank: nothing is taken.
  if (element_count(sizes) == SymExpr(0))
    return d.result(d.full(sizes, zero_of(d.dtype_of(self)), d.dtype_of(self)));
  if (window.size() != own.size()) return d.fail("index and self differ in rank");
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (static_cast<std::int64_t>(i) != dim)
      self = d.slice(self, static_cast<std::int64_t>(i), 0, window[i], 1);
  }
  d.result(d.reshape(d.emit("prim.gather", {arg("self", value_argument(self)),
                                            arg("index", value_argument(index)), arg("dim", dim)}),
                     sizes));
}

void take_along_dim(Decomposition& d) {
  ValueId self = d.value("self"), index = int64(d, d.value("indices"));
  if (d.failed()) return;
  std::int64_t dim = 0;
  if (d.has("dim")) {
    dim = d.dim("dim", 0, d.rank(self));
    std::vector<SymExpr> own = d.sizes(self), picks = d.sizes(index);
    if (own.empty() || own[dim] == SymExpr(0)) return d.keep();
    index = d.binary("remainder", value_argument(index), Decomposition::integer_argument(own[dim]));
    TensorType left, right;
    left.sizes = own;
    right.sizes = picks;
    left.sizes[dim] = picks[dim];
    const TensorType* both[] = {&left, &right};
    picks = broadcast_sizes(d, both);
    index = d.broadcast(index, picks);
    picks[dim] = own[dim];
    self = d.broadcast(self, picks);
  } else {
    self = d.reshape(self, {element_count(d.sizes(self))});
    index = d.reshape(index, {element_count(d.sizes(index))});
  }
  d.result(d.emit("prim.gather", {arg("self", value_argument(self)),
                                  arg("index", value_argument(index)), arg("dim", dim)}));
}

void index_select(Decomposition& d) {
  ValueId self = d.value("self"), index = int64(d, d.value("index"));
  if (d.failed()) return;
  std::int64_t dim = d.dim("dim", 0, d.rank(self));
  bool scalar = d.rank(self) == 0;
  if (scalar) self = d.reshape(self, {SymExpr(1)});
  if (d.rank(index) == 0) index = d.reshape(index, {SymExpr(1)});
  ValueId result = index_select_dim(d, self, index, dim);
  d.result(scalar ? d.reshape(result, {}) : result);
}

void scatter(Decomposition& d) {
  ValueId self = d.value("self"), index = int64(d, d.value("index"));
  if (d.failed() || d.rank(self) == 0) return d.keep();
  std::int64_t dim = d.dim("dim", 0, d.rank(self));
  DType dtype = d.dtype_of(self),
        compute = d.detail() == "scatter_add" ? ops::compute_dtype(dtype) : dtype;
  std::vector<SymExpr> sizes = d.sizes(index);
  // An index without elements, whatever its rank, writes nothing.
  if (element_count(sizes) == SymExpr(0)) return d.result(d.unary("clone", self));
  if (sizes.size() != d.rank(self)) return d.fail("index and self differ in rank");
  ValueId source;
  if (d.has("value")) {
    source = number_in(d, "value", sizes, compute);
  } else {
    source = d.convert(d.value("src"), compute);
    if (!d.failed() && d.rank(source) != sizes.size())
      return d.fail("src and index differ in rank");
    for (std::size_t i = 0; i < sizes.size(); ++i)
      source = d.slice(source, static_cast<std::int64_t>(i), 0, sizes[i], 1);
  }
  d.finish(d.emit("prim." + std::string(d.detail()),
                  {arg("self", value_argument(d.convert(self, compute))),
                   arg("index", value_argument(index)), arg("src", value_argument(source)),
                   arg("dim", dim)}),
           dtype);
}

/// Each element beside all that are tested: torch sorts where those are many.
void isin(Decomposition& d) {
  constexpr std::int64_t kMost = 256;
  if (d.inferred_or_keep().empty()) return;
  const bool invert = d.boolean("invert", false);
  ValueId elements = d.value("elements");
  if (d.failed()) return;
  ValueId found = 0;
  if (d.has("test_elements")) {
    const ValueId tested = d.value("test_elements");
    const SymExpr count = element_count(d.sizes(tested));
    if (count.constant().value_or(kMost) >= kMost) return d.keep();
    std::vector<SymExpr> sizes = d.sizes(elements), pairs = sizes;
    sizes.emplace_back(1);
    pairs.push_back(count);
    const ValueId same =
        d.binary("eq", value_argument(d.broadcast(d.reshape(elements, sizes), pairs)),
                 value_argument(d.broadcast(d.reshape(tested, {count}), pairs)));
    found = d.reduce("any", same, {static_cast<std::int64_t>(d.rank(elements))}, false);
  } else {
    const Operands both = d.operands({"elements", "test_element"}, Promotion::exact);
    if (d.failed()) return;
    if (both.promoted != d.dtype_of(elements)) return d.keep();
    found = d.binary("eq", both.terms[0], both.terms[1]);
  }
  d.result(invert ? d.unary("not", found) : found);
}

void argsort(Decomposition& d) {
  ValueId self = d.value("self");
  if (d.failed()) return;
  std::vector<NamedArgument> args = {arg("self", value_argument(self)),
                                     arg("dim", d.dim("dim", -1, d.rank(self))),
                                     arg("descending", d.boolean("descending", false))};
  const bool stable = d.has("stable");
  if (stable) args.push_back(arg("stable", d.boolean("stable", false)));
  d.result(d.emit_all(stable ? "aten.sort.stable" : "aten.sort.default", std::move(args))[1]);
}

void one_hot(Decomposition& d) {
  ValueId self = d.value("self");
  const SymExpr classes = d.integer("num_classes", -1);
  if (d.failed() || d.less(classes, SymExpr(0))) return d.keep();
  std::vector<SymExpr> sizes = d.sizes(self), lifted = sizes;
  sizes.push_back(classes);
  lifted.push_back(1);
  ValueId numbers = d.emit("prim.iota", {arg("length", Decomposition::integer_argument(classes)),
                                         arg("start", std::int64_t{0}),
                                         arg("step", std::int64_t{1}), arg("dtype", DType::int64)});
  ValueId given = d.broadcast(d.reshape(int64(d, self), lifted), sizes);
  d.finish(d.binary("eq", value_argument(given), value_argument(d.broadcast(numbers, sizes))),
           DType::int64);
}

namespace {

/// What a list of indices picks of a tensor: the indexed dims become one, and one flat index picks
/// from it.
struct Picking {
  std::vector<std::int64_t> order;  ///< the dims with the indexed ones side by side
  std::vector<SymExpr> merged;      ///< sizes of the tensor in that order, its indexed dims as one
  std::size_t place = 0;            ///< that dim's
  std::vector<SymExpr> picked;      ///< sizes of the indices
  std::vector<SymExpr> result;      ///< sizes of what is picked
  ValueId flat = kNoValue;          ///< of sizes `picked`
};

/// Nothing for masks and lists without a tensor.
std::optional<Picking> picking_of(Decomposition& d, ValueId self) {
  const Argument* argument = d.find("indices");
  const auto* list = argument ? argument->as<Argument::Sequence>() : nullptr;
  if (d.failed() || !list) {
    d.fail("indices must be a list");
    return std::nullopt;
  }
  std::vector<std::int64_t> indexed, rest;
  std::vector<ValueId> indices;
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < d.rank(self); ++i) {
    const auto* value = i < list->items.size() ? list->items[i].as<Argument::Value>() : nullptr;
    (value ? indexed : rest).push_back(static_cast<std::int64_t>(i));
    if (value) indices.push_back(value->id);
  }
  for (ValueId id : indices) {
    types.push_back(d.type(id));
    bool mask = is_boolean(types.back().dtype) || types.back().dtype == DType::uint8;
    if (mask) return std::nullopt;
  }
  if (indices.empty()) return std::nullopt;
  std::vector<const TensorType*> pointers;
  for (const TensorType& type : types) pointers.push_back(&type);
  Picking p;
  p.picked = broadcast_sizes(d, pointers);
  const std::vector<SymExpr> own = d.sizes(self);
  bool adjacent = indexed.back() - indexed.front() + 1 == static_cast<std::int64_t>(indexed.size());
  p.place = adjacent ? static_cast<std::size_t>(indexed.front()) : 0;
  p.order.assign(rest.begin(), rest.begin() + p.place);
  p.order.insert(p.order.end(), indexed.begin(), indexed.end());
  p.order.insert(p.order.end(), rest.begin() + p.place, rest.end());
  for (std::size_t i = 0; i <= rest.size(); ++i) {
    if (i == p.place)
      p.merged.push_back(d.count(own, indexed)),
          p.result.insert(p.result.end(), p.picked.begin(), p.picked.end());
    if (i == rest.size()) break;
    p.merged.push_back(own[rest[i]]);
    p.result.push_back(own[rest[i]]);
  }
  for (std::size_t i = 0; i < indices.size(); ++i) {
    ValueId one = d.broadcast(int64(d, indices[i]), p.picked);
    Argument size = Decomposition::integer_argument(own[indexed[i]]);
    if (indices.size() > 1) {
      ValueId negative = d.binary("lt", value_argument(one), std::int64_t{0});
      one = d.where(negative, value_argument(d.binary("add", value_argument(one), size)),
                    value_argument(one));
    }
    if (p.flat == kNoValue)
      p.flat = one;
    else
      p.flat = d.binary("add", value_argument(d.binary("mul", value_argument(p.flat), size)),
                        value_argument(one));
  }
  return p;
}

/// self with `source` written, or added, along `dim` at the places that `index`, of one dim, names.
ValueId write_rows(Decomposition& d, std::string_view prim, ValueId self, ValueId index,
                   ValueId source, std::int64_t dim) {
  const std::vector<SymExpr> sizes = d.sizes(source);
  std::vector<SymExpr> lifted(sizes.size(), SymExpr(1));
  lifted[dim] = sizes[dim];
  index = d.broadcast(d.reshape(index, lifted), sizes);
  return d.emit("prim." + std::string(prim),
                {arg("self", value_argument(self)), arg("index", value_argument(index)),
                 arg("src", value_argument(source)), arg("dim", dim)});
}

}  // namespace

void index(Decomposition& d) {
  ValueId self = d.value("self");
  const std::optional<Picking> p = picking_of(d, self);
  if (!p) return d.keep();
  ValueId source = d.reshape(d.permute(self, p->order), p->merged);
  ValueId elements = index_select_dim(d, source, d.reshape(p->flat, {element_count(p->picked)}),
                                      static_cast<std::int64_t>(p->place));
  d.result(d.reshape(elements, p->result));
}

void index_copy(Decomposition& d) {
  ValueId self = d.value("self"), index = int64(d, d.value("index")), source = d.value("source");
  if (d.failed() || d.rank(source) != d.rank(self)) return d.keep();
  // A tensor without dims is one of one element.
  const std::vector<SymExpr> sizes = d.sizes(self);
  if (sizes.empty()) {
    self = d.reshape(self, {SymExpr(1)});
    source = d.reshape(source, {SymExpr(1)});
  }
  const ValueId written =
      write_rows(d, "scatter", self, index, source, d.dim("dim", 0, d.rank(self)));
  if (!d.failed()) d.result(d.reshape(written, sizes));
}

void index_put(Decomposition& d) {
  ValueId self = d.value("self"), values = d.value("values");
  const bool adds = d.boolean("accumulate", false);
  if (d.failed() || (adds && is_boolean(d.dtype_of(self)))) return d.keep();
  const DType dtype = d.dtype_of(self), compute = adds ? ops::compute_dtype(dtype) : dtype;
  const std::optional<Picking> p = picking_of(d, self);
  if (!p) return d.keep();
  const std::vector<SymExpr> own = d.sizes(self);
  std::vector<SymExpr> sizes = p->merged;
  sizes[p->place] = element_count(p->picked);
  const ValueId source = d.convert(d.reshape(d.broadcast(values, p->result), sizes), compute);
  const ValueId target = d.convert(d.reshape(d.permute(self, p->order), p->merged), compute);
  const ValueId index = d.reshape(p->flat, {element_count(p->picked)});
  const ValueId written = d.convert(write_rows(d, adds ? "scatter_add" : "scatter", target, index,
                                               source, static_cast<std::int64_t>(p->place)),
                                    dtype);
  std::vector<std::int64_t> back(p->order.size());
  std::vector<SymExpr> apart;
  for (std::size_t i = 0; i < back.size(); ++i) {
    back[p->order[i]] = static_cast<std::int64_t>(i);
    apart.push_back(own[p->order[i]]);
  }
  d.result(d.permute(d.reshape(written, apart), back));
}

}  // namespace penstock::passes
