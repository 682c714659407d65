// torch.cond. A function of Python stands for it that runs both branches, one after the other
// (control_flow.cpp).

#include "record/objects/call.h"
#include "record/objects/control_flow.h"
#include "record/objects/torch_call.h"
#include "record/polyfills.h"
#include "record/walk.h"
#include "torch/state.h"

namespace penstock::record {

namespace {

/// The argument at that place or of that name; no object: it is not given.
Operand given(const std::vector<Operand>& positional, const Keywords& keywords, std::size_t place,
              const char* name) {
  if (place < positional.size()) return positional[place];
  for (const auto& [key, operand] : keywords) {
    if (PyUnicode_CompareWithASCIIString(key, name) == 0) return operand;
  }
  return {};
}

/// Why the branches recorded last cannot be subgraphs; empty: they can.
std::string obstacle_to_branches(const Recorder& recorder, const std::vector<ValueId>& operands) {
  if (std::string obstacle = recorder.subgraphs.obstacle(recorder); !obstacle.empty())
    return obstacle;
  if (std::string obstacle = obstacle_to_gradients(recorder, operands); !obstacle.empty())
    return obstacle;
  const std::vector<ValueId>&a = recorder.subgraphs.results(0), &b = recorder.subgraphs.results(1);
  if (a.size() != b.size()) return "its branches give different numbers of tensors";
  for (std::size_t i = 0; i < a.size(); ++i) {
    const TensorType &one = recorder.value(a[i]).type, &other = recorder.value(b[i]).type;
    if (!lies_alike(one, other))
      return "its branches give " + to_string(one) + " and " + to_string(other);
  }
  return {};
}

}  // namespace

std::optional<bool> model_cond(Walk& walk, FrameShadow& f, Operand function,
                               const std::vector<Operand>& positional, const Keywords& keywords,
                               int pops) {
  const Operand predicate = given(positional, keywords, 0, "pred"),
                operands = given(positional, keywords, 3, "operands");
  if (predicate.object == nullptr || walk.context.for_backend()) return std::nullopt;
  if (walk.is_tensor(predicate.object)) {
    torch::TensorView view;
    const bool read = walk.recorder.bridge().is_plain_tensor(predicate.object) &&
                      walk.recorder.bridge().read(predicate.object, view);
    PyErr_Clear();
    const auto type = walk.recorder.result_type(predicate.object, {});
    const auto is_one = [](std::int64_t size) { return size == 1; };
    if (!read || !type || type->dtype != DType::bool_ || type->device != "cpu" ||
        !std::ranges::all_of(view.sizes, is_one))
      return std::nullopt;
  } else if (!PyBool_Check(predicate.object)) {
    return std::nullopt;
  }
  if (operands.object != nullptr && !holds_tensors(walk, operands.object)) return std::nullopt;
  return call_stand_in(walk, f, function, "cond", positional, keywords, pops);
}

std::optional<bool> model_join_branches(Walk& walk, FrameShadow& f, Operand function,
                                        const std::vector<Operand>& positional, const Keywords&,
                                        int pops) {
  const auto operands = values_in(walk, positional[5]);
  std::string obstacle = operands ? obstacle_to_branches(walk.recorder, *operands)
                                  : "it takes something else than tensors";
  if (Py_TYPE(positional[1].object) != Py_TYPE(positional[2].object))
    obstacle = "its branches give objects of different types";
  if (!obstacle.empty())
    return walk.verdict.broke(Code::PS0310, "torch.cond is torch's: " + obstacle);
  const auto predicate = argument(walk, positional[0]);
  if (!predicate) return false;
  walk.context.guard_grad_mode();
  Call call{"call_function", "cond", "torch.cond", {*predicate}, {}, walk.stack(), {}};
  return joins(f, function, pops, [predicate = *predicate, call](Walk& walk) {
    Recorder& recorder = walk.recorder;
    OpenSubgraphs::Joined joined;
    joined.before.push_back({"predicate", predicate});
    joined.types = types_of(recorder, recorder.subgraphs.results(0));
    joined.call = call;
    return recorder.subgraphs.join(recorder, std::move(joined));
  });
}

}  // namespace penstock::record
