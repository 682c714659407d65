#include "capture/objects/torch_out.h"

#include <algorithm>
#include <unordered_map>

#include "ops/infer.h"
#include "ops/op.h"

namespace penstock::capture {

namespace {

/// The overload that takes the same but `out`.
const Schema* functional_of(SchemaTable& schemas, const Schema& schema) {
  for (const Schema& other : schemas.overloads(schema.name)) {
    if (other.parameters.size() + 1 != schema.parameters.size() || other.has_out()) continue;
    const bool same = std::equal(other.parameters.begin(), other.parameters.end(), schema.parameters.begin(), [](const Parameter& a, const Parameter& b) {
      return a.name == b.name && a.type_text == b.type_text && !a.written;
    });
    if (same) return &other;
  }
  return nullptr;
}

/// The type that the rule of the op gives, by a graph of the operands alone.
std::optional<TensorType> ruled_type(const Recorder& recorder, const PlannedNode& node, const std::vector<Symbol>& symbols) {
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
  if (!known) return std::nullopt;
  auto types = ops::infer(plain, operands);
  if (!types || types->size() != 1) return std::nullopt;
  return std::move(types->front());
}

}  // namespace

std::vector<PlannedNode> without_out(SchemaTable& schemas, Recorder& recorder, const Schema& schema, const PlannedNode& node) {
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
  for (ValueId id : pure.values) {
    const bool elementwise = op != nullptr && op->has(ops::kPointwise) && id == out->id;
    const std::int32_t storage = recorder.value(id).type.storage;
    const bool shared = id == out->id || (storage >= 0 && storage == target.storage);
    if (recorder.is_number(id) || (shared && !elementwise)) return {};
  }
  auto type = ruled_type(recorder, pure, recorder.graph().interface.symbols);
  if (!type || type->dtype != target.dtype || type->sizes != target.sizes) return {};
  type->storage = -1;
  pure.type = std::move(type);
  std::vector<PlannedNode> nodes;
  nodes.push_back(std::move(pure));
  PlannedNode copy{"aten.copy_.default", {{"self", Argument::Value{out->id}}, {"src", Argument::Value{planned_value(0)}}}, {out->id}, std::nullopt};
  nodes.push_back(std::move(copy));
  return nodes;
}

}  // namespace penstock::capture
