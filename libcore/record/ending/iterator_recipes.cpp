#include "record/ending/iterator_recipes.h"

#include "python/object.h"

namespace penstock::record {

using python::PyRef;

namespace {

/// The dict's view, past methods of a subclass, which were followed when the segment was recorded.
PyRef view_of(PyObject* dict, PyObject* how) {
  PyTypeObject* type = PyODict_Check(dict) ? &PyODict_Type : &PyDict_Type;
  PyRef method = PyRef::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), how));
  return method ? PyRef::steal(PyObject_CallOneArg(method.get(), dict)) : PyRef();
}

PyRef iterator_of(PyObject* container) {
  if (PyList_Check(container)) return PyRef::steal(PyList_Type.tp_iter(container));
  if (PyTuple_Check(container)) return PyRef::steal(PyTuple_Type.tp_iter(container));
  return PyRef::steal(PyObject_GetIter(container));
}

PyObject* resume_iterator(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 3 || !PyUnicode_Check(arguments[1])) {
    return PyErr_Format(PyExc_TypeError, "a container, a way to go over it and steps are needed");
  }
  const Py_ssize_t steps = PyLong_AsSsize_t(arguments[2]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  const bool items = PyUnicode_CompareWithASCIIString(arguments[1], resume::kItems) == 0;
  PyRef over = items ? PyRef::borrow(arguments[0]) : view_of(arguments[0], arguments[1]);
  if (!over || steps == resume::kView) return over.release();
  PyRef iterator = iterator_of(over.get());
  if (!iterator || steps == 0) return iterator.release();
  if (items) {
    PyRef set = PyRef::steal(PyObject_CallMethod(iterator.get(), "__setstate__", "n", steps));
    return set ? iterator.release() : nullptr;
  }
  for (Py_ssize_t step = 0; step < steps; ++step) {
    if (!PyRef::steal(PyIter_Next(iterator.get())) && PyErr_Occurred() != nullptr) return nullptr;
  }
  return iterator.release();
}

PyMethodDef g_resume = {
    "resume_iterator", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(resume_iterator)),
    METH_FASTCALL, nullptr};

}  // namespace

PyObject* resume_function() {
  static PyObject* const function = [] {
    PyRef module = PyRef::steal(PyUnicode_InternFromString("penstock"));
    return module ? PyCFunction_NewEx(&g_resume, nullptr, module.get()) : nullptr;
  }();
  return function;
}

}  // namespace penstock::record
