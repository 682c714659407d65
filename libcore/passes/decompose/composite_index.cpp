// Ops that read and write where tensors of indices say.
#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

ValueId scatter_of(Decomposition& d, std::string_view prim, ValueId self, ValueId index,
                   ValueId source, std::int64_t dim) {
  return d.emit("prim." + std::string(prim), {arg("self", value(self)), arg("index", value(index)),
                                              arg("src", value(source)), arg("dim", dim)});
}

/// A tensor without dims as one of one element.
ValueId with_dim(Decomposition& d, ValueId x) {
  return !d.failed() && d.rank(x) == 0 ? d.reshape(x, {SymExpr(1)}) : x;
}

ValueId flattened(Decomposition& d, ValueId x) {
  return d.failed() ? x : d.reshape(x, {element_count(d.sizes(x))});
}

/// The tensor to write to and the index of its dim, with elements that are looked at.
struct Places {
  ValueId self = kNoValue;
  ValueId index = kNoValue;  ///< one dim
  std::int64_t dim = 0;
  std::vector<SymExpr> result;   ///< sizes of the result
  std::vector<SymExpr> written;  ///< sizes of what is written
};

/// Nothing to write to where the arguments are none for one dim.
Places places_of(Decomposition& d, bool wraps) {
  Places p;
  p.self = d.value("self");
  p.index = d.value("index");
  if (d.failed() || !is_integral(d.dtype_of(p.index)) || is_boolean(d.dtype_of(p.index)) ||
      d.rank(p.index) > 1)
    return {};
  p.result = d.sizes(p.self);
  p.self = with_dim(d, p.self);
  p.dim = d.dim("dim", 0, d.rank(p.self));
  if (d.failed()) return {};
  d.check_index(p.index, p.dim, d.sizes(p.self)[p.dim], wraps);
  p.index = d.convert(with_dim(d, p.index), DType::int64);
  p.written = d.sizes(p.self);
  p.written[p.dim] = d.sizes(p.index)[0];
  return p;
}

void write_at(Decomposition& d, const Places& p, std::string_view prim, ValueId source) {
  const DType dtype = d.dtype_of(p.self),
              compute = prim == "scatter_add" ? ops::compute_dtype(dtype) : dtype;
  const ValueId index = d.broadcast(p.index, p.written, {p.dim});
  const ValueId written =
      scatter_of(d, prim, d.convert(p.self, compute), index, d.convert(source, compute), p.dim);
  if (!d.failed()) d.result(d.reshape(d.convert(written, dtype), p.result));
}

}  // namespace

void index_add(Decomposition& d) {
  const Places p = places_of(d, false);
  ValueId source = d.value("source");
  if (p.self == kNoValue || d.failed() || is_boolean(d.dtype_of(p.self)) ||
      d.dtype_of(source) != d.dtype_of(p.self))
    return d.keep();
  source = with_dim(d, source);
  if (d.rank(source) != p.written.size()) return d.keep();
  // Sizes that differ in name are one: a place of the index for each part of the source.
  const std::vector<SymExpr> given = d.sizes(source);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!d.equal(given[i], p.written[i])) return d.keep();
  }
  if (d.differs("alpha", 1)) {
    const DType dtype = d.dtype_of(source);
    const Operands like{{}, d.sizes(source), dtype, ops::compute_dtype(dtype)};
    source = d.convert(
        d.binary("mul", value(d.convert(source, like.compute)), d.factor("alpha", 1, like)), dtype);
  }
  write_at(d, p, "scatter_add", source);
}

void index_fill(Decomposition& d) {
  const Places p = places_of(d, true);
  if (p.self == kNoValue || d.failed()) return d.keep();
  const DType dtype = d.dtype_of(p.self);
  const ops::Operand content = d.operand("value");
  if (d.failed()) return;
  if (!content.is_tensor())
    return write_at(d, p, "scatter", number_in(d, "value", p.written, dtype));
  if (d.rank(content.value) != 0) return d.keep();
  write_at(d, p, "scatter", d.broadcast(d.convert(content.value, dtype), p.written));
}

/// Elements of the flattened tensor.
void take_elements(Decomposition& d) {
  const ValueId self = d.value("self"), index = d.value("index");
  if (d.failed() || d.dtype_of(index) != DType::int64) return d.keep();
  const SymExpr count = element_count(d.sizes(self));
  if (count.constant().value_or(0) == 0) return d.keep();
  d.check_index(index, 0, count, true);
  const ValueId picked = d.emit(
      "prim.gather", {arg("self", value(flattened(d, self))),
                      arg("index", value(flattened(d, index))), arg("dim", std::int64_t{0})});
  if (!d.failed()) d.result(d.reshape(picked, d.sizes(index)));
}

void put_elements(Decomposition& d) {
  const ValueId self = d.value("self"), index = d.value("index"), source = d.value("source");
  if (d.failed() || d.dtype_of(index) != DType::int64 || d.dtype_of(source) != d.dtype_of(self))
    return d.keep();
  const SymExpr count = element_count(d.sizes(self));
  const bool adds = d.boolean("accumulate", false);
  const DType dtype = d.dtype_of(self), compute = adds ? ops::compute_dtype(dtype) : dtype;
  if (count.constant().value_or(0) == 0 || (adds && is_boolean(dtype))) return d.keep();
  if (element_count(d.sizes(index)) != element_count(d.sizes(source))) return d.keep();
  d.check_index(index, 0, count, true);
  const ValueId written =
      scatter_of(d, adds ? "scatter_add" : "scatter", flattened(d, d.convert(self, compute)),
                 flattened(d, index), flattened(d, d.convert(source, compute)), 0);
  if (!d.failed()) d.result(d.reshape(d.convert(written, dtype), d.sizes(self)));
}

