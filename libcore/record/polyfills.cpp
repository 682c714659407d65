// Functions of C by Python functions of ours. A rule of the walker's says what an instruction does;
// what a function of C does with tensors that pass through it (operator.add, functools.reduce, an
// iterator of itertools, sorted with a key) it would have to be told one by one, and could not look
// into the functions that those call. So while a segment is recorded the call's operand is
// exchanged for a function of Python that does the same, whose frame is followed as any other.
// Behind the segment nothing of it is left: one that would end inside such a frame ends before its
// call. The frames are hidden: what they call, and tracebacks, show the caller's instead. What
// shows is the type of an iterator, which is a generator then: where the program did not ask for
// torch.compile, as TorchDynamo does the same there, it is made only for an instruction that uses
// it up at once.

#include "record/polyfills.h"
#include "python/hook.h"
#include "python/literal.h"
#include "record/constructor.h"
#include "record/local_variables.h"
#include "record/objects/call.h"
#include "record/objects/torch_call.h"
#include "record/results.h"
#include "record/walk.h"
#include "torch/compile_region.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::record {

using python::Opcode;
using python::PyRef;

namespace {

/// The globals of polyfills_source.py, until the process ends; null before the first call that asks
/// for one.
PyObject* g_globals = nullptr;

/// Null, without an error, where no tensor can be, or the code does not run.
PyObject* polyfill_globals() {
  if (g_globals != nullptr) return g_globals;
  if (PyDict_GetItemString(PyImport_GetModuleDict(), "torch") == nullptr) return nullptr;
  const python::HookPause pause;
  PyRef made = PyRef::steal(PyDict_New());
  const PyRef name = PyRef::steal(PyUnicode_FromString("penstock.polyfills"));
  const PyRef code = PyRef::steal(Py_CompileString(kPolyfillsSource, "<penstock>", Py_file_input));
  const bool ready = made && name && code &&
                     PyDict_SetItemString(made.get(), "__builtins__", PyEval_GetBuiltins()) == 0 &&
                     PyDict_SetItemString(made.get(), "__name__", name.get()) == 0 &&
                     PyRef::steal(PyEval_EvalCode(code.get(), made.get(), made.get()));
  PyErr_Clear();
  if (ready) g_globals = made.release();
  return g_globals;
}

/// The Python form of a function of torch's that is written in Python; null: there is none, now.
/// What stands in the table makes it, of the function.
PyRef make_polyfill(PyObject* table, PyObject* function) {
  const std::string name = python::qualified_name(function);
  PyObject* maker = PyDict_GetItemString(table, name.c_str());
  if (maker == nullptr) return nullptr;
  const python::HookPause pause;
  PyRef made = PyRef::steal(PyObject_CallOneArg(maker, function));
  PyErr_Clear();
  return made && PyFunction_Check(made.get()) ? std::move(made) : PyRef();
}

/// Null: there is none.
PyRef find_polyfill(PyObject* callable) {
  PyObject* globals = polyfill_globals();
  PyObject* table = globals == nullptr ? nullptr : PyDict_GetItemString(globals, "TABLE");
  if (table == nullptr) return nullptr;
  if (PyFunction_Check(callable)) return make_polyfill(table, callable);
  PyRef key = PyRef::borrow(callable);
  if (PyCFunction_Check(callable)) {
    PyObject* self = PyCFunction_GET_SELF(callable);
    const bool of_object = self != nullptr && !PyModule_Check(self);
    if (of_object && !PyType_Check(self)) return nullptr;  // its self is no argument
    if (of_object)
      key = PyRef::steal(Py_BuildValue(
          "(Os)", self, reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name));
  } else if (!PyType_Check(callable) && Py_TYPE(callable) != &PyMethodDescr_Type) {
    return nullptr;
  }
  PyObject* found = key ? PyDict_GetItemWithError(table, key.get()) : nullptr;
  PyErr_Clear();
  return PyRef::borrow(found);
}

}  // namespace

