#include "torch/exchanged_members.h"

#include <Python.h>

#include <algorithm>
#include <string_view>

#include "python/object.h"

// What a program sets in torch.Tensor is seen where it is looked up by name, as methods are. For
// operators and for attributes written in C nothing is looked up: they are taken for torch's. So
// whether they are is asked of the class, once for each of its versions. torch.nn.Parameter stands
// for both classes: it finds what torch.Tensor has, and its version changes with that one's.

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

/// The class that exchanges a member, as "MODULE.CLASS.NAME"; empty: it is torch's, or there is
/// none.
std::string exchanged(PyTypeObject* type, const char* name) {
  const PyRef text = PyRef::steal(PyUnicode_InternFromString(name));
  PyObject* found = _PyType_Lookup(type, text.get());
  if (found == nullptr || is_descriptor_of_c(found, name) || is_function_of_torch(found)) return {};
  return std::string("torch.Tensor.") + name;
}

std::string find_exchanged(PyTypeObject* type) {
  for (const char* name : kOperators) {
    if (std::string found = exchanged(type, name); !found.empty()) return found;
  }
  for (PyTypeObject* base = type; base != nullptr; base = base->tp_base) {
    for (const PyGetSetDef* one = base->tp_getset; one != nullptr && one->name != nullptr; ++one) {
      if (std::string found = exchanged(type, one->name); !found.empty()) return found;
    }
  }
  return {};
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
  unsigned int version = 0;  ///< 0: the class has none, and is looked at again
  std::string exchanged;
};
Known known;

}  // namespace

const std::string& exchanged_member() {
  if (known.type == nullptr) known.type = find_parameter();
  if (known.type == nullptr) return known.exchanged;
  if (known.version == 0 || known.type->tp_version_tag != known.version) {
    known.exchanged = find_exchanged(known.type);
    known.version = known.type->tp_version_tag;  // looking members up has given it one
  }
  return known.exchanged;
}

}  // namespace penstock::torch
