// torch.autograd.Function: its C code calls forward (and setup_context) without gradient mode. The
// calls are followed as those of any other function, the context as any object that is made here.
// Where gradients are asked for, that is what a function of Python does that stands for apply()
// (custom_vjp.cpp); else what is put into the context is nobody's behind the call.

#include <algorithm>
#include <cstring>

#include "python/bytecode.h"
#include "python/literal.h"
#include "record/objects/call.h"
#include "record/objects/control_flow.h"
#include "record/objects/torch_call.h"
#include "record/objects/torch_tensor.h"
#include "record/walk.h"
#include "torch/state.h"

namespace penstock::record {

using python::PyRef;

namespace {

/// The setup_context of which torch says that there is none.
PyObject* no_setup_context() {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch.autograd.function");
  PyObject* base = module == nullptr
                       ? nullptr
                       : PyDict_GetItemString(PyModule_GetDict(module), "_SingleLevelFunction");
  PyRef own =
      base == nullptr ? PyRef() : PyRef::steal(PyObject_GetAttrString(base, "setup_context"));
  PyErr_Clear();
  return own.get();  // the class keeps it
}

/// forward(context, *arguments)
Expected forward_alone(Operand forward, const std::vector<Operand>& arguments) {
  Expected call;
  call.function = forward.object;
  call.function_shadow = forward.shadow;
  call.made = Shadow::constant();
  call.new_self = true;
  call.positional = {{}};
  call.positional.insert(call.positional.end(), arguments.begin(), arguments.end());
  return call;
}

/// forward(*arguments), then setup_context(context, arguments, what that gave)
Expected forward_then_setup(Operand forward, Operand setup, const std::vector<Operand>& arguments) {
  Expected call;
  call.function = forward.object;
  call.function_shadow = forward.shadow;
  call.made = Shadow::constant();
  call.positional = arguments;
  call.then = std::make_shared<Expected>();
  call.then->function = setup.object;
  call.then->function_shadow = setup.shadow;
  call.then->new_self = true;
  call.then->positional = {{}, {}};
  call.then->new_tuple.emplace();
  for (Operand operand : arguments) call.then->new_tuple->push_back(operand.shadow);
  return call;
}

}  // namespace

bool is_plain_function(PyObject* object) {
  if (object == nullptr || !PyFunction_Check(object)) return false;
  const int flags = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(object))->co_flags;
  return (flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) == 0;
}

bool is_context_field(PyObject* descriptor) {
  return Py_TYPE(descriptor) == &PyGetSetDescr_Type &&
         std::strcmp(reinterpret_cast<PyDescrObject*>(descriptor)->d_type->tp_name,
                     "torch._C._FunctionBase") == 0;
}

bool apply_function(Walk& walk, FrameShadow& f, Operand type, const std::vector<Operand>& arguments,
                    int pops) {
  const auto refuse = [&](const char* why) {
    return walk.verdict.broke(Code::PS0306, std::string("torch.autograd.Function.apply ") + why);
  };
  walk.context.guard_grad_mode();
  const bool stood_for = f.caller != nullptr && stands_for_apply(*f.caller);
  for (Operand operand : arguments) {
    if (!walk.is_tensor(operand.object)) continue;
    if (!consume_tensor_type(walk, operand)) return false;
    torch::TensorView view;
    if (!walk.recorder.bridge().read(operand.object, view)) PyErr_Clear();
    if (view.requires_grad && torch::grad_enabled() && !stood_for)
      return refuse("is asked for gradients");
  }
  PyRef forward = PyRef::steal(PyObject_GetAttrString(type.object, "forward"));
  PyRef setup = PyRef::steal(PyObject_GetAttrString(type.object, "setup_context"));
  PyErr_Clear();
  const bool sets_up = setup && setup.get() != no_setup_context();
  if (!is_plain_function(forward.get()) || (sets_up && !is_plain_function(setup.get()))) {
    return refuse("is used with a forward that is no plain function");
  }
  // Since torch 2.15 what is called here binds the defaults of a forward that has a setup_context.
  const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(forward.get()));
  if (sets_up && arguments.size() < static_cast<std::size_t>(code->co_argcount))
    return refuse("is called with less than its forward takes");
  const auto of_class = [&](const char* name) {
    const SourceId source = type.shadow.source();
    return source == kNoSource ? Shadow::constant()
                               : Shadow::sourced(walk.recorder.guards().source(
                                     SourceKind::attribute, source, name));
  };
  const Operand forward_operand{of_class("forward"), forward.get()};
  Expected call = sets_up ? forward_then_setup(forward_operand,
                                               {of_class("setup_context"), setup.get()}, arguments)
                          : forward_alone(forward_operand, arguments);
  for (const Expected* one : {&call, call.then.get()}) {
    if (one == nullptr) continue;
    const Operand function{one->function_shadow, one->function};
    if (!consume_function(walk, function)) return false;
    if (call_known_python(walk, f, function, {}, {}, pops))
      return refuse("is used with a forward that is not followed");
  }
  f.expected = std::move(call);
  f.finish = [pops, sets_up, arguments, forward, setup](Walk& walk, FrameShadow& f) {
    if (f.expected.arrived == 0)
      walk.verdict.spoil("the forward of a torch.autograd.Function did not reach the walker");
    const Shadow given =
        sets_up && !f.expected.unpacked.empty() ? f.expected.unpacked[0] : f.expected.result;
    f.pop(pops);
    f.push(function_result(walk, f.object(), given, arguments));
  };
  return true;
}