bool consume_c_function(Walk& walk, Operand callable) {
  const bool of_class = PyCFunction_Check(callable.object) &&
                        (PyCFunction_GET_FLAGS(callable.object) & METH_CLASS) != 0;
  if (!of_class || !callable.shadow.is(Shadow::Kind::sourced))
    return of_class || walk.facts.consume_identity(callable);
  const SourceStep& step = walk.recorder.graph().interface.sources[callable.shadow.index];
  // A class of the program may get another attribute of the name.
  const auto* type = reinterpret_cast<PyTypeObject*>(PyCFunction_GET_SELF(callable.object));
  const bool stays =
      (type->tp_flags & (Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_IMMUTABLETYPE)) != Py_TPFLAGS_HEAPTYPE;
  if (!stays || step.kind != SourceKind::attribute || step.base == kNoSource) {
    return walk.verdict.broke(Code::PS0306, "a bound method of a class came from outside");
  }
  return walk.facts.consume_identity(
      {Shadow::sourced(step.base), PyCFunction_GET_SELF(callable.object)});
}

namespace {

/// The instruction calls `function` in the place of its callable.
bool call_instead(Walk& walk, FrameShadow& f, Operand callable, PyObject* function,
                  const std::vector<Operand>& positional,
                  const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops) {
  const int at = callable_position(*f.frame, *f.instruction);
  if (at < 0 || f.frame->stack()[at] != callable.object ||
      !call_function(walk, f, {Shadow::constant(), function}, positional, keywords, pops))
    return false;
  PyRef before = PyRef::steal(f.frame->stack()[at]);
  f.frame->stack()[at] = PyRef::borrow(function).release();
  return true;
}

/// True where a Python form can be called with what is given. It may lack what newer versions of
/// CPython or torch have added, and what no version takes the function itself refuses.
bool takes(PyObject* function, std::size_t positional,
           const std::vector<std::pair<PyObject*, Operand>>& keywords) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  PyObject* defaults = PyFunction_GET_DEFAULTS(function);
  PyObject* named_defaults = PyFunction_GET_KW_DEFAULTS(function);
  const int given = static_cast<int>(positional);
  if (given > code->co_argcount && (code->co_flags & CO_VARARGS) == 0) return false;
  const Py_ssize_t required =
      code->co_argcount - (defaults == nullptr ? 0 : PyTuple_GET_SIZE(defaults));
  std::size_t names = 0;
  for (int slot = 0; slot < code->co_argcount + code->co_kwonlyargcount; ++slot) {
    PyObject* name = python::slot_name(code, slot);
    const bool named = std::ranges::any_of(keywords, [&](const auto& keyword) {
      return python::text_of(name) == python::text_of(keyword.first);
    });
    const bool by_place = slot < code->co_argcount && slot < given;
    const bool by_name = named && slot >= code->co_posonlyargcount;
    const bool has_default =
        slot < code->co_argcount
            ? slot >= required
            : named_defaults != nullptr && PyDict_GetItem(named_defaults, name) != nullptr;
    if (!by_place && !by_name && !has_default) return false;
    names += by_name ? 1 : 0;
  }
  return names == keywords.size() || (code->co_flags & CO_VARKEYWORDS) != 0;
}

/// True where a polyfill gives a generator in the place of an iterator of C.
bool gives_generator(PyObject* callable, PyObject* function) {
  const std::array<PyTypeObject*, 6> containers = {&PyList_Type,  &PyTuple_Type, &PyDict_Type,
                                                   &PyODict_Type, &PySet_Type,   &PyFrozenSet_Type};
  const auto is_callable = [&](PyTypeObject* type) {
    return reinterpret_cast<PyObject*>(type) == callable;
  };
  if (std::ranges::any_of(containers, is_callable)) return false;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  return PyType_Check(callable) || (code->co_flags & CO_GENERATOR) != 0;
}

