// Affine ops behind a convolution
//
// Batch normalisation in inference multiplies every channel by a number and adds another. A
// convolution does both for nothing: out * scale + shift is the convolution with weight * scale and
// bias * scale + shift. So a chain of such ops on a convolution's result becomes part of its weight
// and bias.
//
// What is folded depends on parameters, buffers and constants alone, and on none that the graph
// writes. It then costs nothing in a steady call: fusion computes such values when the parameters
// change (their address or their version), not in every run. The chain ends at the last op that
// takes a vector of channels: a number that is added behind it belongs to an activation, which the
// library applies itself.
//
// On a GPU the same is done to convolutions of bfloat16, whose chain is computed in float32 between
// two conversions: scale and shift are made in float32, and rounded once with what they become part
// of. Numbers of float16 end too early for that: a weight times a large scale may be no number.
#include <algorithm>
#include <optional>

#include "ir/device.h"
#include "ops/op.h"
#include "passes/core_passes.h"
#include "passes/rewrite.h"

namespace penstock::passes {

namespace {

bool is_number(const Argument& argument) {
  return argument.as<double>() || argument.as<std::int64_t>();
}

/// One op of a chain: what the value before it is combined with.
struct Link {
  std::size_t node;
  std::string_view op;
  Argument other;  ///< a vector of channels (the value that is broadcast), or a number
};

/// A convolution with the chain behind it, by positions of old nodes.
struct Chain {
  std::size_t convolution;
  std::vector<Link> links;
  std::vector<std::size_t> conversions = {};  ///< of a half type: to float32 and back
  std::size_t last() const { return conversions.empty() ? links.back().node : conversions.back(); }
};

/// Finds chains in a graph before it is made anew.
class ChainFinder {
 public:
  explicit ChainFinder(const Graph& graph)
      : graph_(graph),
        makers_(graph.values.size(), -1),
        user_(graph.values.size(), -1),
        uses_(graph.values.size(), 0),
        settled_(graph.values.size(), false) {
    for (std::size_t i = 0; i < graph.interface.inputs.size(); ++i) settled_[i] = is_parameter(i);
    for (const Node& node : graph.nodes) {
      ValueId written = node.op == "prim.copy_" ? operand_value(node, "self") : kNoValue;
      if (written != kNoValue) settled_[written] = false;
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) add(i);
    for (ValueId id : graph.outputs) ++uses_[id];
  }

