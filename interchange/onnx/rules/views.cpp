// Views, which copy here: ONNX has values, not memory. Joins.
#include <algorithm>
#include <limits>

#include "interchange/onnx/rules/rules.h"

namespace penstock::onnx {

namespace {

/// A part of `x`: the dims that are whole are left out.
Name part(Rule& rule, const Name& x, const std::vector<SymExpr>& sizes,
          const std::vector<SymExpr>& start, const std::vector<SymExpr>& stop,
          const std::vector<SymExpr>& step) {
  std::vector<SymExpr> from, to, by;
  std::vector<std::int64_t> axes;
  const std::size_t rank = std::min({sizes.size(), start.size(), stop.size(), step.size()});
  for (std::size_t i = 0; i < rank; ++i) {
    if (start[i] == SymExpr(0) && stop[i] == sizes[i] && step[i] == SymExpr(1)) continue;
    from.push_back(start[i]);
    to.push_back(stop[i]);
    by.push_back(step[i]);
    axes.push_back(static_cast<std::int64_t>(i));
  }
  if (axes.empty()) return rule.emit("Identity", {x});
  Emitter& out = rule.out();
  return rule.emit("Slice", {x, out.sizes(from), out.sizes(to), rule.ints(axes), out.sizes(by)});
}

/// Padding has no kernels for int16.
DType movable(DType dtype) {
  return dtype == DType::int16 ? DType::int32 : dtype;
}

}  // namespace

void reshape(Rule& rule) {
  rule.give(rule.reshape(rule.in("self"), rule.result().sizes));
}

void permute(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  rule.give(rule.emit("Transpose", {rule.in("self")}, {attribute("perm", dims)}));
}

void broadcast(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  const TensorType& self = rule.type("self");
  const Name x = rule.in("self");
  if (rule.failed() || rule.node().results.empty()) return;
  if (!std::ranges::is_sorted(dims) || dims.size() != self.rank())
    return rule.refuse("dims of a broadcast are not in order");
  const std::size_t rank = rule.result().rank();
  if (dims.empty()) return rule.out().bind_narrow(rule.node().results.front(), x, {});
  const auto first = static_cast<std::size_t>(dims.front());
  std::vector<SymExpr> sizes(rank - std::min(first, rank), SymExpr(1));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(dims[i]) - first;
    if (at >= sizes.size()) return rule.refuse("a dim of a broadcast is none of the result's");
    sizes[at] = self.sizes[i];
  }
  const Name narrow = sizes.size() == self.rank() ? x : rule.reshape(x, sizes);
  rule.out().bind_narrow(rule.node().results.front(), narrow, sizes);
}

void slice(Rule& rule) {
  ops::Arguments& arguments = rule.arguments();
  const auto start = arguments.integers("start"), stop = arguments.integers("stop");
  const auto step = arguments.integers("step");
  const Name x = rule.in("self");
  if (!rule.failed()) rule.give(part(rule, x, rule.type("self").sizes, start, stop, step));
}

void flip(Rule& rule) {
  const auto dims = rule.arguments().constants("dims");
  const Name x = rule.in("self");
  if (dims.empty()) return rule.give(rule.emit("Identity", {x}));
  const std::vector<std::int64_t> last(dims.size(), -1),
      end(dims.size(), std::numeric_limits<std::int64_t>::min());
  rule.give(
      rule.emit("Slice", {x, rule.ints(last), rule.ints(end), rule.ints(dims), rule.ints(last)}));
}

void cat(Rule& rule) {
  std::vector<Name> parts;
  for (ValueId id : rule.arguments().values("tensors")) parts.push_back(rule.out().value(id));
  const std::int64_t dim = rule.arguments().constant("dim", 0);
  if (parts.empty()) return rule.refuse("nothing is joined");
  rule.give(rule.emit("Concat", parts, {attribute("axis", dim)}));
}

void pad(Rule& rule) {
  auto amounts = rule.arguments().integers("low");
  const auto high = rule.arguments().integers("high");
  amounts.insert(amounts.end(), high.begin(), high.end());
  const DType dtype = rule.result().dtype, held = movable(dtype);
  Name x = rule.in("self");
  if (rule.failed()) return;
  if (held != dtype) x = rule.cast(x, held);
  const Name made = rule.emit("Pad", {x, rule.out().sizes(amounts), rule.in_as("value", held)});
  rule.give(held == dtype ? made : rule.cast(made, dtype));
}

void scatter_slice(Rule& rule) {
  ops::Arguments& arguments = rule.arguments();
  const auto start = arguments.integers("start"), step = arguments.integers("step");
  const TensorType self = rule.type("self"), src = rule.type("src");
  const Name x = rule.in("self"), y = rule.in("src");
  const std::size_t rank = self.rank();
  if (rule.failed() || start.size() != rank || step.size() != rank || src.rank() != rank) return;
  std::vector<std::size_t> partial;
  bool dense = true;
  for (std::size_t i = 0; i < rank; ++i) {
    dense = dense && step[i] == SymExpr(1);
    if (start[i] != SymExpr(0) || src.sizes[i] != self.sizes[i]) partial.push_back(i);
  }
  if (dense && partial.empty()) return rule.give(rule.emit("Identity", {y}));
  if (dense && partial.size() == 1) {
    const std::size_t dim = partial.front();
    std::vector<SymExpr> from(rank), to = self.sizes;
    const std::vector<SymExpr> by(rank, SymExpr(1));
    to[dim] = start[dim];
    const Name before = part(rule, x, self.sizes, from, to, by);
    from[dim] = start[dim] + src.sizes[dim];
    const Name behind = part(rule, x, self.sizes, from, self.sizes, by);
    return rule.give(rule.emit("Concat", {before, y, behind},
                               {attribute("axis", static_cast<std::int64_t>(dim))}));
  }
  const std::vector<SymExpr> strides = contiguous_strides(self.sizes);
  Name places;
  for (std::size_t i = 0; i < rank; ++i) {
    std::vector<SymExpr> shape(rank, SymExpr(1));
    shape[i] = src.sizes[i];
    const Name along = rule.reshape(
        stepped(rule, start[i] * strides[i], step[i] * strides[i], src.sizes[i]), shape);
    places = places.empty() ? along : rule.emit("Add", {places, along});
  }
  const Name row = rule.ints({-1});
  const Name flat = rule.emit("ScatterElements",
                              {rule.emit("Reshape", {x, row}), rule.emit("Reshape", {places, row}),
                               rule.emit("Reshape", {y, row})},
                              {attribute("axis", std::int64_t{0})});
  rule.give(rule.reshape(flat, self.sizes));
}

}  // namespace penstock::onnx
