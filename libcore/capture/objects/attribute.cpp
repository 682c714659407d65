// Attributes: the generic algorithm of object.__getattribute__, as facts to guard. The type decides
// which descriptor there is (guarded by the type and its version), the instance's dict comes next, a
// descriptor without __set__ after it, __getattr__ last. CPython performs the access itself.

#include <cstring>

#include <Python.h>
#include <structmember.h>

#include "capture/literal.h"
#include "capture/walk.h"

namespace penstock::capture {

using python::PyRef;

namespace {

bool is_type(PyObject* object, const char* name) {
  return std::strcmp(Py_TYPE(object)->tp_name, name) == 0;
}

PyObject* type_lookup(PyTypeObject* type, PyObject* name) { return _PyType_Lookup(type, name); }

PyObject* type_lookup(PyTypeObject* type, const char* name) {
  PyRef text = PyRef::steal(PyUnicode_InternFromString(name));
  return _PyType_Lookup(type, text.get());
}

bool is_data_descriptor(PyObject* object) { return Py_TYPE(object)->tp_descr_set != nullptr; }

}  // namespace

void Walk::guard_type_version(Operand operand) {
  // All that is looked up in a type is known as long as the type does not change.
  if (operand.shadow.is(Shadow::Kind::sourced)) consume_type(operand);
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(operand.object));
  const SourceId source = operand.shadow.source();
  if (source == kNoSource || !PyType_HasFeature(Py_TYPE(operand.object), Py_TPFLAGS_HEAPTYPE)) return;
  if (!versioned_.insert(type).second) return;
  add_live_guard(GuardKind::type_version, source, type);
}

Shadow Walk::class_attribute(Operand instance, PyObject* name) {
  const SourceId source = instance.shadow.source();
  if (source == kNoSource) return Shadow::constant();
  const SourceId type = recorder_.source(SourceKind::type, source);
  return Shadow::constant(recorder_.source(SourceKind::attribute, type, text_of(name)));
}

bool Walk::load_attribute(FrameShadow& f, PyObject* name, bool method) {
  Operand self = f.operand();
  if (self.shadow.is(Shadow::Kind::unknown)) return consume(self);
  PyObject* object = self.object;
  if (is_computed(self)) {  // it is no object that a path leads to
    if (!consume(self)) return false;
    self.shadow = f.top() = Shadow::constant();
  }
  if (PyModule_Check(object)) return load_module_attribute(f, self, name, method);
  if (PyType_Check(object)) return load_type_attribute(f, self, name, method);
  if (is_tensor(object)) {
    if (!method || !is_tensor_method(name)) return tensor_attribute(f, self, name);
    return push_method(f, self, type_lookup(Py_TYPE(object), name), name, method);
  }
  if (PyMethod_Check(object)) {
    const std::string text = text_of(name);
    if (text == "__func__") return push_attribute(f, method_part(self, 0).shadow, method);
    if (text == "__self__") return push_attribute(f, method_part(self, 1).shadow, method);
  }
  if (is_type(object, "super")) return load_super_attribute(f, self, name, method);
  PyTypeObject* type = Py_TYPE(object);
  const bool generic = type->tp_getattro == PyObject_GenericGetAttr;
  static PyObject* const object_getattribute =
      type_lookup(&PyBaseObject_Type, "__getattribute__");
  if (!generic && !PyFunction_Check(object) && !PyMethod_Check(object) &&
      type_lookup(type, "__getattribute__") != object_getattribute) {
    return broke(Code::PS0303, std::string("attributes of a ") + type->tp_name + " are not followed");
  }
  return load_generic_attribute(f, self, name, method);
}

bool Walk::load_generic_attribute(FrameShadow& f, Operand self, PyObject* name, bool method) {
  PyTypeObject* type = Py_TYPE(self.object);
  PyObject* descriptor = type_lookup(type, name);
  if (descriptor != nullptr && is_data_descriptor(descriptor)) {
    guard_type_version(self);
    return load_descriptor(f, self, descriptor, name, method);
  }
  if (type->tp_dictoffset != 0 || PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT)) {
    const ObjectId dict = instance_dict(self);
    if (dict != kNoSource) {
      PyObject* value = PyDict_GetItemWithError(this->object(dict).object.get(), name);
      PyErr_Clear();
      if (value != nullptr) {
        guard_type_version(self);
        const Shadow found = dict_value(dict, name, value);
        return push_attribute(f, found, method);
      }
      guard_type_version(self);
      dict_value(dict, name, nullptr);
    }
  }
  guard_type_version(self);
  if (descriptor != nullptr) return push_method(f, self, descriptor, name, method);
  PyObject* fallback = type_lookup(type, "__getattr__");
  if (fallback == nullptr || !PyFunction_Check(fallback)) {
    return broke(Code::PS0304, "the attribute '" + text_of(name) + "' of a " + type->tp_name +
                                   " does not exist");
  }
  if (load_module_child(f, self, fallback, name, method)) return true;
  f.expected.function = fallback;
  f.expected.function_shadow = Shadow::constant(
      self.shadow.source() == kNoSource
          ? kNoSource
          : recorder_.source(SourceKind::attribute,
                             recorder_.source(SourceKind::type, self.shadow.source()),
                             "__getattr__"));
  f.expected.positional = {self, {Shadow::constant(), name}};
  f.finish = [method](Walk&, FrameShadow& f) {
    const Shadow result = f.expected.result;
    f.pop();
    if (method) f.push(Shadow::null());
    f.push(result);
  };
  return true;
}

