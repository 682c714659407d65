// Functions of C by Python functions of ours. A rule of the walker's says what an instruction does; what a function of
// C does with tensors that pass through it (operator.add, functools.reduce, an iterator of itertools, sorted with a
// key) it would have to be told one by one, and could not look into the functions that those call. So while a segment
// is recorded the call's operand is exchanged for a function of Python that does the same, whose frame is followed as
// any other. Behind the segment nothing of it is left: one that would end inside such a frame ends before its call. But
// while it is recorded, what the program calls below could see the frame: so this is done in what the program gave to
// torch.compile, where TorchDynamo does the same, and nowhere else.

#include "capture/polyfills.h"

#include "capture/constructor.h"
#include "capture/literal.h"
#include "capture/walk.h"
#include "python/compile_region.h"
#include "python/hook.h"

namespace penstock::capture {

using python::PyRef;

namespace {

/// The globals of polyfills_source.py, until the process ends; null before the first call that asks for one.
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

/// Borrowed; null: there is none.
PyObject* find_polyfill(PyObject* callable) {
  PyObject* globals = polyfill_globals();
  PyObject* table = globals == nullptr ? nullptr : PyDict_GetItemString(globals, "TABLE");
  if (table == nullptr) return nullptr;
  PyRef key = PyRef::borrow(callable);
  if (PyCFunction_Check(callable)) {
    PyObject* self = PyCFunction_GET_SELF(callable);
    const bool of_object = self != nullptr && !PyModule_Check(self);
    if (of_object && !PyType_Check(self)) return nullptr;  // its self is no argument
    if (of_object) key = PyRef::steal(Py_BuildValue("(Os)", self, reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name));
  } else if (!PyType_Check(callable) && Py_TYPE(callable) != &PyMethodDescr_Type) {
    return nullptr;
  }
  PyObject* found = key ? PyDict_GetItemWithError(table, key.get()) : nullptr;
  PyErr_Clear();
  return found;
}

/// Guards which function it is. A method of a class is made anew by each look: it is known by its class.
bool consume_callable(Walk& walk, Operand callable) {
  const bool of_class = PyCFunction_Check(callable.object) && (PyCFunction_GET_FLAGS(callable.object) & METH_CLASS) != 0;
  if (!of_class || !callable.shadow.is(Shadow::Kind::sourced)) return of_class || walk.consume_identity(callable);
  const SourceStep& step = walk.recorder().graph().interface.sources[callable.shadow.index];
  if (step.kind != SourceKind::attribute || step.base == kNoSource) {
    return walk.broke(Code::PS0306, "a bound method of a class came from outside");
  }
  return walk.consume_identity({Shadow::sourced(step.base), PyCFunction_GET_SELF(callable.object)});
}

}  // namespace

bool is_polyfill(PyObject* globals) { return globals != nullptr && globals == g_globals; }

std::optional<RaisePlace> open_polyfill(const FrameShadow* innermost) {
  std::optional<RaisePlace> outermost;
  for (const FrameShadow* f = innermost; f != nullptr && f->caller != nullptr; f = f->caller) {
    if (is_polyfill(f->frame->globals())) outermost = RaisePlace{f->caller->frame->code(), f->caller->instruction->offset};
  }
  return outermost;
}

std::optional<bool> call_polyfill(Walk& walk, FrameShadow& f, Operand callable, std::vector<Operand> positional,
                                  std::vector<std::pair<PyObject*, Operand>> keywords, int pops) {
  if (!python::in_compiled_region()) return std::nullopt;
  const int at = callable_position(*f.frame, *f.instruction);
  if (at < 0 || f.frame->stack()[at] != callable.object) return std::nullopt;
  PyObject* function = find_polyfill(callable.object);
  if (function == nullptr) return std::nullopt;
  if (!consume_callable(walk, callable)) return false;
  if (!walk.call_function(f, {Shadow::constant(), function}, std::move(positional), std::move(keywords), pops)) {
    return false;
  }
  PyRef before = PyRef::steal(f.frame->stack()[at]);
  f.frame->stack()[at] = PyRef::borrow(function).release();
  return true;
}

}  // namespace penstock::capture
