// torch's map: a function of the rows of a tensor, its results stacked. Plain Python gets to the
// function by way of torch.compile and the dispatcher. All of that runs natively; the calls of the
// function are followed, each with a row of the tensor, so that the graph is the loop unrolled.

#include "record/objects/call.h"
#include "record/objects/torch_call.h"
#include "record/walk.h"
#include "torch/state.h"

namespace penstock::record {

namespace {

constexpr std::int64_t kMostRows = 256;  // a graph of that many copies is no gain any more

}  // namespace

std::optional<bool> model_map(Walk& walk, FrameShadow& f, Operand,
                              const std::vector<Operand>& positional,
                              const std::vector<std::pair<PyObject*, Operand>>& keywords,
                              int pops) {
  const bool plain =
      positional.size() >= 2 && keywords.empty() && is_plain_function(positional[0].object);
  return plain ? map_rows(walk, f, positional, pops) : std::nullopt;
}

std::optional<bool> map_rows(Walk& walk, FrameShadow& f, const std::vector<Operand>& positional,
                             int pops) {
  const std::vector<Operand> tensors(positional.begin() + 1, positional.end());
  for (Operand operand : tensors) {
    torch::TensorView view;
    if (!walk.recorder.bridge().is_plain_tensor(operand.object) ||
        !walk.recorder.bridge().read(operand.object, view)) {
      PyErr_Clear();
      return std::nullopt;
    }
    if (view.requires_grad && torch::grad_enabled()) return std::nullopt;  // other code runs
  }
  walk.context.guard_grad_mode();
  if (!consume_function(walk, positional[0])) return false;
  if (call_known_python(walk, f, positional[0], {}, {}, pops)) return std::nullopt;
  std::vector<ValueId> values;
  for (Operand operand : tensors) {
    const auto converted = argument(walk, operand);
    if (!converted) return false;
    values.push_back(converted->as<Argument::Value>()->id);
  }
  const TensorType type = walk.recorder.value(values[0]).type;
  if (type.sizes.empty()) return std::nullopt;
  const auto rows = type.sizes[0].is_constant() ? type.sizes[0].constant()
                                                : walk.recorder.sizes().value(type.sizes[0]);
  if (!rows || *rows < 1 || *rows > kMostRows) return std::nullopt;
  walk.recorder.sizes().specialise(type.sizes[0]);
  Expected& call = f.expected;
  call.function = positional[0].object;
  call.function_shadow = positional[0].shadow;
  call.positional = tensors;
  call.made = Shadow::constant();
  call.repeats = call.through = true;
  call.rows_of = values[0];
  f.finish = [pops, rows = static_cast<std::size_t>(*rows)](Walk& walk, FrameShadow& f) {
    const std::vector<Shadow> results = std::move(f.expected.results);
    f.pop(pops);
    if (results.size() != rows || !walk.is_tensor(f.object())) {
      walk.verdict.spoil_here("what torch's map gives is no stack of what its function gave");
      return f.push(Shadow::constant());
    }
    f.push(stacked(walk, f.object(), results));
  };
  return true;
}

Shadow row(Walk& walk, PyObject* tensor, ValueId of, int index) {
  const Argument self = Argument::Value{of}, zero = std::int64_t{0}, at = std::int64_t{index};
  const std::int32_t call = walk.recorder.add_call(
      {"call_method", "select", "select", {self, zero, at}, {}, walk.stack(), {}});
  PlannedNode node{
      "aten.select.int", {{"self", self}, {"dim", zero}, {"index", at}}, {of}, std::nullopt};
  return planned_result(walk, call, std::move(node), tensor);
}

Shadow stacked(Walk& walk, PyObject* tensor, const std::vector<Shadow>& results) {
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  PlannedNode node{"aten.stack.default", {}, {}, std::nullopt};
  for (const Shadow result : results) {
    const auto value = value_of(walk, result);
    if (!value) {
      walk.verdict.spoil_here("what the function of torch's map gives is not followed");
      return Shadow::constant();
    }
    list.items.push_back(Argument::Value{*value});
    node.values.push_back(*value);
  }
  node.args = {{"tensors", Argument(list)}};
  const std::int32_t call = walk.recorder.add_call(
      {"call_function", "stack", "torch.stack", {Argument(list)}, {}, walk.stack(), {}});
  return planned_result(walk, call, std::move(node), tensor);
}

}  // namespace penstock::record
