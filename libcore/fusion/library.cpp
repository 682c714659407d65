#include <fmt/format.h>

#include "fusion/buffers.h"
#include "fusion/device_call.h"
#include "fusion/emit.h"
#include "fusion/layout.h"
#include "fusion/product.h"
#include "ir/call_location.h"
#include "ir/subgraphs.h"
#include "partition/placement.h"

namespace penstock::fusion {

namespace {

constexpr std::string_view kOddOperands = "the library takes no operands that lie like these";

/// The library's reading of one node: which operands are its inputs, in which attributes.
class CallBuilder {
 public:
  CallBuilder(FusionPlan& plan, std::int32_t position)
      : plan_(plan), position_(position), node_(plan.graph().nodes[position]) {
    call_.name = partition::library_call_of(node_.op);
    call_.op = node_.op;
    if (node_.call >= 0) call_.calls.push_back(node_.call);
    batch_ = batch_sizes(plan, position);
    for (ValueId result : node_.results) {
      if (!plan.graph().values[result].is_scalar) call_.outputs.push_back(buffer(result));
    }
  }

  LibraryCall build() {
    if (call_.name == "matmul") {
      matmul();
    } else if (call_.name == "convolution") {
      convolution();
    } else if (call_.name == "sort" || call_.name == "topk") {
      order();
    } else if (call_.name == "bernoulli") {
      draw();
    } else if (call_.name == "item") {
      decide();
    } else if (call_.name == "nonzero") {
      input(operand_value(node_, "self"));
    } else if (const ControlOp* op = find_control_op(node_.op)) {
      control(*op);
    } else {
      pool();
    }
    return std::move(call_);
  }

 private:
  /// The value as it lies, or with the product's batch dims apart (layout.cpp).
  BufferId buffer(ValueId value) {
    auto apart = plan_.batched.find({position_, value});
    if (apart != plan_.batched.end()) return buffer_of(plan_, apart->second);
    if (batch_.empty() || plan_.type(value).rank() != 3) return buffer_of(plan_, value);
    const Window& merged = *plan_.values[value].window;
    Window split = merged;
    split.sizes.assign(merged.sizes.end() - 2, merged.sizes.end());
    split.strides.assign(merged.strides.end() - 2, merged.strides.end());
    SymExpr stride = merged.strides.front();
    for (std::size_t i = batch_.size(); i-- > 0;) {
      bool repeated = merged.sizes.front() == SymExpr(1);
      split.sizes.insert(split.sizes.begin(), repeated ? SymExpr(1) : batch_[i]);
      split.strides.insert(split.strides.begin(), stride);
      if (!repeated) stride *= batch_[i];
    }
    return buffer_of(plan_, split, plan_.type(value).dtype, plan_.graph().values[value].name);
  }

  /// Whether a weight of the call is another one in each step: to pack a matrix anew takes longer
  /// than the product gains from it. Convolutions read no other layout, and GPUs pack nothing.
  bool stays_unpacked() const {
    const bool changes = plan_.interface().training.role != GraphRole::inference;
    return (changes && call_.name == "matmul") || plan_.device != "cpu";
  }

  void input(ValueId value, bool weight = false) {
    call_.inputs.push_back(value == kNoValue ? kNoBuffer : buffer(value));
    if (value == kNoValue || !weight || stays_unpacked()) return;
    ValueId base = plan_.base_of(value);
    if (plan_.values[base].node >= 0) return;
    InputKind kind = plan_.interface().inputs[base].kind;
    if (kind == InputKind::parameter || kind == InputKind::constant) {
      call_.prepack.push_back(static_cast<std::int32_t>(call_.inputs.size()) - 1);
    }
  }

  void attribute(std::string name, Argument value) {
    call_.attributes.push_back({std::move(name), std::move(value)});
  }

  /// A list of one entry for each spatial dim; a single entry stands for all, none for `missing`.
  Argument spatial_list(std::string_view name, std::size_t dims, const Sizes& missing) const {
    Sizes sizes = size_list(node_, name);
    if (sizes.empty()) sizes = missing;
    if (sizes.size() == 1) sizes.resize(dims, sizes.front());
    Argument::Sequence list{Argument::Sequence::Kind::list, {}};
    for (const SymExpr& size : sizes) list.items.push_back(number(size));
    return list;
  }

  static Argument number(const SymExpr& size) {
    if (auto constant = size.constant()) return *constant;
    return size;
  }

  Argument given(std::string_view name, Argument missing) const {
    const Argument* argument = find_argument(node_, name);
    return argument != nullptr ? *argument : std::move(missing);
  }

