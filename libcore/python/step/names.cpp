// Names looked up at run time: globals, builtins, class and module namespaces, imports.
#include "python/step/families.h"
#include "python/versions/call_operands.h"

namespace penstock::python {
namespace {

/// Result of a lookup that may miss: found (value), missed (null, no error) or raised (null,
/// error).
struct Lookup {
  PyRef value;
  bool raised = false;
};

/// `name` in a namespace: a dict, or any mapping, whose KeyError means "missed".
Lookup look_up(PyObject* names, PyObject* name) {
  if (PyDict_CheckExact(names)) {
    PyObject* value = PyDict_GetItemWithError(names, name);
    return {PyRef::borrow(value), value == nullptr && PyErr_Occurred() != nullptr};
  }
  PyObject* value = PyObject_GetItem(names, name);
  if (value != nullptr) return {PyRef::steal(value), false};
  if (!PyErr_ExceptionMatches(PyExc_KeyError)) return {nullptr, true};
  PyErr_Clear();
  return {};
}

Lookup look_up_global(Frame& frame, PyObject* name) {
  Lookup found = look_up(frame.globals(), name);
  if (found.value || found.raised) return found;
  return look_up(frame.builtins(), name);
}

bool plain_namespaces(Frame& frame) {
  return PyDict_CheckExact(frame.globals()) && PyDict_CheckExact(frame.builtins());
}

/// CPython's NameError, for misses that had to ask user code first (so that the evaluator cannot be
/// left to ask again).
void raise_name_error(PyObject* name) {
  PyErr_Format(PyExc_NameError, "name '%.200U' is not defined", name);
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (PyErr_GivenExceptionMatches(value, PyExc_NameError) != 0) {
    if (PyObject_SetAttrString(value, "name", name) < 0) PyErr_Clear();
  }
  PyErr_Restore(type, value, traceback);
}

Outcome load_global(Frame& frame, const Instruction& i) {
  PyObject* name = frame.name(i.argument >> 1);
  Lookup found = look_up_global(frame, name);
  if (found.raised) return Outcome::raised;
  if (!found.value) {
    if (plain_namespaces(frame)) return Outcome::unsupported;
    raise_name_error(name);
    return Outcome::raised;
  }
  const bool called = (i.argument & 1) != 0;
  if (called && !kSelfAboveCallable) frame.push(nullptr);
  frame.push(std::move(found.value));
  if (called && kSelfAboveCallable) frame.push(nullptr);
  return advance(frame, i);
}

Outcome load_name(Frame& frame, const Instruction& i) {
  if (frame.names() == nullptr) return Outcome::unsupported;
  PyObject* name = frame.name(i.argument);
  Lookup found = look_up(frame.names(), name);
  if (!found.value && !found.raised) found = look_up_global(frame, name);
  if (found.raised) return Outcome::raised;
  if (!found.value) {
    if (plain_namespaces(frame) && PyDict_CheckExact(frame.names())) return Outcome::unsupported;
    raise_name_error(name);
    return Outcome::raised;
  }
  frame.push(std::move(found.value));
  return advance(frame, i);
}

Outcome load_class_deref(Frame& frame, const Instruction& i) {
  if (frame.names() == nullptr || frame.cell_content(i.argument) == nullptr) {
    return Outcome::unsupported;
  }
  Lookup found = look_up(frame.names(), slot_name(frame.code(), i.argument));
  if (found.raised) return Outcome::raised;
  if (!found.value) found.value = PyRef::borrow(frame.cell_content(i.argument));
  if (!found.value) return Outcome::unsupported;
  frame.push(std::move(found.value));
  return advance(frame, i);
}

Outcome store_name(Frame& frame, const Instruction& i) {
  PyObject* names = frame.names();
  if (names == nullptr) return Outcome::unsupported;
  const PyRef value = frame.pop();
  PyObject* name = frame.name(i.argument);
  return checked(frame, i,
                 PyDict_CheckExact(names) ? PyDict_SetItem(names, name, value.get())
                                          : PyObject_SetItem(names, name, value.get()));
}

Outcome delete_name(Frame& frame, const Instruction& i) {
  PyObject* names = frame.names();
  // A miss has CPython's own wording; a mapping of the user's must be asked only once.
  if (names == nullptr || !PyDict_CheckExact(names)) return Outcome::unsupported;
  PyObject* name = frame.name(i.argument);
  if (PyDict_Contains(names, name) != 1) return Outcome::unsupported;
  return checked(frame, i, PyDict_DelItem(names, name));
}

Outcome store_global(Frame& frame, const Instruction& i) {
  const PyRef value = frame.pop();
  return checked(frame, i, PyDict_SetItem(frame.globals(), frame.name(i.argument), value.get()));
}

Outcome delete_global(Frame& frame, const Instruction& i) {
  PyObject* name = frame.name(i.argument);
  if (PyDict_Contains(frame.globals(), name) != 1) return Outcome::unsupported;
  return checked(frame, i, PyDict_DelItem(frame.globals(), name));
}

Outcome load_build_class(Frame& frame, const Instruction& i) {
  if (!PyDict_CheckExact(frame.builtins())) return Outcome::unsupported;
  PyObject* found = PyDict_GetItemString(frame.builtins(), "__build_class__");
  if (found == nullptr) return Outcome::unsupported;
  frame.push(PyRef::borrow(found));
  return advance(frame, i);
}

Outcome import_name(Frame& frame, const Instruction& i) {
  if (!PyDict_CheckExact(frame.builtins())) return Outcome::unsupported;
  const PyRef import = PyRef::borrow(PyDict_GetItemString(frame.builtins(), "__import__"));
  if (!import) return Outcome::unsupported;
  const PyRef names = frame.pop();
  const PyRef level = frame.pop();
  PyObject* locals = frame.names() == nullptr ? Py_None : frame.names();
  PyObject* arguments[] = {frame.name(i.argument), frame.globals(), locals, names.get(),
                           level.get()};
  return push_result(frame, i, PyObject_Vectorcall(import.get(), arguments, 5, nullptr));
}

Outcome import_from(Frame& frame, const Instruction& i) {
  // Only the plain case: a module whose own dict has the name. __getattr__ and errors: CPython.
  PyObject* module = frame.peek();
  if (!PyModule_CheckExact(module)) return Outcome::unsupported;
  PyObject* value = PyDict_GetItemWithError(PyModule_GetDict(module), frame.name(i.argument));
  if (value == nullptr) {
    PyErr_Clear();
    return Outcome::unsupported;
  }
  frame.push(PyRef::borrow(value));
  return advance(frame, i);
}

Outcome setup_annotations(Frame& frame, const Instruction& i) {
  PyObject* names = frame.names();
  if (names == nullptr || !PyDict_CheckExact(names)) return Outcome::unsupported;
  if (PyDict_GetItemString(names, "__annotations__") != nullptr) return advance(frame, i);
  const PyRef annotations = PyRef::steal(PyDict_New());
  if (!annotations) return Outcome::raised;
  return checked(frame, i, PyDict_SetItemString(names, "__annotations__", annotations.get()));
}

constexpr StepRow kRows[] = {
    {Opcode::LOAD_GLOBAL, load_global},
    {Opcode::LOAD_NAME, load_name},
    {Opcode::LOAD_CLASSDEREF, load_class_deref},
    {Opcode::STORE_NAME, store_name},
    {Opcode::DELETE_NAME, delete_name},
    {Opcode::STORE_GLOBAL, store_global},
    {Opcode::DELETE_GLOBAL, delete_global},
    {Opcode::LOAD_BUILD_CLASS, load_build_class},
    {Opcode::IMPORT_NAME, import_name},
    {Opcode::IMPORT_FROM, import_from},
    {Opcode::SETUP_ANNOTATIONS, setup_annotations},
};

}  // namespace

std::span<const StepRow> name_steps() {
  return kRows;
}

}  // namespace penstock::python