/// True for the method _make of a named tuple, which makes one of what it goes over.
bool makes_named_tuple(PyObject* callable) {
  PyObject* function = PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : nullptr;
  if (function == nullptr || !PyFunction_Check(function)) return false;
  const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  return python::text_of(code->co_qualname) == "namedtuple.<locals>._make";
}

/// True for functions and types that go over an argument, or ask it for an item, and keep nothing
/// of it.
bool uses_up(PyObject* callable) {
  if (makes_named_tuple(callable)) return true;
  const std::array<PyTypeObject*, 5> types = {&PyList_Type, &PyTuple_Type, &PySet_Type,
                                              &PyFrozenSet_Type, &PyDict_Type};
  const auto is_callable = [&](PyTypeObject* type) {
    return reinterpret_cast<PyObject*>(type) == callable;
  };
  if (std::ranges::any_of(types, is_callable)) return true;
  const std::array<const char*, 7> names = {"any", "all", "sum", "min", "max", "sorted", "next"};
  const auto is_function = [&](const char* name) {
    return PyDict_GetItemString(PyEval_GetBuiltins(), name) == callable;
  };
  if (!PyCFunction_Check(callable)) return false;
  return std::ranges::any_of(names, is_function) ||
         python::qualified_name(callable) == "_functools.reduce";
}

/// True for an instruction that does nothing but push one value, which is no code's.
bool loads_plainly(Opcode opcode) {
  return opcode == Opcode::LOAD_CONST || opcode == Opcode::LOAD_SMALL_INT ||
         opcode == Opcode::LOAD_FAST || opcode == Opcode::LOAD_FAST_BORROW;
}

/// The instruction that goes over what lies on the stack where `next` begins, and how many values
/// are loaded on top of it before; null where anything else is done with it.
struct Use {
  const python::Instruction* by = nullptr;
  int above = 0;
};

Use use_of(const python::Bytecode& code, const python::Instruction* next) {
  Use use;
  const auto is_between = [&] {
    return next != nullptr && (next->opcode == Opcode::PRECALL || loads_plainly(next->opcode));
  };
  for (; is_between(); next = code.at(next->next)) use.above += next->opcode != Opcode::PRECALL;
  if (next == nullptr) return use;
  switch (next->opcode) {
    case Opcode::GET_ITER:
    case Opcode::UNPACK_SEQUENCE:
    case Opcode::UNPACK_EX:
    case Opcode::LIST_EXTEND:
    case Opcode::SET_UPDATE:
      if (use.above == 0) use.by = next;
      break;
    case Opcode::CALL:
      use.by = next;
      break;
    default:
      break;
  }
  return use;
}

/// The local variable that an instruction stores the top of the stack in, or -1.
int slot_stored_in(const python::Instruction& one) {
  switch (one.opcode) {
    case Opcode::STORE_FAST:
      return one.argument;
    case Opcode::STORE_FAST_LOAD_FAST:
    case Opcode::STORE_FAST_STORE_FAST:
      return python::first_of_two(one);
    default:
      return -1;
  }
}

/// True if loops, comprehensions and unpacking are all that the frame's code does with a variable.
bool is_only_gone_over(const python::Bytecode& code, PyCodeObject* object, int slot) {
  if (may_see_variables(object)) return false;
  return std::ranges::all_of(code.instructions(), [&](const python::Instruction& one) {
    const Access access = access_of(one, slot);
    if (access == Access::none || access == Access::stores) return true;
    const Use use = use_of(code, code.at(one.next));
    return access == Access::loads && use.by != nullptr && use.by->opcode != Opcode::CALL;
  });
}