bool Walk::push_attribute(FrameShadow& f, Shadow value, bool method) {
  f.pop();
  if (method) f.push(Shadow::null());
  f.push(value);
  return true;
}

bool Walk::push_method(FrameShadow& f, Operand self, PyObject* descriptor, PyObject* name,
                       bool method) {
  const Shadow function = class_attribute(self, name);
  const bool plain = PyType_HasFeature(Py_TYPE(descriptor), Py_TPFLAGS_METHOD_DESCRIPTOR);
  if (plain && method) {
    // LOAD_METHOD leaves the function and self, or null and a bound method where the type has its own
    // way of looking up attributes.
    f.finish = [function, of = self.shadow](Walk& walk, FrameShadow& f) {
      f.pop();
      if (f.object(1) != nullptr) {
        f.push(function);
        f.push(of);
      } else {
        f.push(Shadow::null());
        f.push(walk.fresh(f.object(), {function, of}));
      }
    };
    return true;
  }
  if (Py_TYPE(descriptor)->tp_descr_get == nullptr) return push_attribute(f, function, method);
  const bool is_static = is_type(descriptor, "staticmethod");
  if (is_static) return push_attribute(f, function, method);
  std::vector<Shadow> parts;
  if (is_type(descriptor, "classmethod")) {
    parts = {function, Shadow::constant()};
  } else if (plain) {
    parts = {function, self.shadow};
  } else {
    return load_descriptor(f, self, descriptor, name, method);
  }
  f.finish = [method, parts](Walk& walk, FrameShadow& f) {
    f.pop();
    if (method) f.push(Shadow::null());
    f.push(walk.fresh(f.object(), parts));
  };
  return true;
}

bool Walk::load_descriptor(FrameShadow& f, Operand self, PyObject* descriptor, PyObject* name,
                           bool method) {
  if (is_type(descriptor, "property")) {
    PyRef getter = PyRef::steal(PyObject_GetAttrString(descriptor, "fget"));
    if (getter && PyFunction_Check(getter.get())) {
      f.expected.function = getter.get();
      f.expected.function_shadow = Shadow::constant();
      f.expected.positional = {self};
      f.finish = [method, getter](Walk&, FrameShadow& f) {
        const Shadow result = f.expected.result;
        f.pop();
        if (method) f.push(Shadow::null());
        f.push(result);
      };
      return true;
    }
  }
  const std::string text = text_of(name);
  if (text == "__class__") return push_attribute(f, Shadow::constant(), method);
  if (text == "__dict__" && is_type(descriptor, "getset_descriptor")) {
    if (PyFunction_Check(self.object) && self.shadow.is(Shadow::Kind::fresh)) {
      return broke(Code::PS0303, "the dict of a function that was made here is used");
    }
    const ObjectShadow& dict = object(instance_dict(self));
    const bool old = dict.origin.is(Shadow::Kind::sourced);
    return push_attribute(f, old ? dict.origin : Shadow::fresh(by_identity_[dict.object.get()]),
                          method);
  }
  if (is_type(descriptor, "member_descriptor") && PyTuple_Check(self.object)) {
    // A field of a struct sequence, such as what torch.max gives.
    const PyMemberDef* fields = Py_TYPE(self.object)->tp_members;
    for (std::size_t i = 0; fields != nullptr && fields[i].name != nullptr; ++i) {
      const std::vector<Shadow>& all = items(self);
      if (i < all.size() && text == fields[i].name) return push_attribute(f, all[i], method);
    }
  }
  if (is_type(descriptor, "member_descriptor") || is_type(descriptor, "getset_descriptor")) {
    const SourceId source = self.shadow.source();
    if (ObjectShadow* known = find(self.object); known != nullptr && known->keys) {
      PyObject* at = PyDict_GetItemWithError(known->keys.get(), name);
      if (at != nullptr) return push_attribute(f, known->values[PyLong_AsSsize_t(at)], method);
    }
    if (source == kNoSource && self.shadow.is(Shadow::Kind::constant)) {
      return push_attribute(f, Shadow::constant(), method);
    }
    if (source == kNoSource) {
      return broke(Code::PS0303, "the attribute '" + text + "' of a new object is not followed");
    }
    return push_attribute(
        f, Shadow::sourced(recorder_.source(SourceKind::attribute, source, text)), method);
  }
  if (consume_enum(self)) return push_attribute(f, Shadow::constant(), method);
  PyObject* getter = type_lookup(Py_TYPE(descriptor), "__get__");
  if (getter != nullptr && PyFunction_Check(getter)) {
    f.expected.function = getter;
    f.expected.function_shadow = Shadow::constant();
    f.expected.positional = {{Shadow::constant(), descriptor},
                             self,
                             {Shadow::constant(), reinterpret_cast<PyObject*>(Py_TYPE(self.object))}};
    f.finish = [method](Walk&, FrameShadow& f) {
      const Shadow result = f.expected.result;
      f.pop();
      if (method) f.push(Shadow::null());
      f.push(result);
    };
    return true;
  }
  return broke(Code::PS0303, std::string("a descriptor of type ") + Py_TYPE(descriptor)->tp_name +
                                 " is not followed");
}