  /// A bias is a row that is added to each row; other addends, and all behind a factor, are
  /// post-ops.
  void matmul() {
    const auto [left, right, addend] = product_operands(node_);
    input(left);
    input(right, true);
    double alpha = 1;
    if (const Argument* given = find_argument(node_, "alpha")) {
      if (const auto* real = given->as<double>()) alpha = *real;
      if (const auto* integer = given->as<std::int64_t>()) alpha = static_cast<double>(*integer);
    }
    bool row = addend != kNoValue && plan_.type(addend).rank() == 1 && alpha == 1 &&
               plan_.type(addend).sizes.back() == plan_.type(node_.results.front()).sizes.back();
    input(row ? addend : kNoValue);
    if (alpha != 1) call_.post_ops.push_back({PostOp::Kind::scale, alpha, 0, kNoBuffer});
    if (addend != kNoValue && !row) {
      call_.post_ops.push_back({PostOp::Kind::add, 0, 0, buffer(addend)});
    }
  }

  void convolution() {
    ValueId source = operand_value(node_, "input");
    std::size_t dims = plan_.type(source).rank() - 2;
    input(source);
    ValueId weight = operand_value(node_, "weight");
    auto scaled = plan_.scaled.find(weight);
    input(scaled != plan_.scaled.end() ? scaled->second.weight : weight, true);
    input(operand_value(node_, "bias"));
    if (scaled != plan_.scaled.end()) input(scaled->second.scale);
    attribute("stride", spatial_list("stride", dims, {1}));
    attribute("padding", spatial_list("padding", dims, {0}));
    attribute("dilation", spatial_list("dilation", dims, {1}));
    attribute("transposed", given("transposed", false));
    attribute("output_padding", spatial_list("output_padding", dims, {0}));
    attribute("groups", given("groups", std::int64_t{1}));
  }

  void pool() {
    ValueId source = operand_value(node_, "self");
    const TensorType& from = plan_.type(source);
    std::size_t dims = from.rank() - 2;
    input(source);
    Sizes kernel = size_list(node_, "kernel_size");
    attribute("kernel_size", spatial_list("kernel_size", dims, {1}));
    attribute("stride", spatial_list("stride", dims, kernel));
    attribute("padding", spatial_list("padding", dims, {0}));
    attribute("ceil_mode", given("ceil_mode", false));
    attribute("count_include_pad", given("count_include_pad", true));
    attribute("divisor_override", given("divisor_override", Argument::None{}));
  }

  /// Its steps come when subgraphs are linked.
  void control(const ControlOp& op) {
    if (op.kind == ControlKind::choice) input(operand_value(node_, "predicate"));
    for_each_value(*find_argument(node_, op.operands), [&](ValueId id) { input(id); });
    if (op.kind == ControlKind::loop) decides("going", DType::bool_);
    if (op.kind == ControlKind::scan) {
      decides("turn", DType::int64);
      attribute("trips", scan_parts(node_)->length);
    }
    for (std::string_view part : subgraph_arguments(op))
      attribute(std::string(part), std::int64_t{0});
  }

  /// One element of its own, the call's first output.
  void decides(std::string_view name, DType dtype) {
    Buffer buffer;
    buffer.name = name;
    buffer.dtype = dtype;
    buffer.bytes = facts(dtype).size;
    call_.outputs.insert(call_.outputs.begin(), static_cast<BufferId>(plan_.buffers.size()));
    plan_.buffers.push_back(std::move(buffer));
  }

  /// What it gives is a size, and lies in no memory; that of the arena is for plan-memory to say.
  void decide() {
    input(operand_value(node_, "self"));
    attribute("size", number(plan_.graph().values[node_.results.front()].expression));
    attribute("memory", std::int64_t{0});
  }

  void draw() {
    const Argument probability = given("probability", 0.0);
    const auto* whole = probability.as<std::int64_t>();
    attribute("probability",
              whole != nullptr ? Argument(static_cast<double>(*whole)) : probability);
  }

  bool is_true(std::string_view name, bool missing) const {
    const Argument* argument = find_argument(node_, name);
    const auto* truth = argument != nullptr ? argument->as<bool>() : nullptr;
    return truth != nullptr ? *truth : missing;
  }

