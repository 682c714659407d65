#include "torch/exchanged_members.h"

#include <Python.h>

#include <algorithm>
#include <string_view>

#include "python/object.h"

// Operators, attributes written in C and methods of tensors are taken for torch's by what is
// compiled: no call looks them up again. So whether they are is asked of the class, once for each
// of its versions. A method that is the program's from the start is followed, and guarded where it
// is (record/objects/tensor_attribute.cpp); one that was torch's once may be in what is compiled.
// torch.nn.Parameter stands for both classes: it finds what torch.Tensor has, and its version
// changes with that one's.

namespace penstock::torch {

using python::PyRef;

namespace {

/// Where Python's operators and statements look for what they mean.
constexpr const char* kOperators[] = {
    "__add__",      "__radd__",     "__iadd__",     "__sub__",          "__rsub__",
    "__isub__",     "__mul__",      "__rmul__",     "__imul__",         "__truediv__",
    "__rtruediv__", "__itruediv__", "__floordiv__", "__rfloordiv__",    "__ifloordiv__",
    "__mod__",      "__rmod__",     "__imod__",     "__pow__",          "__rpow__",
    "__ipow__",     "__matmul__",   "__rmatmul__",  "__imatmul__",      "__and__",
    "__rand__",     "__iand__",     "__or__",       "__ror__",          "__ior__",
    "__xor__",      "__rxor__",     "__ixor__",     "__lshift__",       "__rlshift__",
    "__ilshift__",  "__rshift__",   "__rrshift__",  "__irshift__",      "__lt__",
    "__le__",       "__eq__",       "__ne__",       "__gt__",           "__ge__",
    "__neg__",      "__pos__",      "__invert__",   "__getitem__",      "__setitem__",
    "__delitem__",  "__len__",      "__bool__",     "__getattribute__", "__setattr__",
};

/// Operators for which torch.Tensor has a method in C of another name.
struct Alias {
  std::string_view operation, method;
};
constexpr Alias kAliases[] = {
    {"__neg__", "neg"}, {"__pos__", "positive"}, {"__itruediv__", "__idiv__"}};

/// What C code has put into a class under `name`, not taken from another one.
bool is_descriptor_of_c(PyObject* object, std::string_view name) {
  for (const PyTypeObject* type :
       {&PyMethodDescr_Type, &PyGetSetDescr_Type, &PyMemberDescr_Type, &PyWrapperDescr_Type}) {
    if (Py_TYPE(object) != type) continue;
    const char* text = PyUnicode_AsUTF8(PyDescr_NAME(object));
    const std::string_view own = text == nullptr ? "" : text;
    return own == name || std::ranges::any_of(kAliases, [&](const Alias& alias) {
             return alias.operation == name && alias.method == own;
           });
  }
  return false;
}

/// A function of one of torch's modules, by where its code looks names up: what wraps it may have
/// taken over its name, and that of its module.
bool is_function_of_torch(PyObject* object) {
  if (!PyFunction_Check(object)) return false;
  PyObject* name = PyDict_GetItemString(PyFunction_GET_GLOBALS(object), "__name__");
  const char* text = name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (text == nullptr) PyErr_Clear();
  return text != nullptr && std::string_view(text).starts_with("torch.");
}

}  // namespace

bool is_member_of_torch(PyObject* found, std::string_view name) {
  return is_descriptor_of_c(found, name) || is_function_of_torch(found);
}

namespace {

/// The class that exchanges a member, as "MODULE.CLASS.NAME"; empty: it is torch's, or there is
/// none.
std::string exchanged(PyTypeObject* type, const char* name) {
  const PyRef text = PyRef::steal(PyUnicode_InternFromString(name));
  PyObject* found = _PyType_Lookup(type, text.get());
  if (found == nullptr || is_member_of_torch(found, name)) return {};
  return std::string("torch.Tensor.") + name;
}

/// A method that was torch's when the class was looked at before. `methods`, a dict of their names,
/// gets those that are.
std::string find_exchanged_method(PyTypeObject* type, PyObject* methods) {
  PyObject *name, *value;
  for (Py_ssize_t at = 0; PyDict_Next(methods, &at, &name, &value);) {
    const char* text = PyUnicode_AsUTF8(name);
    PyObject* found = _PyType_Lookup(type, name);
    if (found == nullptr || !is_member_of_torch(found, text))
      return std::string("torch.Tensor.") + text;
  }
  for (PyTypeObject* base = type; base != &PyBaseObject_Type; base = base->tp_base) {
    for (Py_ssize_t at = 0; PyDict_Next(base->tp_dict, &at, &name, &value);) {
      const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
      if (text == nullptr || std::string_view(text).starts_with("__")) continue;
      PyObject* found = _PyType_Lookup(type, name);
      if (is_member_of_torch(found, text)) PyDict_SetItem(methods, name, Py_None);
    }
  }
  PyErr_Clear();
  return {};
}

std::string find_exchanged(PyTypeObject* type, PyObject* methods) {
  for (const char* name : kOperators) {
    if (std::string found = exchanged(type, name); !found.empty()) return found;
  }
  for (PyTypeObject* base = type; base != nullptr; base = base->tp_base) {
    for (const PyGetSetDef* one = base->tp_getset; one != nullptr && one->name != nullptr; ++one) {
      if (std::string found = exchanged(type, one->name); !found.empty()) return found;
    }
  }
  return find_exchanged_method(type, methods);
}

/// torch.nn.Parameter; null while torch is not imported so far.
PyTypeObject* find_parameter() {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch.nn.parameter");
  if (module == nullptr || !PyModule_Check(module)) return nullptr;
  PyObject* found = PyDict_GetItemString(PyModule_GetDict(module), "Parameter");
  return found != nullptr && PyType_Check(found) ? reinterpret_cast<PyTypeObject*>(Py_NewRef(found))
                                                 : nullptr;
}

/// The class as it was looked at last.
struct Known {
  PyTypeObject* type = nullptr;
  unsigned int version = 0;     ///< 0: the class has none, and is looked at again
  PyObject* methods = nullptr;  ///< names of those that were torch's; kept to the process's end
  std::string exchanged;
};
Known known;

}  // namespace

const std::string& exchanged_member() {
  if (known.type == nullptr) known.type = find_parameter();
  if (known.type == nullptr) return known.exchanged;
  if (known.version == 0 || known.type->tp_version_tag != known.version) {
    if (known.methods == nullptr) known.methods = PyDict_New();
    known.exchanged = find_exchanged(known.type, known.methods);
    known.version = known.type->tp_version_tag;  // looking members up has given it one
  }
  return known.exchanged;
}

}  // namespace penstock::torch