  std::vector<Chain> find() const {
    std::vector<Chain> chains;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].op != "aten.convolution.default" || !takes_scale(graph_.nodes[i]))
        continue;
      const ValueId result = graph_.nodes[i].results.front();
      auto chain =
          graph_.values[result].type.dtype == DType::float32 ? plain_chain(i) : converted_chain(i);
      if (chain) chains.push_back(std::move(*chain));
    }
    return chains;
  }

 private:
  std::optional<Chain> plain_chain(std::size_t convolution) const {
    Chain chain{convolution, {}};
    add_links(graph_.nodes[convolution].results.front(), chain);
    while (!chain.links.empty() && is_number(chain.links.back().other)) chain.links.pop_back();
    return chain.links.empty() ? std::nullopt : std::optional(std::move(chain));
  }

  /// Between conversions to float32 and back, with nothing else between them.
  std::optional<Chain> converted_chain(std::size_t convolution) const {
    const ValueId result = graph_.nodes[convolution].results.front();
    const auto widened = conversion(result, DType::float32);
    if (!widened) return std::nullopt;
    Chain chain{convolution, {}, {*widened}};
    const ValueId end = add_links(graph_.nodes[*widened].results.front(), chain);
    const auto narrowed = conversion(end, graph_.values[result].type.dtype);
    if (!narrowed || std::ranges::all_of(chain.links, is_number, &Link::other)) return std::nullopt;
    chain.conversions.push_back(*narrowed);
    return chain;
  }

  /// Adds what is computed of the value, and nothing else is; returns where that ends.
  ValueId add_links(ValueId value, Chain& chain) const {
    while (auto link = next(value)) {
      value = graph_.nodes[link->node].results.front();
      chain.links.push_back(std::move(*link));
    }
    return value;
  }

  /// The value's only use, where that converts it to the dtype.
  std::optional<std::size_t> conversion(ValueId value, DType dtype) const {
    if (uses_[value] != 1 || user_[value] < 0) return std::nullopt;
    const auto position = static_cast<std::size_t>(user_[value]);
    const Node& node = graph_.nodes[position];
    const bool converts =
        node.op == "prim.convert" && graph_.values[node.results.front()].type.dtype == dtype;
    return converts ? std::optional(position) : std::nullopt;
  }

  bool is_parameter(std::size_t input) const {
    InputKind kind = graph_.interface.inputs[input].kind;
    return kind == InputKind::parameter || kind == InputKind::buffer || kind == InputKind::constant;
  }

  void add(std::size_t position) {
    const Node& node = graph_.nodes[position];
    const ops::OpFacts* op = ops::find_op(node.op);
    bool settled = op && op->is_prim() && op->group != ops::PrimGroup::effect &&
                   op->group != ops::PrimGroup::decide,
         reads = false;
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId id) {
        ++uses_[id];
        user_[id] = static_cast<std::int64_t>(position);
        settled = settled && settled_[id];
        reads = true;
      });
    }
    for (ValueId id : node.results) {
      makers_[id] = static_cast<std::int64_t>(position);
      settled_[id] = settled && reads;
    }
  }

  /// Weight and bias are parameters, of one dtype with the result, and the weight has a dim of
  /// channels.
  bool takes_scale(const Node& node) const {
    ValueId weight = operand_value(node, "weight"), bias = operand_value(node, "bias"),
            input = operand_value(node, "input");
    if (weight == kNoValue || !settled_[weight] || (bias != kNoValue && !settled_[bias]))
      return false;
    if (!find_argument(node, "bias")) return false;
    const TensorType& type = graph_.values[node.results.front()].type;
    const bool rounds = type.dtype == DType::bfloat16 && is_gpu(type.device);
    bool plain = (type.dtype == DType::float32 || rounds) &&
                 graph_.values[weight].type.dtype == type.dtype &&
                 graph_.values[input].type.rank() == type.rank() &&
                 graph_.values[weight].type.rank() == type.rank();
    if (!plain || !type.sizes[1].constant()) return false;
    const Argument* transposed = find_argument(node, "transposed");
    const Argument* groups = find_argument(node, "groups");
    bool turned = transposed && *transposed == Argument(true);
    return !turned || !groups || *groups == Argument(std::int64_t{1});
  }

  std::optional<Link> next(ValueId value) const {
    if (uses_[value] != 1 || user_[value] < 0) return std::nullopt;
    auto position = static_cast<std::size_t>(user_[value]);
    const Node& node = graph_.nodes[position];
    bool commutes = node.op == "prim.add" || node.op == "prim.mul";
    if (!commutes && node.op != "prim.sub" && node.op != "prim.div") return std::nullopt;
    bool left = operand_value(node, "self") == value;
    if (!left && !commutes) return std::nullopt;
    const Argument& other = *find_argument(node, left ? "other" : "self");
    std::string_view op = std::string_view(node.op).substr(5);
    if (is_number(other)) return Link{position, op, other};
    const auto* operand = other.as<Argument::Value>();
    if (!operand) return std::nullopt;
    ValueId vector = channel_vector(operand->id);
    if (vector == kNoValue) return std::nullopt;
    return Link{position, op, Argument::Value{vector}};
  }

  /// What `value` broadcasts along dim 1, all its other dims being 1; kNoValue when it does not.
  ValueId channel_vector(ValueId value) const {
    if (makers_[value] < 0 || !settled_[value]) return kNoValue;
    const Node& node = graph_.nodes[static_cast<std::size_t>(makers_[value])];
    if (node.op != "prim.broadcast") return kNoValue;
    ValueId base = operand_value(node, "self");
    const std::vector<SymExpr>& sizes = graph_.values[base].type.sizes;
    const auto* dims = find_argument(node, "dims")->as<Argument::Sequence>();
    bool along_channels = false;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto* dim = dims->items[i].as<std::int64_t>();
      if (dim && *dim == 1 && sizes[i] == graph_.values[value].type.sizes[1]) {
        along_channels = true;
      } else if (sizes[i] != SymExpr(1)) {
        return kNoValue;
      }
    }
    return along_channels ? base : kNoValue;
  }

  const Graph& graph_;
  std::vector<std::int64_t> makers_, user_;  ///< by value: position of its node, of its last user
  std::vector<std::int32_t> uses_;
  std::vector<bool> settled_;  ///< by value: depends on parameters alone
};

/// result * scale + shift, as vectors of channels that are made on the way.
class Affine {
 public:
  Affine(Rewrite& rewrite, SymExpr channels, std::string device, ValueId bias)
      : rewrite_(rewrite),
        channels_(std::move(channels)),
        device_(std::move(device)),
        shift_(bias) {}

