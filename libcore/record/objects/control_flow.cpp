// torch's control flow: torch.cond, while_loop and their kin. Plain Python gets to the program's
// functions by way of torch.compile, and torch has them traced. Here a function of Python stands
// for each of them (polyfills_control_flow.py) that runs the program's functions once, and says
// between them where one begins and ends; what was recorded of them becomes subgraphs. They must do
// nothing but compute their results then, as torch demands too: the walker leaves the whole call to
// torch before anything else happens (Walker::abandon).

#include "record/objects/control_flow.h"

#include "ops/draws.h"
#include "record/objects/call.h"
#include "record/polyfills.h"
#include "record/results.h"
#include "torch/state.h"

namespace penstock::record {

bool holds_tensors(const Walk& walk, PyObject* object) {
  if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    if (!walk.is_tensor(PySequence_Fast_GET_ITEM(object, i))) return false;
  }
  return true;
}

bool requires_grad(const Walk& walk, PyObject* object) {
  torch::TensorView view;
  const bool read = walk.is_tensor(object) && walk.recorder.bridge().read(object, view);
  PyErr_Clear();
  return read && view.requires_grad;
}

std::optional<std::vector<ValueId>> values_in(Walk& walk, Operand result) {
  std::vector<Operand> tensors{result};
  if (!walk.is_tensor(result.object)) {
    if (!holds_tensors(walk, result.object)) return std::nullopt;
    tensors.clear();
    const std::vector<Shadow> shadows = walk.objects.items(result);
    for (std::size_t i = 0; i < shadows.size(); ++i) {
      tensors.push_back(
          {shadows[i], PySequence_Fast_GET_ITEM(result.object, static_cast<Py_ssize_t>(i))});
    }
  }
  std::vector<ValueId> values;
  for (const Operand& tensor : tensors) {
    const auto given = argument(walk, tensor);
    const auto* value = given ? given->as<Argument::Value>() : nullptr;
    if (value == nullptr) return std::nullopt;
    values.push_back(value->id);
  }
  return values;
}

bool lies_alike(const TensorType& one, const TensorType& other) {
  return one.dtype == other.dtype && one.sizes == other.sizes && one.strides == other.strides &&
         one.device == other.device;
}

std::vector<TensorType> types_of(const Recorder& recorder, const std::vector<ValueId>& values) {
  std::vector<TensorType> types;
  for (ValueId id : values) types.push_back(recorder.value(id).type);
  return types;
}

bool wants_gradients(const Recorder& recorder, const std::vector<ValueId>& operands) {
  if (!torch::grad_enabled()) return false;
  const auto wanted = [&](ValueId id) { return recorder.value(id).type.requires_grad; };
  return std::ranges::any_of(operands, wanted) ||
         std::ranges::any_of(recorder.subgraphs.taken(recorder), wanted);
}

std::string obstacle_to_gradients(const Recorder& recorder, const std::vector<ValueId>& operands) {
  if (!wants_gradients(recorder, operands)) return {};
  // Torch's operator is one function of autograd: whatever it gives requires grad then.
  for (std::size_t i = 0; i < recorder.subgraphs.count(); ++i) {
    for (ValueId id : recorder.subgraphs.results(i)) {
      const TensorType& type = recorder.value(id).type;
      if (is_floating(type.dtype) && !type.requires_grad)
        return "it gives a tensor that depends on nothing of which gradients are wanted";
    }
  }
  return {};
}

bool natively(FrameShadow& f, Operand function, std::function<void(Walk&, FrameShadow&)> finish) {
  f.expected.function = function.object;
  f.expected.native = true;
  f.finish = std::move(finish);
  return true;
}

namespace {

/// What an operator gives, a tensor or several, which the graph has as these values.
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

/// The op that a stand-in names.
const OpenSubgraphs::Operator* operator_named(const std::vector<Operand>& positional) {
  const char* name = positional.empty() || !PyUnicode_Check(positional[0].object)
                         ? nullptr
                         : PyUnicode_AsUTF8(positional[0].object);
  return name == nullptr ? nullptr : &OpenSubgraphs::operator_of(name);
}

}  // namespace

bool joins(FrameShadow& f, Operand function, int pops,
           std::function<std::vector<ValueId>(Walk&)> join) {
  f.expected.compiles = true;
  return natively(f, function, [pops, join = std::move(join)](Walk& walk, FrameShadow& f) {
    const std::vector<ValueId> results = join(walk);
    Argument::Sequence list{Argument::Sequence::Kind::tuple, {}};
    for (ValueId id : results) list.items.emplace_back(Argument::Value{id});
    walk.recorder.graph().calls.back().result =
        walk.is_tensor(f.object()) ? list.items.front() : Argument(std::move(list));
    f.pop(pops);
    f.push(joined_result(walk, f.object(), results));
  });
}

std::optional<bool> model_begin_subgraph(Walk& walk, FrameShadow& f, Operand function,
                                         const std::vector<Operand>& positional, const Keywords&,
                                         int pops) {
  const OpenSubgraphs::Operator* op = operator_named(positional);
  if (op == nullptr || !calls_instead(f, function, "begun"))
    return walk.verdict.broke(Code::PS0310, "what is called has no subgraphs");
  return natively(f, {Shadow::constant(), polyfill("begun")},
                  [pops, op](Walk& walk, FrameShadow& f) {
                    walk.recorder.subgraphs.begin(walk.recorder, *op);
                    walk.objects.watch();
                    gives_constant(f, pops);
                  });
}

std::optional<bool> model_end_subgraph(Walk& walk, FrameShadow& f, Operand function,
                                       const std::vector<Operand>& positional, const Keywords&,
                                       int pops) {
  if (walk.objects.unwatch())
    return walk.verdict.broke(Code::PS0310, walk.recorder.subgraphs.what() + " changes an object");
  const auto values = values_in(walk, positional[0]);
  if (!values)
    return walk.verdict.broke(Code::PS0310,
                              walk.recorder.subgraphs.what() + " gives more than tensors");
  return natively(
      f, function,
      [pops, values = *values, shadow = positional[0].shadow](Walk& walk, FrameShadow& f) {
        walk.recorder.subgraphs.end(walk.recorder, values);
        gives(f, pops, shadow);
      });
}

bool may_be_in_subgraph(Walk& walk, const std::vector<PlannedNode>& nodes) {
  const OpenSubgraphs& open = walk.recorder.subgraphs;
  if (!open.any()) return true;
  for (const PlannedNode& node : nodes) {
    if (ops::draws({node.op, node.args, {}, -1}))
      return walk.verdict.broke(Code::PS0310,
                                node.op + " in " + open.what() + " may draw random numbers");
  }
  return true;
}

}  // namespace penstock::record
