#include "guards/attribute_path.h"

#include <structmember.h>

#include <cstring>

namespace penstock::guards {
namespace {

using Kind = AttributePath::Kind;

bool is_data_descriptor(PyObject* object) {
  return Py_TYPE(object)->tp_descr_set != nullptr;
}

/// What reading a class attribute through the class gives without running foreign code; borrowed.
PyObject* through_class(PyObject* found) {
  PyTypeObject* type = Py_TYPE(found);
  if (type->tp_descr_get == nullptr || PyFunction_Check(found)) return found;
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type) return found;
  if (type == &PyProperty_Type || type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type)
    return found;
  if (std::strcmp(type->tp_name, "functools._lru_cache_wrapper") == 0) return found;
  if (type != &PyStaticMethod_Type) return nullptr;
  PyObject* function = PyObject_GetAttrString(found, "__func__");
  if (function == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  Py_DECREF(function);  // the static method keeps it
  return function;
}

PyObject* getattribute_of(PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__getattribute__");
  return _PyType_Lookup(type, name);
}

/// `type` reads attributes as `other` does, perhaps with a __getattr__ for what is not found.
bool reads_as(PyTypeObject* type, PyTypeObject* other) {
  if (type->tp_getattro == other->tp_getattro) return true;
  PyObject* found = getattribute_of(type);
  return found != nullptr && found == getattribute_of(other);
}

/// A `__getattribute__` in Python was followed while the segment was recorded, as any function:
/// what is read of such an object itself is what object.__getattribute__ finds.
bool is_followed(PyTypeObject* type) {
  PyObject* found = getattribute_of(type);
  return found != nullptr && PyFunction_Check(found);
}

bool reads_generically(PyTypeObject* type) {
  return reads_as(type, &PyBaseObject_Type) || reads_as(type, &PyModule_Type) || is_followed(type);
}

/// A tensor's gradient. What torch makes for Python of a tensor lives as long as that: of the
/// gradient, as long as the tensor has it.
bool is_gradient(PyObject* descriptor, PyObject* name) {
  return PyUnicode_CompareWithASCIIString(name, "grad") == 0 &&
         std::strcmp(PyDescr_TYPE(descriptor)->tp_name, "torch._C.TensorBase") == 0;
}

/// A data descriptor written in C: a slot, the instance's dict, or a function of ours to call. A
/// type made in Python has no other.
void resolve_descriptor(PyTypeObject* type, PyObject* found, PyObject* name, AttributePath& path) {
  if (Py_TYPE(found) == &PyMemberDescr_Type) {
    PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(found)->d_member;
    const bool is_object = member->type == T_OBJECT_EX || member->type == T_OBJECT;
    path.kind = is_object ? Kind::member : Kind::computed;
    path.field = is_object ? nullptr : member;
    path.offset = member->offset;
    path.null_is_none = member->type == T_OBJECT;
    return;
  }
  if (Py_TYPE(found) != &PyGetSetDescr_Type) return;
  if (PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) {
    const bool has_dict =
        type->tp_dictoffset != 0 || (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0;
    if (has_dict) path.kind = Kind::dict;
    return;
  }
  path.getter = reinterpret_cast<PyGetSetDescrObject*>(found)->d_getset;
  if (path.getter->get == nullptr) return;
  path.kind = is_gradient(found, name) ? Kind::held : Kind::computed;
}

AttributePath resolve_on_class(PyTypeObject* owner, PyObject* name) {
  AttributePath path;
  path.type = owner;
  path.kind = Kind::missing;
  PyTypeObject* meta = Py_TYPE(owner);
  if (!reads_as(meta, &PyType_Type)) return path;  // that of enums has a __getattr__
  PyObject* of_meta = _PyType_Lookup(meta, name);
  if (of_meta != nullptr && is_data_descriptor(of_meta)) return path;
  PyObject* found = _PyType_Lookup(owner, name);
  path.version = owner->tp_version_tag;
  if (found == nullptr) return path;
  path.value = through_class(found);
  if (path.value != nullptr) path.kind = Kind::constant;
  return path;
}

}  // namespace

AttributePath resolve_attribute(PyObject* base, PyObject* name) {
  if (PyType_Check(base)) return resolve_on_class(reinterpret_cast<PyTypeObject*>(base), name);
  PyTypeObject* type = Py_TYPE(base);
  AttributePath path;
  path.type = type;
  path.kind = Kind::missing;
  if (!reads_generically(type)) return path;
  PyObject* found = _PyType_Lookup(type, name);
  path.version = type->tp_version_tag;
  if (found != nullptr && is_data_descriptor(found)) {
    resolve_descriptor(type, found, name, path);
    return path;
  }
  path.kind = Kind::instance;
  if (found == nullptr) return path;
  // A method would be bound anew on each read: no object to compare with. Its instance may still
  // hold a value of that name.
  const bool plain = Py_TYPE(found)->tp_descr_get == nullptr;
  path.value = plain || Py_TYPE(found) == &PyStaticMethod_Type ? through_class(found) : nullptr;
  return path;
}

}  // namespace penstock::guards
