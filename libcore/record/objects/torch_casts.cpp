// Autocasting in graphs (ATen/autocast_mode.h): what a call converts is converted by nodes in front
// of its own, so that a graph means the same wherever it runs.
#include "record/objects/torch_casts.h"

#include <unordered_map>

#include "ir/device.h"
#include "ops/op.h"
#include "record/objects/torch_out.h"
#include "record/walk.h"

namespace penstock::record {

using torch::CastPolicy;

namespace {

bool is_cast(const TensorType& type, torch::CastDevice device) {
  const bool there = device == torch::CastDevice::cpu ? type.device == "cpu" : is_gpu(type.device);
  return is_floating(type.dtype) && type.dtype != DType::float64 && there;
}

/// Ops that are made of others none of which converts, and others whose results show it.
bool shows_casts(const std::string& op) {
  const ops::OpFacts* facts = ops::find_op(op);
  if (facts == nullptr) return false;
  switch (facts->family) {
    case ops::OpFamily::matmul:
    case ops::OpFamily::recurrent:
    case ops::OpFamily::convolution:
    case ops::OpFamily::loss:
      return false;
    default:
      return true;
  }
}

/// What the arguments are converted to; nothing: they stay.
std::optional<DType> wanted(const Walk& walk, CastPolicy policy, const PlannedNode& node,
                            DType lower) {
  if (policy == CastPolicy::lower) return lower;
  if (policy == CastPolicy::float32) return DType::float32;
  if (policy != CastPolicy::promote) return std::nullopt;
  for (const ValueId id : node.values) {
    if (walk.recorder.value(id).type.dtype == DType::float32) return DType::float32;
  }
  return lower;
}

}  // namespace

std::optional<std::vector<PlannedNode>> take_casts(Walk& walk, const TorchTarget& target,
                                                   const torch::Schema& schema, PlannedNode& node) {
  std::vector<PlannedNode> casts;
  const std::optional<torch::Autocast> autocast = walk.context.autocast();
  if (!autocast) return casts;
  const std::string name =
      "aten::" + schema.name + (schema.overload.empty() ? "" : "." + schema.overload);
  const CastPolicy policy = walk.schemas.cast_policies.of(name, autocast->device);
  if (policy == CastPolicy::unknown && !shows_casts(node.op)) {
    walk.verdict.broke(Code::PS0310, target.target + " is autocast inside of it");
    return std::nullopt;
  }
  const std::optional<DType> dtype = wanted(walk, policy, node, autocast->dtype);
  if (!dtype) return casts;
  std::unordered_map<ValueId, ValueId> made;
  const auto cast = [&](ValueId id) {
    if (walk.recorder.is_number(id)) return id;
    TensorType type = walk.recorder.value(id).type;
    if (!is_cast(type, autocast->device) || type.dtype == *dtype) return id;
    const auto [place, is_new] = made.try_emplace(id, planned_value(casts.size()));
    if (!is_new) return place->second;
    PlannedNode copy{"aten._to_copy.default",
                     {{"self", Argument::Value{id}}, {"dtype", *dtype}},
                     {id},
                     std::nullopt};
    std::vector<TensorType> types =
        ruled_types(walk.recorder, copy, walk.recorder.graph().interface.symbols);
    type.dtype = *dtype;
    copy.type = types.size() == 1 ? std::move(types.front()) : std::move(type);
    copy.type->storage = -1;
    casts.push_back(std::move(copy));
    return place->second;
  };
  for (NamedArgument& argument : node.args) map_values(argument.value, cast);
  for (ValueId& id : node.values) id = cast(id);
  return casts;
}

void check_cast(Walk& walk) {
  if (!walk.context.autocast() || walk.recorder.graph().nodes.empty()) return;
  const Node& last = walk.recorder.graph().nodes.back();
  PlannedNode node{last.op, last.args, {}, std::nullopt};
  for (const NamedArgument& argument : node.args)
    for_each_value(argument.value, [&](ValueId id) { node.values.push_back(id); });
  const std::vector<TensorType> types =
      ruled_types(walk.recorder, node, walk.recorder.graph().interface.symbols);
  for (std::size_t i = 0; i < std::min(types.size(), last.results.size()); ++i) {
    if (types[i].dtype != walk.recorder.value(last.results[i]).type.dtype)
      return walk.verdict.spoil(last.op + " is autocast inside of it");
  }
}

}  // namespace penstock::record
