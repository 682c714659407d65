// Attributes of super objects.

#include "python/type_lookup.h"
#include "record/objects/attribute.h"

namespace penstock::record {

using python::PyRef;

bool load_super_attribute(Walk& walk, FrameShadow& f, Operand super, PyObject* name,
                          const AttributeUse& use) {
  const ObjectShadow* known = walk.objects.find(super.object);
  const Shadow self = known != nullptr && known->items.size() >= 2 ? known->items[1] : Shadow{};
  return load_super_attribute(walk, f, super.object, self, name, use);
}

bool load_super_attribute(Walk& walk, FrameShadow& f, PyObject* super, Shadow object,
                          PyObject* name, const AttributeUse& use) {
  // super keeps its class, the object and the object's class as attributes of its own.
  PyRef self = PyRef::steal(PyObject_GetAttrString(super, "__self__"));
  PyRef of = PyRef::steal(PyObject_GetAttrString(super, "__thisclass__"));
  PyRef start = PyRef::steal(PyObject_GetAttrString(super, "__self_class__"));
  // A class that is being made has no order yet.
  const bool bound = self && of && start && PyType_Check(start.get()) &&
                     reinterpret_cast<PyTypeObject*>(start.get())->tp_mro != nullptr;
  if (!bound || object.is(Shadow::Kind::unknown)) {
    PyErr_Clear();
    return walk.verdict.broke(Code::PS0303, "a super object of unknown origin is used");
  }
  PyObject* order = reinterpret_cast<PyTypeObject*>(start.get())->tp_mro;
  bool behind = false;
  PyTypeObject* owner = nullptr;
  PyObject* value = nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order) && value == nullptr; ++i) {
    PyObject* type = PyTuple_GET_ITEM(order, i);
    if (behind) {
      value =
          PyDict_GetItemWithError(python::type_dict(reinterpret_cast<PyTypeObject*>(type)), name);
      owner = reinterpret_cast<PyTypeObject*>(type);
    }
    if (type == of.get()) behind = true;
  }
  if (value == nullptr)
    return walk.verdict.broke(Code::PS0304, "an attribute of super does not exist");
  const bool plain = PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_METHOD_DESCRIPTOR);
  const Operand found_in{Shadow::constant(), reinterpret_cast<PyObject*>(owner)};
  const Shadow found = attribute_of_class(walk, found_in, name);
  if (is_own_type(value, "staticmethod") || PyCFunction_Check(value))
    return push_attribute(walk, f, found, use);
  if (!plain && !is_own_type(value, "classmethod") && Py_TYPE(value) != &PyClassMethodDescr_Type) {
    return walk.verdict.broke(Code::PS0303, "an attribute of super that is no method is used");
  }
  f.finish = [use, found, bound = object](Walk& walk, FrameShadow& f) {
    place_attribute(f, use, walk.objects.fresh(f.loaded(use.method), {found, bound}));
  };
  return true;
}

}  // namespace penstock::record
