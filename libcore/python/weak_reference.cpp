#include "python/weak_reference.h"

namespace penstock::python {
namespace {

PyTypeObject* g_type = nullptr;  // of our references
PyCFunction g_list = nullptr;    // _weakref.getweakrefs as Python has it

/// The references to `object` that are not ours; null with an error set.
PyObject* list_of_program(PyObject* module, PyObject* object) {
  PyObject* all = g_list(module, object);
  for (Py_ssize_t i = all == nullptr ? 0 : PyList_GET_SIZE(all); i-- > 0;) {
    if (Py_TYPE(PyList_GET_ITEM(all, i)) != g_type) continue;
    if (PyList_SetSlice(all, i, i + 1, nullptr) < 0) Py_CLEAR(all);
    if (all == nullptr) break;
  }
  return all;
}

PyObject* count_of_program(PyObject* module, PyObject* object) {
  const PyRef all = PyRef::steal(list_of_program(module, object));
  return all ? PyLong_FromSsize_t(PyList_GET_SIZE(all.get())) : nullptr;
}

/// Replaces the function behind a name of a built-in module, in place: whoever has it calls ours.
/// Gives the old one.
PyCFunction replace(PyObject* module, const char* name, PyCFunction function) {
  PyObject* found = PyDict_GetItemString(PyModule_GetDict(module), name);
  if (found == nullptr || !PyCFunction_CheckExact(found)) return nullptr;
  PyMethodDef* row = reinterpret_cast<PyCFunctionObject*>(found)->m_ml;
  if ((row->ml_flags & ~METH_COEXIST) != METH_O) return nullptr;
  return std::exchange(row->ml_meth, function);
}

PyTypeObject* make_type() {
  PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("A weak reference of penstock.")},
                         {0, nullptr}};
  PyType_Spec spec{"penstock.WeakReference", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  const PyRef bases = PyRef::steal(PyTuple_Pack(1, &_PyWeakref_RefType));
  const PyRef module = PyRef::steal(PyImport_ImportModule("_weakref"));
  PyObject* type = bases && module ? PyType_FromSpecWithBases(&spec, bases.get()) : nullptr;
  if (type != nullptr) {
    g_list = replace(module.get(), "getweakrefs", list_of_program);
    if (g_list != nullptr) replace(module.get(), "getweakrefcount", count_of_program);
  }
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

PyRef weak_reference(PyObject* object) {
  if (g_type == nullptr) g_type = make_type();
  PyRef made = g_type == nullptr
                   ? PyRef()
                   : PyRef::steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(g_type), object));
  PyErr_Clear();
  return made;
}

}  // namespace penstock::python