  void order() {
    const ValueId source = operand_value(node_, "self");
    const auto rank = static_cast<std::int64_t>(plan_.type(source).rank());
    const Argument* given = find_argument(node_, "dim");
    const auto* dim = given != nullptr ? given->as<std::int64_t>() : nullptr;
    const std::int64_t place = dim != nullptr ? *dim : -1;
    input(source);
    attribute("dim", std::max<std::int64_t>(place < 0 ? place + rank : place, 0));
    const bool all = call_.name == "sort";
    attribute("descending", all ? is_true("descending", false) : is_true("largest", true));
    attribute(all ? "stable" : "sorted", all ? is_true("stable", false) : is_true("sorted", true));
  }

  FusionPlan& plan_;
  std::int32_t position_;
  const Node& node_;
  Sizes batch_;  ///< batch dims of a product that stay apart
  LibraryCall call_;
};

/// Values of an argument become buffers; sizes that are values become their expressions.
Argument with_buffers(FusionPlan& plan, const Argument& argument) {
  if (const auto* value = argument.as<Argument::Value>()) {
    const Value& facts = plan.graph().values[value->id];
    if (facts.is_scalar) return facts.expression;
    return Argument::Value{static_cast<ValueId>(buffer_of(plan, value->id))};
  }
  if (const auto* sequence = argument.as<Argument::Sequence>()) {
    Argument::Sequence result{sequence->kind, {}};
    for (const Argument& item : sequence->items) result.items.push_back(with_buffers(plan, item));
    return result;
  }
  return argument;
}

FallbackCall fallback_call(FusionPlan& plan, const Region& region, const Node& node) {
  FallbackCall call;
  call.op = node.op;
  // The op's own reason; the region's, of all its ops, where somebody placed it there by hand.
  Interface interface = plan.graph().interface;
  ops::GuardingShapes shapes(interface);
  partition::PlacedNode placed =
      partition::place(plan.graph(), node, plan.uses, shapes, plan.device);
  call.reason = placed.placement == Placement::fallback ? std::move(placed.reason) : region.reason;
  if (region.placement == Placement::library) call.reason = kOddOperands;
  if (node.call >= 0) call.calls.push_back(node.call);
  if (node.op == "prim.copy_") {
    // Torch runs no prims: what it gives for the source goes into the input's memory.
    call.op = "aten.alias.default";
    const Argument source = Argument::Value{operand_value(node, "src")};
    call.arguments.push_back({"self", with_buffers(plan, source)});
    call.outputs.push_back(buffer_of(plan, operand_value(node, "self")));
    return call;
  }
  for (const NamedArgument& argument : node.args) {
    call.arguments.push_back({argument.name, with_buffers(plan, argument.value)});
  }
  for (ValueId id : node.results) {
    call.outputs.push_back(plan.values[id].window ? buffer_of(plan, id) : kNoBuffer);
  }
  return call;
}

}  // namespace

LibraryCall emit_check(FusionPlan& plan, const Node& node) {
  LibraryCall call;
  call.name = "check_index";
  call.op = *find_argument(node, "op")->as<std::string>();
  call.inputs.push_back(buffer_of(plan, operand_value(node, "self")));
  for (const NamedArgument& argument : node.args) {
    const bool given = argument.name != "self" && argument.name != "op";
    if (given) call.attributes.push_back({argument.name, with_buffers(plan, argument.value)});
  }
  if (node.call >= 0) call.calls.push_back(node.call);
  return call;
}

Result<ProgramStep> emit_call(FusionPlan& plan, const Region& region, std::int32_t position) {
  const Node& node = plan.graph().nodes[position];
  for (const NamedArgument& argument : node.args) {
    ValueId missing = kNoValue;
    for_each_value(argument.value, [&](ValueId id) {
      bool apart = plan.batched.contains({position, id}) || plan.scaled.contains(id);
      if (!plan.values[id].window && !apart && !plan.graph().values[id].is_scalar) missing = id;
    });
    if (missing == kNoValue) continue;
    return failure(Code::PS0601, fmt::format("operand %{} of {} lies in no memory",
                                             plan.graph().values[missing].name, node.op));
  }
  if (region.placement == Placement::fallback && find_control_op(node.op) != nullptr) {
    auto refused = failure(Code::PS0708, fmt::format("{}: {}", node.op, region.reason));
    refused.value().location = location_of(plan.graph().calls, node.call);
    return refused;
  }
  if (region.placement == Placement::fallback) return fallback_call(plan, region, node);
  LibraryCall call = CallBuilder(plan, position).build();
  if (plan.device == "cpu" || is_device_call(call, plan.buffers)) return call;
  if (batch_sizes(plan, position).empty()) return fallback_call(plan, region, node);
  // Its batch dims lie apart, as torch's op does not take them.
  return failure(Code::PS0708, fmt::format("{}: {}", node.op, kOddOperands));
}

}  // namespace penstock::fusion