bool Walk::consume_enum(Operand operand) {
  PyObject* meta = reinterpret_cast<PyObject*>(Py_TYPE(Py_TYPE(operand.object)));
  if (qualified_name(meta) != "enum.EnumType") return false;
  return consume_identity(operand);
}

bool Walk::load_module_attribute(FrameShadow& f, Operand module, PyObject* name, bool method) {
  PyObject* value = PyDict_GetItemWithError(PyModule_GetDict(module.object), name);
  PyErr_Clear();
  // A module of a class of its own, such as torch._VF, may have methods or a __getattr__.
  if (value == nullptr && Py_TYPE(module.object) != &PyModule_Type &&
      (type_lookup(Py_TYPE(module.object), name) != nullptr ||
       type_lookup(Py_TYPE(module.object), "__getattr__") != nullptr)) {
    return consume_identity(module) && load_generic_attribute(f, module, name, method);
  }
  if (value == nullptr) {
    return broke(Code::PS0304, "the attribute '" + text_of(name) + "' of module " +
                                   qualified_name(module.object) + " is made on demand");
  }
  const SourceId source = module.shadow.source();
  if (source == kNoSource) return push_attribute(f, Shadow::constant(), method);
  const std::string text = text_of(name);
  return push_attribute(f, Shadow::sourced(recorder_.source(SourceKind::attribute, source, text)),
                        method);
}

bool Walk::load_type_attribute(FrameShadow& f, Operand type, PyObject* name, bool method) {
  auto* object = reinterpret_cast<PyTypeObject*>(type.object);
  PyObject* of_meta = type_lookup(Py_TYPE(type.object), name);
  PyObject* value = type_lookup(object, name);
  if (of_meta != nullptr && is_data_descriptor(of_meta) && value == nullptr) {
    if (!consume_identity(type)) return false;
    if (is_type(of_meta, "getset_descriptor") || is_type(of_meta, "member_descriptor")) {
      return push_attribute(f, Shadow::constant(), method);
    }
  }
  if (value == nullptr) {
    if (of_meta != nullptr && consume_identity(type)) {
      return push_method(f, type, of_meta, name, method);
    }
    return broke(Code::PS0304, "the attribute '" + text_of(name) + "' of class " +
                                   qualified_name(type.object) + " does not exist");
  }
  if (!consume_identity(type)) return false;
  const SourceId source = type.shadow.source();
  const Shadow found =
      source == kNoSource
          ? Shadow::constant()
          : Shadow::sourced(recorder_.source(SourceKind::attribute, source, text_of(name)));
  if (is_type(value, "classmethod")) {
    PyRef function = PyRef::steal(PyObject_GetAttrString(value, "__func__"));
    f.finish = [method, type = type.shadow](Walk& walk, FrameShadow& f) {
      f.pop();
      if (method) f.push(Shadow::null());
      f.push(walk.fresh(f.object(), {Shadow::constant(), type}));
    };
    return true;
  }
  const bool immutable = PyFunction_Check(value) || Py_TYPE(value)->tp_descr_get != nullptr;
  return push_attribute(f, immutable && source == kNoSource ? Shadow::constant() : found, method);
}