/// What apply() gives where forward gave `given`: a new tuple for a tuple, and a view of an
/// argument for itself.
Shadow function_result(Walk& walk, PyObject* result, Shadow given,
                       const std::vector<Operand>& arguments) {
  if (walk.is_tensor(result)) return function_output(walk, result, given, arguments);
  if (!PyTuple_CheckExact(result)) return given;
  const bool followed = given.is(Shadow::Kind::fresh) &&
                        static_cast<Py_ssize_t>(walk.objects.object(given.index).items.size()) ==
                            PyTuple_GET_SIZE(result);
  if (!followed) {
    if (!given.is(Shadow::Kind::constant))
      walk.verdict.spoil_here("a torch.autograd.Function gives a tuple that was not made in it");
    return given;
  }
  std::vector<Shadow> items = walk.objects.object(given.index).items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyObject* item = PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(i));
    if (walk.is_tensor(item)) items[i] = function_output(walk, item, items[i], arguments);
  }
  return walk.objects.fresh(result, std::move(items));
}

Shadow function_output(Walk& walk, PyObject* tensor, Shadow given,
                       const std::vector<Operand>& arguments) {
  bool is_argument = false;
  for (Operand operand : arguments) {
    if (operand.object == tensor) return operand.shadow;  // marked as changed in place
    is_argument = is_argument || operand.shadow == given;
  }
  if (given.is(Shadow::Kind::node) && !is_argument) return given;
  const auto value = value_of(walk, given);
  if (!is_argument || !value) {
    // A tensor of which gradients could be asked is detached in place.
    walk.verdict.spoil_here(
        "a torch.autograd.Function gives a tensor that is neither an argument nor made in it");
    return given;
  }
  const Argument self = Argument::Value{*value};
  Call call{"call_method", "view_as", "view_as", {self, self}, {}, walk.stack(), {}};
  const std::int32_t at = walk.recorder.add_call(std::move(call));
  return planned_result(walk, at, {"aten.alias.default", {{"self", self}}, {*value}, std::nullopt},
                        tensor);
}

std::optional<bool> model_bind_defaults(Walk& walk, FrameShadow& f, Operand function,
                                        const std::vector<Operand>& positional,
                                        const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                        int pops) {
  if (positional.empty() || !is_plain_function(positional[0].object)) return std::nullopt;
  auto* forward = reinterpret_cast<PyFunctionObject*>(positional[0].object);
  auto* code = reinterpret_cast<PyCodeObject*>(forward->func_code);
  // Of another signature than its code has.
  const auto has = [&](const char* name) {
    return forward->func_dict != nullptr &&
           PyDict_GetItemString(forward->func_dict, name) != nullptr;
  };
  const bool takes_more =
      (code->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) != 0 || code->co_kwonlyargcount != 0;
  const std::size_t given = positional.size() - 1,
                    count = static_cast<std::size_t>(code->co_argcount);
  if (takes_more || given > count || has("__wrapped__") || has("__signature__"))
    return std::nullopt;
  if (!consume_function(walk, positional[0])) return false;
  std::vector<Shadow> bound;
  for (std::size_t i = 0; i < given; ++i) bound.push_back(positional[i + 1].shadow);
  const std::size_t defaults =
      forward->func_defaults == nullptr
          ? 0
          : static_cast<std::size_t>(PyTuple_GET_SIZE(forward->func_defaults));
  for (std::size_t i = given; i < count; ++i) {
    const auto named = std::ranges::find_if(keywords, [&](const auto& keyword) {
      return PyUnicode_Compare(keyword.first, python::slot_name(code, static_cast<int>(i))) == 0;
    });
    if (named != keywords.end()) {
      bound.push_back(named->second.shadow);
      continue;
    }
    if (i + defaults < count) return std::nullopt;  // it raises
    PyObject* value =
        PyTuple_GET_ITEM(forward->func_defaults, static_cast<Py_ssize_t>(i + defaults - count));
    if (!python::is_immutable_literal(value)) return std::nullopt;
    bound.push_back(Shadow::constant());
  }
  f.expected.function = function.object;
  f.expected.native = true;
  f.finish = [pops, bound](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    const bool fits = PyTuple_CheckExact(f.object()) &&
                      PyTuple_GET_SIZE(f.object()) == static_cast<Py_ssize_t>(bound.size());
    if (!fits)
      walk.verdict.spoil_here("torch binds other arguments to a forward than its code takes");
    f.push(fits ? walk.objects.fresh(f.object(), bound) : Shadow{});
  };
  return true;
}

}  // namespace penstock::record
