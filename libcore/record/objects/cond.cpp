// torch.cond. Plain Python gets to the branches by way of torch.compile, and torch has both traced.
// Here a function of Python stands for it (polyfills_source.py) that runs both branches, and says
// between them where one begins and ends; what was recorded of them becomes subgraphs. A branch
// must do nothing but compute its results then, as torch demands too: the walker leaves the whole
// call to torch before anything else happens (Walker::abandon).

#include "ops/draws.h"
#include "python/literal.h"
#include "record/objects/call.h"
#include "record/objects/torch_call.h"
#include "record/polyfills.h"
#include "record/results.h"
#include "record/walk.h"
#include "torch/state.h"

namespace penstock::record {

using python::PyRef;

namespace {

/// True for a tuple or list of tensors.
bool holds_tensors(const Walk& walk, PyObject* object) {
  if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    if (!walk.is_tensor(PySequence_Fast_GET_ITEM(object, i))) return false;
  }
  return true;
}

/// The argument at that place or of that name; no object: it is not given.
Operand given(const std::vector<Operand>& positional, const Keywords& keywords, std::size_t place,
              const char* name) {
  if (place < positional.size()) return positional[place];
  for (const auto& [key, operand] : keywords) {
    if (PyUnicode_CompareWithASCIIString(key, name) == 0) return operand;
  }
  return {};
}

/// The call runs natively, and leaves what `finish` pushes.
std::optional<bool> natively(FrameShadow& f, Operand function,
                             std::function<void(Walk&, FrameShadow&)> finish) {
  f.expected.function = function.object;
  f.expected.native = true;
  f.finish = std::move(finish);
  return true;
}

/// The values of the graph that a branch gives; nothing where it gives anything else.
std::optional<std::vector<ValueId>> values_in(Walk& walk, Operand result) {
  std::vector<Shadow> shadows{result.shadow};
  if (!walk.is_tensor(result.object)) {
    if (!holds_tensors(walk, result.object)) return std::nullopt;
    shadows = walk.objects.items(result);
  }
  std::vector<ValueId> values;
  for (const Shadow shadow : shadows) {
    const auto value = value_of(walk, shadow);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

/// What torch.cond gives, a tensor or several, which the graph has as these values.
Shadow joined_result(Walk& walk, PyObject* result, const std::vector<ValueId>& values) {
  if (walk.is_tensor(result)) {
    walk.recorder.note_storage(values.front(), result);
    return Shadow::node(values.front());
  }
  std::vector<Shadow> shadows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    walk.recorder.note_storage(values[i],
                               PySequence_Fast_GET_ITEM(result, static_cast<Py_ssize_t>(i)));
    shadows.push_back(Shadow::node(values[i]));
  }
  return walk.objects.fresh(result, std::move(shadows));
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

std::optional<bool> model_begin_branch(Walk&, FrameShadow& f, Operand function,
                                       const std::vector<Operand>&, const Keywords&, int pops) {
  return natively(f, function, [pops](Walk& walk, FrameShadow& f) {
    walk.recorder.begin_branch();
    gives_constant(f, pops);
  });
}

std::optional<bool> model_end_branch(Walk& walk, FrameShadow& f, Operand function,
                                     const std::vector<Operand>& positional, const Keywords&,
                                     int pops) {
  const auto values = values_in(walk, positional[0]);
  if (!values)
    return walk.verdict.broke(Code::PS0310, "a branch of torch.cond gives more than tensors");
  return natively(
      f, function,
      [pops, values = *values, shadow = positional[0].shadow](Walk& walk, FrameShadow& f) {
        walk.recorder.end_branch(values);
        gives(f, pops, shadow);
      });
}

std::optional<bool> model_join_branches(Walk& walk, FrameShadow& f, Operand function,
                                        const std::vector<Operand>& positional, const Keywords&,
                                        int pops) {
  std::string obstacle = walk.recorder.cannot_join();
  if (Py_TYPE(positional[1].object) != Py_TYPE(positional[2].object))
    obstacle = "its branches give objects of different types";
  if (!obstacle.empty())
    return walk.verdict.broke(Code::PS0310, "torch.cond is torch's: " + obstacle);
  const auto predicate = argument(walk, positional[0]);
  if (!predicate) return false;
  walk.context.guard_grad_mode();
  Call call{"call_function", "cond", "torch.cond", {*predicate}, {}, walk.stack(), {}};
  const ValueId value = predicate->as<Argument::Value>()->id;
  return natively(f, function, [pops, value, call](Walk& walk, FrameShadow& f) {
    const std::vector<ValueId> results = walk.recorder.join_branches(value, call);
    const auto at = static_cast<std::int32_t>(walk.recorder.graph().calls.size()) - 1;
    Argument::Sequence list{Argument::Sequence::Kind::tuple, {}};
    for (ValueId id : results) list.items.emplace_back(Argument::Value{id});
    walk.recorder.set_result(
        at, walk.is_tensor(f.object()) ? list.items.front() : Argument(std::move(list)));
    f.pop(pops);
    f.push(joined_result(walk, f.object(), results));
  });
}

bool may_be_in_branch(Walk& walk, const std::vector<PlannedNode>& nodes) {
  if (!walk.recorder.in_branch()) return true;
  for (const PlannedNode& node : nodes) {
    if (ops::draws({node.op, node.args, {}, -1}))
      return walk.verdict.broke(Code::PS0310,
                                node.op + " in a branch of torch.cond may draw random numbers");
  }
  return true;
}

}  // namespace penstock::record
