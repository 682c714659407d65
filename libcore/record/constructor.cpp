#include "record/constructor.h"

#include <vector>

#include "python/object.h"
#include "python/versions/call_operands.h"

namespace penstock::record {

using python::PyRef;

namespace {

/// What type.__call__ does behind __new__. `self` is the constructor and the object.
PyObject* construct(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  PyObject* object = PyTuple_GET_ITEM(self, 1);
  const Py_ssize_t total = count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
  std::vector<PyObject*> all = {object};
  all.insert(all.end(), arguments, arguments + total);
  PyRef result = PyRef::steal(PyObject_Vectorcall(PyTuple_GET_ITEM(self, 0), all.data(),
                                                  static_cast<std::size_t>(count + 1), names));
  if (!result) return nullptr;
  if (result.get() != Py_None) {
    return PyErr_Format(PyExc_TypeError, "__init__() should return None, not '%.200s'",
                        Py_TYPE(result.get())->tp_name);
  }
  return PyRef::borrow(object).release();
}

PyMethodDef g_construct = {"construct",
                           reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(construct)),
                           METH_FASTCALL | METH_KEYWORDS, nullptr};

PyObject* make_construct(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "a constructor and an object are needed");
  PyRef self = PyRef::steal(PyTuple_Pack(2, arguments[0], arguments[1]));
  return self ? PyCFunction_New(&g_construct, self.get()) : nullptr;
}

PyMethodDef g_make_construct = {
    "construct", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(make_construct)),
    METH_FASTCALL, nullptr};

}  // namespace

PyObject* construct_function() {
  static PyObject* const function = [] {
    PyRef module = PyRef::steal(PyUnicode_InternFromString("penstock"));
    return module ? PyCFunction_NewEx(&g_make_construct, nullptr, module.get()) : nullptr;
  }();
  return function;
}

int callable_position(const python::Frame& frame, const python::Instruction& instruction) {
  switch (instruction.opcode) {
    case python::Opcode::CALL: {
      const auto operands =
          python::call_operands(instruction.argument, [&](int below) { return frame.peek(below); });
      return frame.depth() - 1 - operands.callable;
    }
    case python::Opcode::CALL_FUNCTION_EX:
      return frame.depth() - 1 - python::unpacking_operands(instruction.argument, [&](int below) {
                                   return frame.peek(below);
                                 }).callable;
    default:
      return -1;
  }
}

}  // namespace penstock::record