/// True if the instruction behind the frame's call, which pops so much, goes over what it gives and
/// nothing else sees that: a loop, or another call, whose further arguments may be loaded between.
bool is_used_up(const FrameShadow& f, int pops) {
  const python::Bytecode& code = f.frame->bytecode();
  const python::Instruction* next = code.at(f.instruction->next);
  const int slot = next == nullptr ? -1 : slot_stored_in(*next);
  if (slot >= 0) return is_only_gone_over(code, f.frame->code(), slot);
  const auto [by, above] = use_of(code, next);
  if (by == nullptr || by->opcode != Opcode::CALL) return by != nullptr;
  const int given = by->argument;
  if (given <= above || f.frame->depth() < pops + given - above + 1) return false;
  // By place from the top as the call finds it, which is above what is on the stack now.
  const auto below = [&](int place) { return f.frame->peek(place - above - 1 + pops); };
  const auto operands = python::call_operands(given, below);
  return !operands.has_self && uses_up(below(operands.callable));
}

}  // namespace

bool is_polyfill(PyObject* globals) {
  if (globals == nullptr || g_globals == nullptr) return false;
  if (globals == g_globals) return true;
  // A function of torch's with other globals says so by the name of its module, the same object.
  static PyObject* const key = PyUnicode_InternFromString("__name__");
  static PyObject* const own = PyDict_GetItem(g_globals, key);
  return own != nullptr && PyDict_GetItem(globals, key) == own;
}

std::optional<RaisePlace> open_polyfill(const FrameShadow* innermost) {
  std::optional<RaisePlace> outermost;
  for (const FrameShadow* f = innermost; f != nullptr && f->caller != nullptr; f = f->caller) {
    if (is_polyfill(f->frame->globals())) outermost = Walk::place_of(*f->caller);
  }
  return outermost;
}

std::optional<bool> call_polyfill(Walk& walk, FrameShadow& f, Operand callable,
                                  std::vector<Operand> positional,
                                  std::vector<std::pair<PyObject*, Operand>> keywords, int pops) {
  const int at = callable_position(*f.frame, *f.instruction);
  if (at < 0 || f.frame->stack()[at] != callable.object) return std::nullopt;
  const PyRef form = find_polyfill(callable.object);
  PyObject* function = form.get();
  if (function == nullptr) return std::nullopt;
  if (!takes(function, positional.size(), keywords))
    return walk.verdict.broke(Code::PS0306, python::qualified_name(callable.object) +
                                                " is called with what its Python form lacks");
  if (gives_generator(callable.object, function) && !torch::in_compiled_region() &&
      !is_used_up(f, pops))
    return std::nullopt;
  if (!consume_c_function(walk, callable)) return false;
  return call_instead(walk, f, callable, function, positional, keywords, pops);
}

std::optional<bool> call_python_form(Walk& walk, FrameShadow& f, Operand callable,
                                     const std::vector<Operand>& positional, int pops) {
  PyObject* globals = polyfill_globals();
  PyObject* maker = globals == nullptr ? nullptr : PyDict_GetItemString(globals, "form_of");
  const int at = callable_position(*f.frame, *f.instruction);
  if (maker == nullptr || at < 0 || f.frame->stack()[at] != callable.object) return std::nullopt;
  PyRef form;
  {
    const python::HookPause pause;
    form = PyRef::steal(PyObject_CallOneArg(maker, callable.object));
    PyErr_Clear();
  }
  if (!form || !PyFunction_Check(form.get())) return std::nullopt;
  return call_instead(walk, f, callable, form.get(), positional, {}, pops);
}

std::optional<bool> model_python_form(Walk& walk, FrameShadow& f, Operand function,
                                      const std::vector<Operand>& positional,
                                      const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                      int pops) {
  // A backend of the program's gets the call as torch.compile would hand it on.
  if (walk.context.for_backend() || walk.context.autocast()) return std::nullopt;
  if (const auto done = call_polyfill(walk, f, function, positional, keywords, pops)) return done;
  // What is recorded would end here for good: the next call is recorded again.
  walk.verdict.spoil_once(python::qualified_name(function.object) +
                          " is called for the first time");
  f.expected.function = function.object;
  f.expected.native = true;
  return gives_constant(f, pops);
}

