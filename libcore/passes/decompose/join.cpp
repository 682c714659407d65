// Concatenation, repetition, padding.
#include <algorithm>

#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

/// Tensors in their common dtype.
std::vector<ValueId> promoted_values(Decomposition& d) {
  std::vector<ValueId> values = d.values("tensors");
  ops::ResultType promoted;
  for (ValueId id : values) promoted.add_tensor(d.dtype_of(id), d.rank(id) > 0);
  for (ValueId& id : values) id = d.convert(id, promoted.dtype());
  return values;
}

ValueId concatenate(Decomposition& d, const std::vector<ValueId>& values, std::int64_t dim) {
  if (d.failed()) return 0;
  if (values.size() == 1) return d.unary("clone", values.front());
  return d.emit("prim.cat", {arg("tensors", list_of(values)), arg("dim", dim)});
}

/// x with every dim i repeated: as a whole (tiled) or element by element.
ValueId repeat_dims(Decomposition& d, ValueId x, const std::vector<SymExpr>& counts, bool tiled) {
  std::vector<SymExpr> own = d.sizes(x), split, spread, result;
  for (std::size_t i = 0; i < own.size(); ++i) {
    split.insert(split.end(), {tiled ? SymExpr(1) : own[i], tiled ? own[i] : SymExpr(1)});
    spread.insert(spread.end(), {tiled ? counts[i] : own[i], tiled ? own[i] : counts[i]});
    result.push_back(counts[i] * own[i]);
  }
  return d.reshape(d.broadcast(d.reshape(x, split), spread), result);
}

/// Elements that come round to the front of a dim of `size`: the shift modulo the size.
SymExpr rolled_back(Decomposition& d, const SymExpr& shift, const SymExpr& size) {
  const SymExpr back = mod(shift, size);
  if (back.is_constant()) return back;
  const bool forward = !d.less(shift, SymExpr(0));
  const SymExpr within = forward ? shift : shift + size;
  const bool once = forward ? d.less(shift, size) : !d.less(within, SymExpr(0));
  return once ? within : back;
}

}  // namespace

void cat(Decomposition& d) {
  std::vector<ValueId> values = promoted_values(d);
  if (d.failed()) return;
  std::vector<ValueId> kept;
  std::size_t rank = 1;
  for (ValueId id : values) rank = std::max(rank, d.rank(id));
  for (ValueId id : values) {
    bool ignored = rank > 1 && d.rank(id) == 1 && d.sizes(id)[0] == SymExpr(0);
    if (!ignored) kept.push_back(id);
  }
  d.result(concatenate(d, kept, d.dim("dim", 0, rank)));
}

void diff(Decomposition& d) {
  const std::vector<TensorType> types = d.inferred_or_keep();
  if (d.failed() || types.empty()) return;
  const std::int64_t n = d.constant("n", 1);
  ValueId x = d.value("self");
  const std::int64_t dim = d.dim("dim", -1, d.rank(x));
  const DType dtype = types.front().dtype;
  std::vector<ValueId> parts;
  if (n > 0 && d.has("prepend")) parts.push_back(d.convert(d.value("prepend"), dtype));
  parts.push_back(d.convert(x, dtype));
  if (n > 0 && d.has("append")) parts.push_back(d.convert(d.value("append"), dtype));
  x = parts.size() == 1 ? parts.front() : concatenate(d, parts, dim);
  for (std::int64_t turn = 0; turn < n && !d.failed() && d.sizes(x)[dim] != SymExpr(0); ++turn) {
    const SymExpr length = d.sizes(x)[dim] - SymExpr(1);
    const ValueId next = d.slice(x, dim, SymExpr(1), length, SymExpr(1)),
                  own = d.slice(x, dim, SymExpr(0), length, SymExpr(1));
    // Half precision is rounded after each difference, as by ATen's sub.
    const DType compute = ops::compute_dtype(dtype);
    x = is_boolean(dtype) ? d.binary("ne", value_argument(next), value_argument(own))
                          : d.convert(d.binary("sub", value_argument(d.convert(next, compute)),
                                               value_argument(d.convert(own, compute))),
                                      dtype);
  }
  d.result(x == d.value("self") ? d.unary("clone", x) : x);
}