  void apply(const Link& link) {
    Argument other = link.other;
    if (const auto* value = other.as<Argument::Value>()) {
      ValueId vector = rewrite_.current(value->id);
      if (rewrite_.type(vector).rank() != 1) {
        vector = rewrite_.emit_one("prim.reshape", {arg("self", Argument::Value{vector}),
                                                    arg("size", list_of(std::vector{channels_}))});
      }
      other = Argument::Value{vector};
    } else if (const auto* integer = other.as<std::int64_t>()) {
      other = static_cast<double>(*integer);
    }
    bool adds = link.op == "add" || link.op == "sub";
    if (!adds) scale_ = combine(link.op, scale_, other, 1.0);
    if (adds || shift_ != kNoValue) shift_ = combine(link.op, shift_, other, 0.0);
  }

  ValueId scale() const { return scale_; }
  ValueId shift() const { return shift_; }

 private:
  /// `value` op `other`; an absent value is `missing` everywhere.
  ValueId combine(std::string_view op, ValueId value, const Argument& other, double missing) {
    bool keeps = (missing == 0 && op == "add") || (missing == 1 && op == "mul");
    if (value == kNoValue && keeps && other.as<Argument::Value>())
      return other.as<Argument::Value>()->id;
    if (value == kNoValue) {
      value = rewrite_.emit_one(
          "prim.full", {arg("size", list_of(std::vector{channels_})), arg("value", missing),
                        arg("dtype", DType::float32),
                        arg("device", Argument::Named{Argument::Named::Kind::device, device_})});
    }
    return rewrite_.emit_one("prim." + std::string(op),
                             {arg("self", Argument::Value{value}), arg("other", other)});
  }

  Rewrite& rewrite_;
  SymExpr channels_;
  std::string device_;
  ValueId scale_ = kNoValue, shift_;
};

/// The value in another dtype; absent values stay so.
ValueId converted(Rewrite& rewrite, ValueId value, DType dtype) {
  if (value == kNoValue || rewrite.type(value).dtype == dtype) return value;
  return rewrite.emit_one("prim.convert",
                          {arg("self", Argument::Value{value}), arg("dtype", dtype)});
}

/// The convolution with its chain folded; the chain's result is what stands for it.
void fold(Rewrite& rewrite, const Chain& chain) {
  const Node& last = rewrite.old_nodes()[chain.last()];
  Node node = rewrite.current(rewrite.old_nodes()[chain.convolution]);
  rewrite.set_call(node.call);
  SymExpr channels = rewrite.type(node.results.front()).sizes[1];
  const DType dtype = rewrite.type(node.results.front()).dtype;
  Affine affine(rewrite, channels, rewrite.type(node.results.front()).device,
                converted(rewrite, operand_value(node, "bias"), DType::float32));
  for (const Link& link : chain.links) affine.apply(link);
  if (affine.scale() != kNoValue && !rewrite.failed()) {
    ValueId weight = converted(rewrite, operand_value(node, "weight"), DType::float32);
    const Argument* transposed = find_argument(node, "transposed");
    std::int64_t dim = transposed && *transposed == Argument(true) ? 1 : 0;
    ValueId scale =
        rewrite.emit_one("prim.broadcast", {arg("self", Argument::Value{affine.scale()}),
                                            arg("size", list_of(rewrite.type(weight).sizes)),
                                            arg("dims", list_of(std::vector{dim}))});
    weight = rewrite.emit_one(
        "prim.mul", {arg("self", Argument::Value{weight}), arg("other", Argument::Value{scale})});
    set_argument(node, "weight", Argument::Value{converted(rewrite, weight, dtype)});
  }
  if (affine.shift() != kNoValue)
    set_argument(node, "bias", Argument::Value{converted(rewrite, affine.shift(), dtype)});
  ValueId made = rewrite.emit_one(node.op, node.args);
  if (!rewrite.failed()) rewrite.replace(last.results.front(), made);
}

}  // namespace

Result<Graph> fold_affine(Graph graph) {
  std::vector<Chain> chains = ChainFinder(graph).find();
  if (chains.empty()) return graph;
  Rewrite rewrite(std::move(graph));
  std::vector<const Chain*> ends(rewrite.old_nodes().size());
  std::vector<bool> folded(ends.size());
  for (const Chain& chain : chains) {
    folded[chain.convolution] = true;
    for (const Link& link : chain.links) folded[link.node] = true;
    for (std::size_t conversion : chain.conversions) folded[conversion] = true;
    ends[chain.last()] = &chain;
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i]) {
      fold(rewrite, *ends[i]);
    } else if (!folded[i]) {
      rewrite.keep(rewrite.current(rewrite.old_nodes()[i]));
    }
  }
  return rewrite.finish();
}

}  // namespace penstock::passes
