#include "record/objects/torch_out.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "ops/infer.h"
#include "ops/op.h"

namespace penstock::record {

using torch::Parameter;
using torch::Schema;
using torch::SchemaTable;

namespace {

/// What an op that makes a tensor of no other one is told of it, where `out` says that otherwise.
bool describes_result(const Parameter& parameter) {
  constexpr std::string_view kNames[] = {"dtype", "layout", "device", "pin_memory"};
  return parameter.keyword_only && std::ranges::find(kNames, parameter.name) != std::end(kNames);
}

/// The overload that takes the same but `out`, and perhaps what `out` says.
const Schema* functional_of(SchemaTable& schemas, const Schema& schema) {
  const std::span<const Parameter> given(schema.parameters.begin(), schema.parameters.size() - 1);
  for (const Schema& other : schemas.overloads(schema.name)) {
    if (other.parameters.size() < given.size() || other.has_out()) continue;
    const bool same =
        std::equal(given.begin(), given.end(), other.parameters.begin(),
                   [](const Parameter& a, const Parameter& b) {
                     return a.name == b.name && a.type_text == b.type_text && !a.written;
                   });
    const auto rest = std::span(other.parameters).subspan(given.size());
    if (same && std::ranges::all_of(rest, describes_result)) return &other;
  }
  return nullptr;
}

/// Whether an op makes a tensor of numbers alone, all of whose elements it sets.
bool makes_elements(const ops::OpFacts& op) {
  return op.family == ops::OpFamily::create && !op.name.starts_with("aten.empty");
}

/// Whether elements of one dtype that were computed become those of the other where torch writes
/// them into `out`, whose dtype has no part in computing them.
bool becomes(const ops::OpFacts* op, DType computed, DType out) {
  if (computed == out) return true;
  const bool floats = is_floating(computed) && is_floating(out);
  return op != nullptr && op->has(ops::kPointwise) && (floats || is_boolean(computed));
}

PlannedNode copy_into(ValueId target, std::size_t planned) {
  const Argument content = Argument::Value{planned_value(planned)};
  return {"aten.copy_.default",
          {{"self", Argument::Value{target}}, {"src", content}},
          {target},
          std::nullopt};
}

bool share_memory(const Recorder& recorder, ValueId a, ValueId b) {
  const std::int32_t storage = recorder.value(a).type.storage;
  return a == b || (storage >= 0 && storage == recorder.value(b).type.storage);
}

}  // namespace

std::vector<TensorType> ruled_types(const Recorder& recorder, const PlannedNode& node,
                                    const std::vector<Symbol>& symbols) {
  Graph operands;
  operands.interface.symbols = symbols;
  std::unordered_map<ValueId, ValueId> own;
  for (ValueId id : node.values) {
    if (own.contains(id)) continue;
    const ValueId made = add_value(operands, "x", recorder.value(id).type);
    own.emplace(id, made);
  }
  Node plain{node.op, node.args, {}, -1};
  bool known = true;
  for (NamedArgument& argument : plain.args) {
    map_values(argument.value, [&](ValueId id) {
      const auto found = own.find(id);
      known = known && found != own.end();
      return found == own.end() ? id : found->second;
    });
  }
  if (!known) return {};
  auto types = ops::infer(plain, operands);
  return types ? std::move(*types) : std::vector<TensorType>();
}

std::vector<PlannedNode> without_out(SchemaTable& schemas, Recorder& recorder, const Schema& schema,
                                     const PlannedNode& node) {
  const auto given = std::ranges::find(node.args, std::string_view("out"), &NamedArgument::name);
  const auto* out = given == node.args.end() ? nullptr : given->value.as<Argument::Value>();
  const Schema* functional = out == nullptr ? nullptr : functional_of(schemas, schema);
  if (functional == nullptr) return {};
  PlannedNode pure{functional->op(), {}, {}, std::nullopt};
  for (const NamedArgument& argument : node.args) {
    if (argument.name == "out") continue;
    pure.args.push_back(argument);
    for_each_value(argument.value, [&](ValueId id) { pure.values.push_back(id); });
  }
  const TensorType& target = recorder.value(out->id).type;
  const ops::OpFacts* op = ops::find_op(pure.op);
  const bool described = functional->parameters.size() >= schema.parameters.size();
  if (described && !(op != nullptr && makes_elements(*op))) return {};
  if (described) pure.args.push_back({"dtype", target.dtype});
  for (ValueId id : pure.values) {
    const bool elementwise = op != nullptr && op->has(ops::kPointwise) && id == out->id;
    const bool shared = share_memory(recorder, id, out->id);
    if (recorder.is_number(id) || (shared && !elementwise)) return {};
  }
  std::vector<TensorType> types = ruled_types(recorder, pure, recorder.graph().interface.symbols);
  if (types.size() != 1 || !becomes(op, types[0].dtype, target.dtype) ||
      types[0].sizes != target.sizes)
    return {};
  pure.type = std::move(types.front());
  pure.type->storage = -1;
  std::vector<PlannedNode> nodes;
  nodes.push_back(std::move(pure));
  nodes.push_back(copy_into(out->id, 0));
  return nodes;
}

std::vector<PlannedNode> into_outs(Recorder& recorder, PlannedNode pure,
                                   const std::vector<ValueId>& outs) {
  pure.types = ruled_types(recorder, pure, recorder.graph().interface.symbols);
  if (pure.types.size() != outs.size()) return {};
  std::vector<ValueId> apart = pure.values;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    const TensorType& target = recorder.value(outs[i]).type;
    pure.types[i].storage = -1;
    if (pure.types[i].dtype != target.dtype || pure.types[i].sizes != target.sizes) return {};
    const bool shared = std::ranges::any_of(
        apart, [&](ValueId other) { return share_memory(recorder, outs[i], other); });
    if (shared) return {};
    apart.push_back(outs[i]);
  }
  std::vector<PlannedNode> nodes = {std::move(pure)};
  for (std::size_t i = 0; i < outs.size(); ++i) {
    nodes.push_back(copy_into(outs[i], i));
    nodes.back().type = recorder.value(outs[i]).type;
  }
  return nodes;
}

}  // namespace penstock::record