bool Walk::load_super_attribute(FrameShadow& f, Operand super, PyObject* name, bool method) {
  // super keeps its class, the object and the object's class as attributes of its own.
  PyRef self = PyRef::steal(PyObject_GetAttrString(super.object, "__self__"));
  PyRef of = PyRef::steal(PyObject_GetAttrString(super.object, "__thisclass__"));
  PyRef start = PyRef::steal(PyObject_GetAttrString(super.object, "__self_class__"));
  ObjectShadow* known = find(super.object);
  if (!self || !of || !start || known == nullptr || known->items.size() < 2) {
    PyErr_Clear();
    return broke(Code::PS0303, "a super object of unknown origin is used");
  }
  PyObject* order = reinterpret_cast<PyTypeObject*>(start.get())->tp_mro;
  bool behind = false;
  PyObject* value = nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order) && value == nullptr; ++i) {
    PyObject* type = PyTuple_GET_ITEM(order, i);
    if (behind) {
      value = PyDict_GetItemWithError(reinterpret_cast<PyTypeObject*>(type)->tp_dict, name);
    }
    if (type == of.get()) behind = true;
  }
  const Operand object{known->items[1], self.get()};
  if (value == nullptr) return broke(Code::PS0304, "an attribute of super does not exist");
  const bool plain = PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_METHOD_DESCRIPTOR);
  if (is_type(value, "staticmethod") || PyCFunction_Check(value)) {
    return push_attribute(f, Shadow::constant(), method);
  }
  if (!plain && !is_type(value, "classmethod")) {
    return broke(Code::PS0303, "an attribute of super that is no method is used");
  }
  f.finish = [method, bound = object.shadow](Walk& walk, FrameShadow& f) {
    f.pop();
    if (method) f.push(Shadow::null());
    f.push(walk.fresh(f.object(), {Shadow::constant(), bound}));
  };
  return true;
}

bool Walk::store_attribute(FrameShadow& f, PyObject* name) {
  Operand self = f.operand(), value = f.operand(1);
  if (is_tensor(self.object)) return broke(Code::PS0305, "an attribute of a tensor is set");
  if (PyType_Check(self.object) || PyModule_Check(self.object)) {
    return broke(Code::PS0305, "an attribute of a class or module is set");
  }
  PyTypeObject* type = Py_TYPE(self.object);
  PyObject* setter = type_lookup(type, "__setattr__");
  if (setter != nullptr && PyFunction_Check(setter)) {
    guard_type_version(self);
    f.expected.function = setter;
    f.expected.function_shadow = Shadow::constant();
    f.expected.positional = {self, {Shadow::constant(), name}, value};
    f.finish = [](Walk&, FrameShadow& f) { f.pop(2); };
    return true;
  }
  if (!set_instance_attribute(self, name, value)) return false;
  f.pop(2);
  return true;
}

bool Walk::set_instance_attribute(Operand self, PyObject* name, Operand value) {
  PyTypeObject* type = Py_TYPE(self.object);
  PyObject* descriptor = type_lookup(type, name);
  if (type->tp_setattro != PyObject_GenericSetAttr &&
      !PyFunction_Check(type_lookup(type, "__setattr__"))) {
    return broke(Code::PS0303, std::string("attributes of a ") + type->tp_name + " are not followed");
  }
  guard_type_version(self);
  const bool slot = descriptor != nullptr && is_type(descriptor, "member_descriptor");
  if (descriptor != nullptr && is_data_descriptor(descriptor) && !slot) {
    return broke(Code::PS0303, "a property is set");
  }
  // A function's recipe holds no attributes: they are set behind the segment, as an old object's.
  if (!self.shadow.is(Shadow::Kind::fresh) || PyFunction_Check(self.object)) {
    effect(Restore::Kind::set_attribute, self, text_of(name), {}, value);
  }
  const ObjectId dict = slot ? contents(self) : instance_dict(self);
  if (dict == kNoSource) return broke(Code::PS0303, "an object without a dict is written");
  dict_store(dict, name, value.shadow);
  return true;
}

bool Walk::delete_attribute(FrameShadow& f, PyObject* name) {
  Operand self = f.operand();
  if (Py_TYPE(self.object)->tp_setattro != PyObject_GenericSetAttr) {
    return broke(Code::PS0303, "an attribute is deleted by code that is not followed");
  }
  guard_type_version(self);
  const ObjectId dict = instance_dict(self);
  if (dict == kNoSource) return broke(Code::PS0303, "an object without a dict is written");
  if (!self.shadow.is(Shadow::Kind::fresh) || PyFunction_Check(self.object)) {
    effect(Restore::Kind::delete_attribute, self, text_of(name), {}, {});
  }
  dict_store(dict, name, Shadow::null());
  f.pop();
  return true;
}

}  // namespace penstock::capture