void stack(Decomposition& d) {
  std::vector<ValueId> values = promoted_values(d);
  if (d.failed()) return;
  std::int64_t dim = d.dim("dim", 0, d.rank(values.front()) + 1);
  for (ValueId& id : values) {
    std::vector<SymExpr> sizes = d.sizes(id);
    sizes.insert(sizes.begin() + dim, SymExpr(1));
    id = d.reshape(id, sizes);
  }
  d.result(concatenate(d, values, dim));
}

void repeat(Decomposition& d) {
  ValueId self = d.value("self");
  std::vector<SymExpr> counts = d.integers("repeats");
  if (d.failed()) return;
  std::vector<SymExpr> sizes = d.sizes(self);
  sizes.insert(sizes.begin(), counts.size() - sizes.size(), SymExpr(1));
  ValueId result = repeat_dims(d, d.reshape(self, sizes), counts, true);
  d.result(result == self ? d.unary("clone", self) : result);
}

void repeat_interleave(Decomposition& d) {
  ValueId self = d.value("self");
  SymExpr count = d.integer("repeats");
  if (d.failed()) return;
  if (!d.has("dim") || d.rank(self) == 0) self = d.reshape(self, {element_count(d.sizes(self))});
  std::int64_t dim = d.dim("dim", 0, d.rank(self));
  std::vector<SymExpr> counts(d.rank(self), SymExpr(1));
  counts[dim] = count;
  d.result(repeat_dims(d, self, counts, false));
}

void flip(Decomposition& d) {
  ValueId self = d.value("self");
  std::vector<std::int64_t> dims = d.constants("dims");
  if (d.failed()) return;
  for (std::int64_t& dim : dims) dim = d.wrap_dim(dim, d.rank(self));
  if (dims.empty() || d.rank(self) == 0) return d.result(d.unary("clone", self));
  std::sort(dims.begin(), dims.end());
  d.result(d.emit("prim.flip", {arg("self", value_argument(self)), arg("dims", list_of(dims))}));
}

void roll(Decomposition& d) {
  ValueId x = d.value("self");
  std::vector<SymExpr> shifts = d.integers("shifts");
  std::vector<std::int64_t> dims = d.constants("dims");
  if (d.failed()) return;
  std::vector<SymExpr> sizes = d.sizes(x);
  bool flat = dims.empty();
  if (flat) {
    x = d.reshape(x, {element_count(sizes)});
    dims = {0};
  }
  if (shifts.size() != dims.size()) return d.fail("shifts and dims differ in length");
  for (std::size_t i = 0; i < dims.size() && !d.failed(); ++i) {
    std::int64_t dim = d.wrap_dim(dims[i], d.rank(x));
    SymExpr size = d.sizes(x)[dim];
    if (size == SymExpr(0)) continue;
    SymExpr back = rolled_back(d, shifts[i], size);
    if (back == SymExpr(0)) continue;
    x = concatenate(d, {d.slice(x, dim, size - back, back, 1), d.slice(x, dim, 0, size - back, 1)},
                    dim);
  }
  x = d.reshape(x, sizes);
  d.result(x == d.value("self") ? d.unary("clone", x) : x);
}