std::optional<bool> model_as_grid(Walk& walk, FrameShadow&, Operand,
                                  const std::vector<Operand>& positional,
                                  const std::vector<std::pair<PyObject*, Operand>>&, int) {
  std::vector<ValueId> given;
  for (Operand operand : positional) {
    if (!operand.shadow.is(Shadow::Kind::node) || !walk.is_tensor(operand.object))
      return walk.verdict.broke(Code::PS0306, "a grid is made of what the segment did not make");
    given.push_back(operand.shadow.index);
  }
  walk.recorder.grid.begin(given);
  return std::nullopt;
}

std::optional<bool> model_of_grid(Walk& walk, FrameShadow& f, Operand function,
                                  const std::vector<Operand>& positional,
                                  const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                  int pops) {
  const Operand result = positional.empty() ? Operand{} : positional[0];
  const bool inside =
      result.shadow.is(Shadow::Kind::node) && walk.recorder.grid.has(result.shadow.index);
  const auto other =
      inside || !walk.is_tensor(result.object) ? std::nullopt : argument(walk, result);
  const auto* value = other ? other->as<Argument::Value>() : nullptr;
  if (!inside && (value == nullptr || walk.recorder.value(value->id).type.rank() != 0))
    return walk.verdict.broke(Code::PS0306, "a function of numbers gives something else");
  walk.recorder.grid.end();
  PyObject* holds = PyDict_GetItemString(g_globals, "holds");
  return call_instead(walk, f, function, holds, positional, keywords, pops);
}

PyObject* polyfill(const char* name) {
  PyObject* globals = polyfill_globals();
  return globals == nullptr ? nullptr : PyDict_GetItemString(globals, name);
}

bool calls_instead(FrameShadow& f, Operand function, const char* name) {
  const int at = callable_position(*f.frame, *f.instruction);
  PyObject* other = polyfill(name);
  if (at < 0 || f.frame->stack()[at] != function.object || other == nullptr) return false;
  PyRef before = PyRef::steal(f.frame->stack()[at]);
  f.frame->stack()[at] = PyRef::borrow(other).release();
  return true;
}

std::optional<bool> call_stand_in(Walk& walk, FrameShadow& f, Operand original, const char* name,
                                  std::vector<Operand> positional,
                                  std::vector<std::pair<PyObject*, Operand>> keywords, int pops) {
  return call_in_place_of(walk, f, original, polyfill(name), std::move(positional),
                          std::move(keywords), pops);
}

std::optional<bool> call_in_place_of(Walk& walk, FrameShadow& f, Operand original,
                                     PyObject* function, std::vector<Operand> positional,
                                     std::vector<std::pair<PyObject*, Operand>> keywords,
                                     int pops) {
  const int at = callable_position(*f.frame, *f.instruction);
  if (at < 0 || function == nullptr) return std::nullopt;
  PyObject* called = f.frame->stack()[at];
  const bool bound =
      PyMethod_Check(called) != 0 && PyMethod_GET_FUNCTION(called) == original.object;
  if (called != original.object && !bound) return std::nullopt;
  PyRef other = bound ? PyRef::steal(PyMethod_New(function, PyMethod_GET_SELF(called)))
                      : PyRef::borrow(function);
  if (!other) PyErr_Clear();
  if (!other) return std::nullopt;
  if (!call_function(walk, f, {Shadow::constant(), function}, std::move(positional),
                     std::move(keywords), pops)) {
    return false;
  }
  PyRef before = PyRef::steal(f.frame->stack()[at]);
  f.frame->stack()[at] = other.release();
  return true;
}

void set_abandoned() {
  PyObject* error = polyfill("Abandoned");
  PyErr_SetNone(error != nullptr ? error : PyExc_RuntimeError);
}

}  // namespace penstock::record
