#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace penstock {

/// Builds core graphs for tests, an op a call; it infers the types of results.
class GraphBuilder {
 public:
  GraphBuilder() { graph.level = Level::core; }

  using Sizes = std::vector<SymExpr>;

  ValueId input(Sizes sizes, DType dtype = DType::float32) {
    ValueId id = add_value(graph, "x", type(std::move(sizes), dtype));
    Input input;
    input.name = graph.values[id].name;
    input.type = graph.values[id].type;
    graph.interface.inputs.push_back(std::move(input));
    return id;
  }

  /// A size symbol with its range, and `hint` as the value that tests bind.
  SymExpr symbol(std::string name, std::int64_t hint) {
    Symbol symbol;
    symbol.name = name;
    symbol.minimum = 2;
    symbol.hint = hint;
    graph.interface.symbols.push_back(std::move(symbol));
    return SymExpr::symbol(name);
  }

  ValueId node(std::string op, std::vector<NamedArgument> args, TensorType result) {
    ValueId id = add_value(graph, "v", std::move(result));
    graph.nodes.push_back({std::move(op), std::move(args), {id}, -1});
    return id;
  }

  ValueId unary(std::string_view prim, ValueId self) {
    return node(name(prim), {{"self", value(self)}}, fresh(self));
  }
  ValueId binary(std::string_view prim, ValueId self, Argument other) {
    return node(name(prim), {{"self", value(self)}, {"other", std::move(other)}}, fresh(self));
  }
  /// A number as the other operand: doubles and 64-bit integers, so that none is taken for a value.
  ValueId binary(std::string_view prim, ValueId self, double other) {
    return binary(prim, self, Argument(other));
  }
  ValueId binary(std::string_view prim, ValueId self, std::int64_t other) {
    return binary(prim, self, Argument(other));
  }
  ValueId binary(std::string_view prim, ValueId self, ValueId other) {
    return binary(prim, self, value(other));
  }
  ValueId compare(std::string_view prim, ValueId self, Argument other) {
    return node(name(prim), {{"self", value(self)}, {"other", std::move(other)}},
                type(sizes(self), DType::bool_));
  }
  ValueId where(ValueId condition, ValueId self, Argument other) {
    return node(
        "prim.where",
        {{"condition", value(condition)}, {"self", value(self)}, {"other", std::move(other)}},
        fresh(self));
  }
  ValueId convert(ValueId self, DType dtype) {
    return node("prim.convert", {{"self", value(self)}, {"dtype", dtype}},
                type(sizes(self), dtype));
  }
  ValueId reshape(ValueId self, Sizes to) {
    return node("prim.reshape", {{"self", value(self)}, {"size", list(to)}}, type(to, dtype(self)));
  }
  ValueId permute(ValueId self, std::vector<std::int64_t> dims) {
    const TensorType& from = graph.values[self].type;
    TensorType to = from;
    std::vector<Argument> items;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      to.sizes[i] = from.sizes[dims[i]];
      to.strides[i] = from.strides[dims[i]];
      items.emplace_back(dims[i]);
    }
    return node("prim.permute", {{"self", value(self)}, {"dims", list(items)}}, to);
  }
  ValueId broadcast(ValueId self, Sizes to, std::vector<std::int64_t> dims) {
    TensorType result = type(to, dtype(self));
    const TensorType& from = graph.values[self].type;
    std::vector<Argument> items;
    for (SymExpr& stride : result.strides) stride = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (from.sizes[i] == to[dims[i]]) result.strides[dims[i]] = from.strides[i];
      items.emplace_back(dims[i]);
    }
    return node("prim.broadcast",
                {{"self", value(self)}, {"size", list(to)}, {"dims", list(items)}}, result);
  }
  ValueId reduce(std::string_view prim, ValueId self, std::vector<std::int64_t> dims) {
    return graph.nodes[reduce_node(prim, self, std::move(dims))].results.front();
  }
  /// mean and M2.
  std::pair<ValueId, ValueId> welford(ValueId self, std::vector<std::int64_t> dims) {
    std::size_t at = reduce_node("welford", self, std::move(dims));
    ValueId second = add_value(graph, "v", graph.values[graph.nodes[at].results.front()].type);
    graph.nodes[at].results.push_back(second);
    return {graph.nodes[at].results[0], second};
  }
  /// Elements start, start + step, … below stop of one dim.
  ValueId slice(ValueId self, std::size_t dim, std::int64_t start, std::int64_t stop,
                std::int64_t step) {
    TensorType to = graph.values[self].type;
    Sizes starts(to.rank(), SymExpr(0)), stops = to.sizes, steps(to.rank(), SymExpr(1));
    starts[dim] = start;
    stops[dim] = stop;
    steps[dim] = step;
    to.sizes[dim] = (stop - start + step - 1) / step;
    to.storage_offset += to.strides[dim] * SymExpr(start);
    to.strides[dim] *= step;
    return node("prim.slice",
                {{"self", value(self)},
                 {"start", list(starts)},
                 {"stop", list(stops)},
                 {"step", list(steps)}},
                to);
  }
  ValueId flip(ValueId self, std::vector<std::int64_t> dims) {
    std::vector<Argument> items(dims.begin(), dims.end());
    return node("prim.flip", {{"self", value(self)}, {"dims", list(items)}}, fresh(self));
  }
  ValueId pad(ValueId self, std::size_t dim, std::int64_t low, std::int64_t high, Argument fill) {
    Sizes to = sizes(self), lows(to.size(), SymExpr(0)), highs = lows;
    lows[dim] = low;
    highs[dim] = high;
    to[dim] += low + high;
    return node("prim.pad",
                {{"self", value(self)},
                 {"low", list(lows)},
                 {"high", list(highs)},
                 {"value", std::move(fill)}},
                type(to, dtype(self)));
  }
  ValueId cat(const std::vector<ValueId>& parts, std::size_t dim) {
    Sizes to = sizes(parts.front());
    std::vector<Argument> items;
    to[dim] = 0;
    for (ValueId part : parts) {
      to[dim] += sizes(part)[dim];
      items.push_back(value(part));
    }
    return node("prim.cat", {{"tensors", list(items)}, {"dim", static_cast<std::int64_t>(dim)}},
                type(to, dtype(parts.front())));
  }
  ValueId full(const Sizes& to, Argument number, DType of = DType::float32) {
    return node("prim.full", {{"size", list(to)}, {"value", std::move(number)}, {"dtype", of}},
                type(to, of));
  }
  ValueId gather(ValueId self, ValueId index, std::int64_t dim) {
    return node("prim.gather", {{"self", value(self)}, {"index", value(index)}, {"dim", dim}},
                type(sizes(index), dtype(self)));
  }
  ValueId scatter(std::string_view prim, ValueId self, ValueId index, ValueId src,
                  std::int64_t dim) {
    return node(name(prim),
                {{"self", value(self)}, {"index", value(index)}, {"src", value(src)}, {"dim", dim}},
                fresh(self));
  }
  ValueId embedding(ValueId weight, ValueId indices) {
    Sizes to = sizes(indices);
    to.push_back(sizes(weight)[1]);
    return node("aten.embedding.default", {{"weight", value(weight)}, {"indices", value(indices)}},
                type(to, dtype(weight)));
  }
  ValueId scan(std::string_view prim, ValueId self, std::int64_t dim) {
    return node(name(prim), {{"self", value(self)}, {"dim", dim}}, fresh(self));
  }
  ValueId matmul(ValueId a, ValueId b) {
    return node("aten.mm.default", {{"self", value(a)}, {"mat2", value(b)}},
                type({sizes(a)[0], sizes(b)[1]}, dtype(a)));
  }

  /// Without bias, padding and steps.
  ValueId convolution(ValueId x, ValueId weight) {
    const auto all = [](std::int64_t number) {
      return Argument::Sequence{Argument::Sequence::Kind::list, {number, number}};
    };
    Sizes to = {sizes(x)[0], sizes(weight)[0]};
    for (std::size_t dim = 2; dim < 4; ++dim) to.push_back(sizes(x)[dim] - sizes(weight)[dim] + 1);
    return node("aten.convolution.default",
                {{"input", value(x)},
                 {"weight", value(weight)},
                 {"bias", Argument()},
                 {"stride", all(1)},
                 {"padding", all(0)},
                 {"dilation", all(1)},
                 {"transposed", false},
                 {"output_padding", all(0)},
                 {"groups", std::int64_t{1}}},
                type(std::move(to), dtype(x)));
  }
  ValueId batched_matmul(ValueId a, ValueId b) {
    return node("aten.bmm.default", {{"self", value(a)}, {"mat2", value(b)}},
                type({sizes(a)[0], sizes(a)[1], sizes(b)[2]}, dtype(a)));
  }

  void output(ValueId id) {
    graph.outputs.push_back(id);
    Output output;
    output.type = graph.values[id].type;
    graph.interface.outputs.push_back(std::move(output));
  }

  static Argument value(ValueId id) { return Argument::Value{id}; }
  static Argument list(std::vector<Argument> items) {
    return Argument::Sequence{Argument::Sequence::Kind::list, std::move(items)};
  }
  static Argument list(const Sizes& sizes) {
    std::vector<Argument> items;
    for (const SymExpr& size : sizes) items.push_back(number(size));
    return list(std::move(items));
  }
  static Argument number(const SymExpr& size) {
    if (auto constant = size.constant()) return *constant;
    return size;
  }
  static TensorType type(Sizes sizes, DType dtype) {
    TensorType type;
    type.dtype = dtype;
    type.strides = contiguous_strides(sizes);
    type.sizes = std::move(sizes);
    return type;
  }

  const Sizes& sizes(ValueId id) const { return graph.values[id].type.sizes; }
  DType dtype(ValueId id) const { return graph.values[id].type.dtype; }

  Graph graph;

 private:
  static std::string name(std::string_view prim) { return "prim." + std::string(prim); }
  TensorType fresh(ValueId like) const { return type(sizes(like), dtype(like)); }

  std::size_t reduce_node(std::string_view prim, ValueId self, std::vector<std::int64_t> dims) {
    Sizes kept;
    std::vector<Argument> items;
    for (std::size_t i = 0; i < sizes(self).size(); ++i) {
      bool gone = dims.empty();
      for (std::int64_t dim : dims) gone |= dim == static_cast<std::int64_t>(i);
      if (!gone) kept.push_back(sizes(self)[i]);
    }
    for (std::int64_t dim : dims) items.emplace_back(dim);
    bool position = prim == "argmax" || prim == "argmin";
    node(name(prim), {{"self", value(self)}, {"dims", list(items)}},
         type(kept, position ? DType::int64 : dtype(self)));
    return graph.nodes.size() - 1;
  }
};

}  // namespace penstock