namespace {

/// The places that padding of a mode shows along a dim of `size`, `low` before it and up to `made`
/// elements. Circular padding repeats what is left of the image.
ValueId padded_places(Decomposition& d, const std::string& mode, const SymExpr& size,
                      const SymExpr& low, const SymExpr& made) {
  auto with = [&](const char* prim, ValueId x, const SymExpr& other) {
    return d.binary(prim, value_argument(x), Decomposition::integer_argument(other));
  };
  auto mirrored = [&](ValueId x) {
    return d.binary("sub", Decomposition::integer_argument(size - SymExpr(1)), value_argument(x));
  };
  ValueId place = with("sub", d.iota(made), low);
  if (mode == "circular") {
    const SymExpr high = made - size - low;
    const SymExpr first = d.less(low, SymExpr(0)) ? SymExpr(0) - low : SymExpr(0);
    const SymExpr kept = size - first + (d.less(high, SymExpr(0)) ? high : SymExpr(0));
    return with("add", with("remainder", with("sub", place, first), kept), first);
  }
  if (mode == "replicate") return with("minimum", with("maximum", place, 0), size - SymExpr(1));
  return mirrored(d.unary("abs", mirrored(d.unary("abs", place))));
}

/// Padding with elements of the image: a table of places along each padded dim.
void pad_with_image(Decomposition& d, const std::string& mode,
                    const std::vector<SymExpr>& amounts) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty()) return;
  ValueId x = d.value("self");
  for (std::size_t i = 0; i < amounts.size() / 2 && !d.failed(); ++i) {
    const std::size_t dim = d.rank(x) - 1 - i;
    if (amounts[2 * i] == SymExpr(0) && amounts[2 * i + 1] == SymExpr(0)) continue;
    ValueId places =
        padded_places(d, mode, d.sizes(x)[dim], amounts[2 * i], types.front().sizes[dim]);
    x = d.index_select(x, places, static_cast<std::int64_t>(dim));
  }
  if (!d.failed()) d.result(d.unary("clone", x));
}

}  // namespace

void pad(Decomposition& d) {
  ValueId self = d.value("self");
  std::vector<SymExpr> amounts = d.integers(d.has("padding") ? "padding" : "pad");
  if (d.failed()) return;
  if (std::string mode = ops::padding_mode(d.op(), d.text("mode", "constant")); mode != "constant")
    return pad_with_image(d, mode, amounts);
  std::size_t rank = d.rank(self);
  std::vector<SymExpr> low(rank, SymExpr(0)), high(rank, SymExpr(0));
  for (std::size_t i = 0; i < amounts.size() / 2 && i < rank; ++i) {
    low[rank - 1 - i] = amounts[2 * i];
    high[rank - 1 - i] = amounts[2 * i + 1];
  }
  const DType dtype = d.dtype_of(self);
  if (!d.is_number_input("value")) {
    const ops::Number fill{DTypeCategory::floating, d.real("value", 0), 0};
    return d.result(d.emit("prim.pad", {arg("self", value_argument(self)), arg("low", list_of(low)),
                                        arg("high", list_of(high)),
                                        arg("value", Decomposition::number_as(fill, dtype))}));
  }
  // The prim pads with a constant.
  const ValueId own = d.pad(d.full(d.sizes(self), true, DType::bool_), low, high, false);
  const auto zero = Decomposition::number_as({DTypeCategory::integral, 0, 0}, dtype);
  const ValueId padded = d.pad(self, low, high, zero);
  if (d.failed()) return;
  const ValueId fill = d.broadcast(d.convert(d.operand("value").value, dtype), d.sizes(padded));
  d.result(d.where(own, value_argument(padded), value_argument(fill)));
}

void scatter_view(Decomposition& d) {
  ValueId self = d.value("self"), source = d.value("src");
  if (d.failed() || d.rank(self) == 0) return d.fail("needs a dim");
  std::int64_t dim = d.dim("dim", 0, d.rank(self));
  std::vector<SymExpr> start(d.rank(self), SymExpr(0)), step(d.rank(self), SymExpr(1));
  std::vector<SymExpr> sizes = d.sizes(self);
  if (d.detail() == "select") {
    start[dim] = d.integer("index");
    if (d.less(start[dim], SymExpr(0))) start[dim] += sizes[dim];
    sizes[dim] = 1;
  } else {
    step[dim] = d.integer("step", 1);
    ops::SliceBounds bounds =
        ops::clamp_slice(d, sizes[dim], d.find("start"), d.find("end"), step[dim]);
    start[dim] = bounds.start;
    sizes[dim] = bounds.length;
  }
  source = d.convert(d.reshape(source, sizes), d.dtype_of(self));
  d.result(d.emit("prim.scatter_slice",
                  {arg("self", value_argument(self)), arg("src", value_argument(source)),
                   arg("start", list_of(start)), arg("step", list_of(step))}));
}

}  // namespace penstock::passes