ValueId reduce_at(Decomposition& d, std::string_view kind, ValueId self, ValueId index,
                  ValueId source, std::int64_t dim, bool includes) {
  const bool mean = kind == "mean";
  if (kind != "sum" && kind != "add" && !mean)
    return reduce_by_place(d, kind, self, index, source, dim, includes);
  const DType dtype = d.dtype_of(self);
  if (is_boolean(dtype)) return kNoValue;
  const auto number = [&](std::int64_t n) {
    return Decomposition::number_as({DTypeCategory::integral, static_cast<double>(n), n}, dtype);
  };
  const auto scattered = [&](std::string_view op, ValueId target, const char* name,
                             Argument content) {
    return d.apply(op, {arg("self", value(target)), arg("dim", dim), arg("index", value(index)),
                        arg(name, std::move(content))});
  };
  const std::vector<SymExpr> sizes = d.sizes(self);
  if (!includes) self = scattered("aten.scatter.value", self, "value", number(0));
  const ValueId total = scattered("aten.scatter_add.default", self, "src", value(source));
  if (!mean) return total;
  const ValueId own = d.full(sizes, number(includes ? 1 : 0), dtype),
                ones = d.full(d.sizes(index), number(1), dtype);
  ValueId count = scattered("aten.scatter_add.default", own, "src", value(ones));
  if (!includes) count = d.where(d.binary("eq", value(count), number(0)), number(1), value(count));
  if (is_floating(dtype)) return d.apply("div", value(total), value(count));
  return d.apply("aten.div.Tensor_mode", {arg("self", value(total)), arg("other", value(count)),
                                          arg("rounding_mode", std::string("floor"))});
}

void scatter_reduction(Decomposition& d) {
  const ValueId self = d.value("self");
  ValueId index = d.value("index");
  if (d.failed() || d.rank(self) == 0 || d.rank(self) != d.rank(index)) return d.keep();
  const DType dtype = d.dtype_of(self);
  const std::vector<SymExpr> sizes = d.sizes(index);
  if (element_count(sizes) == SymExpr(0)) return d.keep();
  ValueId source = kNoValue;
  if (d.has("src"))
    source = d.value("src");
  else
    source = number_in(d, "value", sizes, dtype);
  if (d.failed() || d.dtype_of(source) != dtype || d.rank(source) != sizes.size()) return d.keep();
  for (std::size_t i = 0; i < sizes.size(); ++i)
    source = d.slice(source, static_cast<std::int64_t>(i), 0, sizes[i], 1);
  index = d.convert(index, DType::int64);
  const std::int64_t dim = d.dim("dim", 0, sizes.size());
  const ValueId reduced =
      reduce_at(d, d.text("reduce", ""), self, index, source, dim, d.boolean("include_self", true));
  if (reduced == kNoValue) return d.keep();
  d.result(reduced);
}

/// The elements of `source`, flat, for so many marks, of which there may be more than elements: the
/// run fails then. An element that nothing reads stands behind them, as there may be none at all.
ValueId enough_elements(Decomposition& d, ValueId source, ValueId counted, const SymExpr& most) {
  const SymExpr given = element_count(d.sizes(source));
  const ValueId marked = d.slice(counted, 0, most - SymExpr(1), SymExpr(1), SymExpr(1));
  require_index(d, marked, given + SymExpr(1), std::nullopt);
  return d.pad(source, {SymExpr(0)}, {SymExpr(1)}, std::int64_t{0});
}

/// The elements of source in turn, where the mask says so: the count of those before says which.
void masked_scatter(Decomposition& d) {
  const ValueId self = d.value("self"), mask = d.value("mask"), source = d.value("source");
  if (d.failed() || !is_boolean(d.dtype_of(mask)) || d.dtype_of(source) != d.dtype_of(self))
    return d.keep();
  const TensorType left = d.type(self), right = d.type(mask);
  const TensorType* both[] = {&left, &right};
  const std::vector<SymExpr> sizes = broadcast_sizes(d, both);
  const SymExpr most = element_count(sizes), given = element_count(d.sizes(source));
  if (d.failed() || most.constant() == 0) return d.keep();
  const bool enough = most == given || (most.constant() && given.constant() &&
                                        *given.constant() >= *most.constant());
  const ValueId marks = flattened(d, d.convert(d.broadcast(mask, sizes), DType::int64));
  const ValueId counted =
      d.emit("prim.cumsum", {arg("self", value(marks)), arg("dim", std::int64_t{0})});
  ValueId from = flattened(d, source),
          place = d.binary("maximum", value(d.binary("sub", value(counted), std::int64_t{1})),
                           std::int64_t{0});
  if (!enough) {
    from = enough_elements(d, from, counted, most);
    place = d.binary("minimum", value(place), Decomposition::integer_argument(given));
  }
  const ValueId picked = d.reshape(
      d.emit("prim.gather",
             {arg("self", value(from)), arg("index", value(place)), arg("dim", std::int64_t{0})}),
      sizes);
  d.result(d.where(d.broadcast(mask, sizes), value(picked), value(d.broadcast(self, sizes))));
}

/// What is not true is at a place that is not there.
void demanded(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed()) return;
  const ValueId missing = d.convert(d.unary("not", self), DType::int64);
  require_index(d, d.reshape(missing, {SymExpr(1)}), SymExpr(1), std::nullopt);
}

}  // namespace penstock::passes
