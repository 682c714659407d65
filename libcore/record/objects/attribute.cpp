// Attributes: the generic algorithm of object.__getattribute__, as facts to guard. The type decides
// which descriptor there is (guarded by the type and its version), the instance's dict comes next,
// a descriptor without __set__ after it, __getattr__ last. CPython performs the access itself.

#include <cstring>

#include <Python.h>
#include <structmember.h>

#include "python/literal.h"
#include "python/type_lookup.h"
#include "python/type_union.h"
#include "record/objects/attribute.h"
#include "record/objects/call.h"
#include "record/objects/torch_tensor.h"
#include "record/variables.h"
#include "record/walk.h"

namespace penstock::record {

using python::PyRef;
using python::qualified_name;
using python::text_of;
using python::type_lookup;

bool is_own_type(PyObject* object, const char* name) {
  return !PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) &&
         std::strcmp(Py_TYPE(object)->tp_name, name) == 0;
}

namespace {

/// Which item a field of collections.namedtuple is; nothing for another descriptor.
std::optional<Py_ssize_t> field_of_named_tuple(PyObject* descriptor) {
  if (std::strcmp(Py_TYPE(descriptor)->tp_name, "_collections._tuplegetter") != 0)
    return std::nullopt;
  const PyRef parts = PyRef::steal(PyObject_CallMethod(descriptor, "__reduce__", nullptr));
  PyObject* arguments = parts && PyTuple_Check(parts.get()) && PyTuple_GET_SIZE(parts.get()) == 2
                            ? PyTuple_GET_ITEM(parts.get(), 1)
                            : nullptr;
  PyErr_Clear();
  if (arguments == nullptr || !PyTuple_Check(arguments) || PyTuple_GET_SIZE(arguments) != 2)
    return std::nullopt;
  return PyLong_AsSsize_t(PyTuple_GET_ITEM(arguments, 0));
}

/// True for a property, and an instance of a subclass that reads attributes as a property does.
bool reads_as_property(PyObject* descriptor) {
  return PyObject_TypeCheck(descriptor, &PyProperty_Type) &&
         Py_TYPE(descriptor)->tp_descr_get == PyProperty_Type.tp_descr_get;
}

/// True for object.__getattribute__, which dict, tuple and others of C have under their own name.
bool is_generic_lookup(PyObject* method) {
  return method != nullptr && Py_TYPE(method) == &PyWrapperDescr_Type &&
         reinterpret_cast<PyWrapperDescrObject*>(method)->d_wrapped ==
             reinterpret_cast<void*>(PyObject_GenericGetAttr);
}

bool is_enum(PyObject* object) {
  auto* meta = reinterpret_cast<PyObject*>(Py_TYPE(Py_TYPE(object)));
  return qualified_name(meta) == "enum.EnumType";
}

/// What stands in the class and is no method: it changes without the class where it is no literal.
/// A break where nothing leads to the class.
std::optional<Shadow> standing_in_class(Walk& walk, SourceId source, PyObject* object,
                                        PyTypeObject* type, PyObject* name) {
  if (python::is_immutable_literal(object) || is_known_by_identity(object))
    return Shadow::constant(source);
  if (source != kNoSource) return Shadow::sourced(source);
  walk.verdict.broke(Code::PS0303, "the attribute '" + text_of(name) + "' of " + type->tp_name +
                                       ", a class that no name leads to, may change");
  return std::nullopt;
}

}  // namespace

bool is_data_descriptor(PyObject* object) {
  return Py_TYPE(object)->tp_descr_set != nullptr;
}

SourceId source_in_class(Walk& walk, PyTypeObject* type, SourceId source, PyObject* descriptor,
                         PyObject* name) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    PyObject* value = PyDict_GetItemWithError(python::type_dict(base), name);
    if (value == nullptr) PyErr_Clear();
    if (value != descriptor) continue;
    const SourceId of = base == type ? source : walk.facts.source_of_class(base);
    return of == kNoSource ? of
                           : walk.recorder.guards().source(SourceKind::instance, of, text_of(name));
  }
  return kNoSource;
}

std::optional<Shadow> in_class(Walk& walk, PyTypeObject* type, SourceId source,
                               PyObject* descriptor, PyObject* name) {
  return standing_in_class(walk, source_in_class(walk, type, source, descriptor, name), descriptor,
                           type, name);
}

bool has_other_keys(Walk& walk, PyTypeObject* type) {
  return walk.verdict.broke(
      Code::PS0303, "the class " + std::string(type->tp_name) + " has keys that are no strings");
}

Shadow class_attribute(Walk& walk, Operand instance, PyObject* name) {
  const SourceId type = walk.facts.source_of_class(instance);
  if (type == kNoSource) return Shadow::constant();
  return Shadow::constant(
      walk.recorder.guards().source(SourceKind::attribute, type, text_of(name)));
}

Shadow class_attribute(Walk& walk, Operand instance, const char* name) {
  const PyRef text = PyRef::steal(PyUnicode_InternFromString(name));
  return class_attribute(walk, instance, text.get());
}

Shadow attribute_of_class(Walk& walk, Operand type, PyObject* name) {
  const SourceId own = type.shadow.source();
  const SourceId source =
      own != kNoSource ? own
                       : walk.facts.source_of_class(reinterpret_cast<PyTypeObject*>(type.object));
  if (source == kNoSource) return Shadow::constant();
  return Shadow::constant(
      walk.recorder.guards().source(SourceKind::attribute, source, text_of(name)));
}

Shadow attribute_of_class(Walk& walk, Operand type, const char* name) {
  const PyRef text = PyRef::steal(PyUnicode_InternFromString(name));
  return attribute_of_class(walk, type, text.get());
}

Shadow part_of_descriptor(Walk& walk, SourceId source, const char* part) {
  if (source == kNoSource) return Shadow::constant();
  return Shadow::constant(walk.recorder.guards().source(SourceKind::attribute, source, part));
}

/// Puts what was loaded where the instruction leaves it.
void place_attribute(FrameShadow& f, const AttributeUse& use, Shadow value) {
  f.pop(use.pops);
  const Shadow given = use.test ? Shadow::constant() : value;
  if (use.method) {
    f.push_called(given);
  } else {
    f.push(given);
  }
}

bool load_attribute(Walk& walk, FrameShadow& f, PyObject* name, bool method) {
  return load_attribute(walk, f, f.operand(), name, {.method = method});
}

bool load_attribute(Walk& walk, FrameShadow& f, Operand self, PyObject* name,
                    const AttributeUse& use) {
  if (self.shadow.is(Shadow::Kind::unknown)) return walk.facts.consume(self);
  PyObject* object = self.object;
  if (walk.sizes.is_computed(self)) {  // it is no object that a path leads to
    if (!walk.facts.consume(self)) return false;
    self.shadow = Shadow::constant();
    if (use.pops == 1) f.top() = self.shadow;
  }
  if (PyModule_Check(object)) return load_module_attribute(walk, f, self, name, use);
  if (PyType_Check(object)) return load_type_attribute(walk, f, self, name, use);
  if (walk.is_tensor(object)) {
    if (!use.method || !is_tensor_method(walk, name))
      return tensor_attribute(walk, f, self, name, use);
    guard_tensor_method(walk, self, name);
    return push_method(walk, f, self, type_lookup(Py_TYPE(object), name), name, use);
  }
  if (PyMethod_Check(object)) {
    const std::string text = text_of(name);
    if (text == "__func__") return push_attribute(walk, f, method_part(walk, self, 0).shadow, use);
    if (text == "__self__") return push_attribute(walk, f, method_part(walk, self, 1).shadow, use);
    // Any other that it has not itself is one of its function's.
    if (type_lookup(Py_TYPE(object), name) == nullptr && use.pops == 1)
      return load_attribute(walk, f, method_part(walk, self, 0), name, use);
  }
  if (is_own_type(object, "super")) return load_super_attribute(walk, f, self, name, use);
  PyTypeObject* type = Py_TYPE(object);
  const bool generic = type->tp_getattro == PyObject_GenericGetAttr;
  if (generic || PyFunction_Check(object) || PyMethod_Check(object)) {
    return load_generic_attribute(walk, f, self, name, use);
  }
  if (python::is_union_type(Py_TYPE(object)) && !self.shadow.is(Shadow::Kind::fresh)) {
    // Made of classes once for all.
    const std::string part = text_of(name);
    if (part == "__args__" || part == "__parameters__")
      return walk.facts.consume_identity(self) && push_attribute(walk, f, Shadow::constant(), use);
  }
  PyObject* own = type_lookup(type, "__getattribute__");
  if (is_generic_lookup(own)) return load_generic_attribute(walk, f, self, name, use);
  if (own == nullptr || !PyFunction_Check(own)) {
    return walk.verdict.broke(
        Code::PS0303, std::string("attributes of a ") + type->tp_name + " are not followed");
  }
  walk.facts.guard_type_version(self);
  return runs_for_attribute(walk, f, self, own, class_attribute(walk, self, "__getattribute__"),
                            {self, {Shadow::constant(), name}}, name, use);
}

/// The type's slot runs Python code: __getattribute__, a property's getter or __get__, and, where
/// that raises AttributeError, the type's __getattr__.
bool runs_for_attribute(Walk& walk, FrameShadow& f, Operand self, PyObject* function, Shadow found,
                        std::vector<Operand> arguments, PyObject* name, const AttributeUse& use) {
  PyObject* fallback = use.generic ? nullptr : type_lookup(Py_TYPE(self.object), "__getattr__");
  if (fallback != nullptr && !PyFunction_Check(fallback)) {
    return walk.verdict.broke(Code::PS0303, std::string("__getattr__ of a ") +
                                                Py_TYPE(self.object)->tp_name +
                                                " is no Python function");
  }
  Expected& expected = f.expected;
  expected.function = function;
  expected.function_shadow = found;
  expected.positional = std::move(arguments);
  if (fallback != nullptr && fallback != function) {
    expected.otherwise = {class_attribute(walk, self, "__getattr__"), fallback};
    expected.otherwise_arguments = {self, {Shadow::constant(), name}};
  }
  expected.caught = use.catches() ? Caught::no_attribute : Caught::none;
  f.finish = [use, held = PyRef::borrow(function)](Walk& walk, FrameShadow& f) {
    if (f.expected.arrived == 0) {
      walk.verdict.spoil("a Python frame that an attribute should run did not reach the walker");
    }
    place_attribute(f, use, f.expected.raised ? use.fallback : f.expected.result);
  };
  return true;
}

/// The attribute is not there, as guards say.
bool lacks_attribute(Walk& walk, FrameShadow& f, Operand self, PyObject* name,
                     const AttributeUse& use) {
  if (use.catches()) {
    place_attribute(f, use, use.fallback);
    return true;
  }
  // The instruction raises AttributeError, which a frame of the segment may handle.
  if (is_handled(f)) {
    place_attribute(f, use, Shadow::constant());
    return true;
  }
  return walk.verdict.broke(Code::PS0304, "the attribute '" + text_of(name) + "' of a " +
                                              Py_TYPE(self.object)->tp_name + " does not exist");
}

bool load_generic_attribute(Walk& walk, FrameShadow& f, Operand self, PyObject* name,
                            const AttributeUse& use) {
  PyTypeObject* type = Py_TYPE(self.object);
  if (!python::has_only_names(type)) return has_other_keys(walk, type);
  PyObject* descriptor = type_lookup(type, name);
  if (descriptor != nullptr && is_data_descriptor(descriptor)) {
    walk.facts.guard_type_version(self);
    return load_descriptor(walk, f, self, descriptor, name, use);
  }
  if (type->tp_dictoffset != 0 || PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT)) {
    const ObjectId dict = walk.objects.instance_dict(self);
    if (dict == kNoSource) {
      return walk.verdict.broke(Code::PS0303,
                                std::string("the dict of a ") + type->tp_name + " is not followed");
    }
    PyObject* value = PyDict_GetItemWithError(walk.objects.object(dict).object.get(), name);
    PyErr_Clear();
    walk.facts.guard_type_version(self);
    const Shadow found = walk.objects.dict_value(dict, name, value);
    if (value != nullptr) return push_attribute(walk, f, found, use);
  }
  walk.facts.guard_type_version(self);
  if (descriptor != nullptr) return push_method(walk, f, self, descriptor, name, use);
  PyObject* fallback = use.generic ? nullptr : type_lookup(type, "__getattr__");
  if (fallback == nullptr) return lacks_attribute(walk, f, self, name, use);
  if (PyFunction_Check(fallback) && load_module_child(walk, f, self, fallback, name, use))
    return true;
  if (!PyFunction_Check(fallback)) {
    return walk.verdict.broke(
        Code::PS0303, std::string("__getattr__ of a ") + type->tp_name + " is no Python function");
  }
  return runs_for_attribute(walk, f, self, fallback, class_attribute(walk, self, "__getattr__"),
                            {self, {Shadow::constant(), name}}, name, use);
}

bool push_attribute(Walk& walk, FrameShadow& f, Shadow value, const AttributeUse& use) {
  if (use.test && value.is(Shadow::Kind::sourced)) {  // it is there: who asks may not look at it
    const SourceStep step = walk.recorder.graph().interface.sources[value.index];
    if (step.kind == SourceKind::dict_item)
      walk.facts.add_guard(GuardKind::has_key, step.base, step.key);
    if (step.kind == SourceKind::instance || step.kind == SourceKind::attribute) {
      walk.facts.add_guard(GuardKind::has_attribute, step.base, step.name);
    }
  }
  place_attribute(f, use, value);
  return true;
}

bool push_method(Walk& walk, FrameShadow& f, Operand self, PyObject* descriptor, PyObject* name,
                 const AttributeUse& use) {
  const Shadow function = class_attribute(walk, self, name);
  const bool plain = PyType_HasFeature(Py_TYPE(descriptor), Py_TPFLAGS_METHOD_DESCRIPTOR);
  if (plain && use.test) return push_attribute(walk, f, function, use);
  if (plain && use.method) {
    // LOAD_METHOD leaves the function and self, or null and a bound method where the type has its
    // own way of looking up attributes.
    f.finish = [function, of = self.shadow](Walk& walk, FrameShadow& f) {
      f.pop();
      if (f.object(python::kSelfAboveCallable ? 0 : 1) != nullptr) {
        f.push(function);
        f.push(of);
      } else {
        f.push_called(walk.objects.fresh(f.loaded(true), {function, of}));
      }
    };
    return true;
  }
  if (Py_TYPE(descriptor)->tp_descr_get == nullptr) {
    const auto found =
        standing_in_class(walk, function.source(), descriptor, Py_TYPE(self.object), name);
    return found && push_attribute(walk, f, *found, use);
  }
  const bool is_static = is_own_type(descriptor, "staticmethod");
  if (is_static) return push_attribute(walk, f, function, use);
  std::vector<Shadow> parts;
  if (is_own_type(descriptor, "classmethod")) {
    parts = {function, Shadow::constant()};
  } else if (plain) {
    parts = {function, self.shadow};
  } else {
    return load_descriptor(walk, f, self, descriptor, name, use);
  }
  if (use.test) return push_attribute(walk, f, function, use);
  f.finish = [use, parts](Walk& walk, FrameShadow& f) {
    place_attribute(f, use, walk.objects.fresh(f.loaded(use.method), parts));
  };
  return true;
}

namespace {

/// What a member of an enum gives by the descriptors of its class.
bool load_enum_attribute(Walk& walk, FrameShadow& f, Operand member, const std::string& name,
                         const AttributeUse& use) {
  const PyRef value = PyRef::steal(PyObject_GetAttrString(member.object, "_value_"));
  PyErr_Clear();
  const bool stays =
      value && (python::is_immutable_literal(value.get()) || is_known_by_identity(value.get()));
  if (name == "value" && !stays)
    return walk.verdict.broke(Code::PS0303, "the value of a member of an enum may change");
  return walk.facts.consume_identity(member) && push_attribute(walk, f, Shadow::constant(), use);
}

}  // namespace

bool load_descriptor(Walk& walk, FrameShadow& f, Operand self, PyObject* descriptor, PyObject* name,
                     const AttributeUse& use) {
  if (reads_as_property(descriptor)) {
    PyRef getter = PyRef::steal(PyObject_GetAttrString(descriptor, "fget"));
    if (getter && PyFunction_Check(getter.get())) {
      const SourceId property = source_in_class(walk, Py_TYPE(self.object),
                                                walk.facts.source_of_class(self), descriptor, name);
      return runs_for_attribute(walk, f, self, getter.get(),
                                part_of_descriptor(walk, property, "fget"), {self}, name, use);
    }
  }
  const std::string text = text_of(name);
  if (text == "__class__") return push_attribute(walk, f, Shadow::constant(), use);
  if (text == "__dict__" && is_own_type(descriptor, "getset_descriptor")) {
    if (PyFunction_Check(self.object) && self.shadow.is(Shadow::Kind::fresh)) {
      return walk.verdict.broke(Code::PS0303, "the dict of a function that was made here is used");
    }
    const ObjectId id = walk.objects.instance_dict(self);
    if (id == kNoSource) {
      return walk.verdict.broke(
          Code::PS0303,
          std::string("the dict of a ") + Py_TYPE(self.object)->tp_name + " is not followed");
    }
    const ObjectShadow& dict = walk.objects.object(id);
    const bool old = dict.origin.is(Shadow::Kind::sourced);
    return push_attribute(
        walk, f, old ? dict.origin : Shadow::fresh(walk.objects.id_of(dict.object.get())), use);
  }
  if (is_own_type(descriptor, "member_descriptor") && PyTuple_Check(self.object)) {
    // A field of a struct sequence, such as what torch.max gives.
    const PyMemberDef* fields = Py_TYPE(self.object)->tp_members;
    for (std::size_t i = 0; fields != nullptr && fields[i].name != nullptr; ++i) {
      const std::vector<Shadow>& all = walk.objects.items(self);
      if (i < all.size() && text == fields[i].name) return push_attribute(walk, f, all[i], use);
    }
  }
  if (const auto field = field_of_named_tuple(descriptor); field && PyTuple_Check(self.object)) {
    const Shadow item = walk.objects.item(self, *field);
    return !item.is(Shadow::Kind::unknown) ? push_attribute(walk, f, item, use)
                                           : walk.facts.consume({item, self.object});
  }
  if (is_own_type(descriptor, "member_descriptor") ||
      is_own_type(descriptor, "getset_descriptor")) {
    return load_c_member(walk, f, self, descriptor, name, use);
  }
  if (is_enum(self.object)) return load_enum_attribute(walk, f, self, text, use);
  PyObject* getter = type_lookup(Py_TYPE(descriptor), "__get__");
  if (getter != nullptr && PyFunction_Check(getter)) {
    const Operand type{Shadow::constant(), reinterpret_cast<PyObject*>(Py_TYPE(self.object))};
    const auto found =
        in_class(walk, Py_TYPE(self.object), walk.facts.source_of_class(self), descriptor, name);
    return found && runs_for_attribute(walk, f, self, getter,
                                       class_attribute(walk, {*found, descriptor}, "__get__"),
                                       {{*found, descriptor}, self, type}, name, use);
  }
  return walk.verdict.broke(Code::PS0303, std::string("a descriptor of type ") +
                                              Py_TYPE(descriptor)->tp_name + " is not followed");
}

bool load_module_attribute(Walk& walk, FrameShadow& f, Operand module, PyObject* name,
                           const AttributeUse& use) {
  PyObject* dict = PyModule_GetDict(module.object);
  PyObject* value = PyDict_GetItemWithError(dict, name);
  PyErr_Clear();
  const SourceId source = module.shadow.source();
  const std::string text = text_of(name);
  if (value != nullptr) {
    if (source == kNoSource) return push_attribute(walk, f, Shadow::constant(), use);
    if (use.test) walk.facts.add_guard(GuardKind::has_attribute, source, text);
    return push_attribute(
        walk, f,
        Shadow::sourced(walk.recorder.guards().source(SourceKind::attribute, source, text)), use);
  }
  // A module of a class of its own, such as torch._VF, may have methods or a __getattr__.
  if (type_lookup(Py_TYPE(module.object), name) != nullptr ||
      type_lookup(Py_TYPE(module.object), "__getattr__") != nullptr) {
    return walk.facts.consume_identity(module) &&
           load_generic_attribute(walk, f, module, name, use);
  }
  // What the module's own __getattr__ makes is made each time, and may be put in the module by it.
  const bool makes_it = PyDict_GetItemString(dict, "__getattr__") != nullptr;
  if (makes_it || !use.catches()) {
    return walk.verdict.broke(
        Code::PS0304, "the attribute '" + text + "' of module " + qualified_name(module.object) +
                          (makes_it ? " is made on demand" : " does not exist"));
  }
  if (!walk.facts.consume_identity(module)) return false;
  if (source != kNoSource) walk.facts.add_guard(GuardKind::lacks_attribute, source, text);
  return lacks_attribute(walk, f, module, name, use);
}

bool load_type_attribute(Walk& walk, FrameShadow& f, Operand type, PyObject* name,
                         const AttributeUse& use) {
  auto* object = reinterpret_cast<PyTypeObject*>(type.object);
  if (!python::has_only_names(object)) return has_other_keys(walk, object);
  PyObject* of_meta = type_lookup(Py_TYPE(type.object), name);
  PyObject* value = type_lookup(object, name);
  if (!walk.facts.consume_identity(type)) return false;
  if (const PyObject* lookup = type_lookup(Py_TYPE(type.object), "__getattribute__");
      lookup != nullptr && PyFunction_Check(lookup)) {
    return walk.verdict.broke(Code::PS0303, "the metaclass of " + qualified_name(type.object) +
                                                " looks attributes up itself");
  }
  if (of_meta != nullptr && is_data_descriptor(of_meta)) {
    const bool in_c =
        is_own_type(of_meta, "getset_descriptor") || is_own_type(of_meta, "member_descriptor");
    walk.facts.guard_type_version(type);
    if (!in_c) return push_method(walk, f, type, of_meta, name, use);
    if (value == nullptr) return push_attribute(walk, f, Shadow::constant(), use);
  }
  if (value == nullptr && of_meta != nullptr) {
    walk.facts.guard_type_version(type);
    walk.facts.guard_class_version(type);
    return push_method(walk, f, type, of_meta, name, use);
  }
  if (value == nullptr) return lacks_type_attribute(walk, f, type, name, use);
  const SourceId own = type.shadow.source();
  const SourceId source = own != kNoSource ? own : walk.facts.source_of_class(object);
  const Operand as_found{source == kNoSource ? type.shadow : Shadow::sourced(source), type.object};
  const std::string text = text_of(name);
  if (use.test && source != kNoSource) walk.facts.add_guard(GuardKind::has_attribute, source, text);
  PyObject* getter = type_lookup(Py_TYPE(value), "__get__");
  if (getter != nullptr && PyFunction_Check(getter)) {
    walk.facts.guard_class_version(as_found);
    const auto descriptor = in_class(walk, object, source, value, name);
    return descriptor &&
           runs_for_attribute(
               walk, f, type, getter, class_attribute(walk, {*descriptor, value}, "__get__"),
               {{*descriptor, value}, {Shadow::constant(), Py_None}, type}, name, use);
  }
  const bool is_read = Py_TYPE(value)->tp_descr_get == nullptr;
  const Shadow found =
      source == kNoSource
          ? Shadow::constant()
          : Shadow::sourced(walk.recorder.guards().source(SourceKind::attribute, source, text));
  if (is_read && !standing_in_class(walk, source, value, object, name)) return false;
  // The second is that of a class of C code: dict.fromkeys.
  const bool of_class =
      is_own_type(value, "classmethod") || Py_TYPE(value) == &PyClassMethodDescr_Type;
  if (of_class && !use.test) {
    // The class, or one in front of its base, may get another of the name.
    walk.facts.guard_class_version(as_found);
    f.finish = [use, type = type.shadow](Walk& walk, FrameShadow& f) {
      place_attribute(f, use, walk.objects.fresh(f.loaded(use.method), {Shadow::constant(), type}));
    };
    return true;
  }
  const bool immutable = PyFunction_Check(value) || Py_TYPE(value)->tp_descr_get != nullptr;
  return push_attribute(walk, f, immutable && source == kNoSource ? Shadow::constant() : found,
                        use);
}

/// Neither the class nor its metaclass has the attribute: the metaclass's __getattr__ is asked.
bool lacks_type_attribute(Walk& walk, FrameShadow& f, Operand type, PyObject* name,
                          const AttributeUse& use) {
  const std::string text = text_of(name);
  PyObject* fallback = type_lookup(Py_TYPE(type.object), "__getattr__");
  if (fallback != nullptr) {
    if (!PyFunction_Check(fallback)) {
      return walk.verdict.broke(Code::PS0303, "__getattr__ of the metaclass of " +
                                                  qualified_name(type.object) +
                                                  " is no Python function");
    }
    walk.facts.guard_type_version(type);
    walk.facts.guard_class_version(type);
    return runs_for_attribute(walk, f, type, fallback, class_attribute(walk, type, "__getattr__"),
                              {type, {Shadow::constant(), name}}, name, use);
  }
  if (!use.catches()) {
    return walk.verdict.broke(Code::PS0304, "the attribute '" + text + "' of class " +
                                                qualified_name(type.object) + " does not exist");
  }
  if (const SourceId source = type.shadow.source(); source != kNoSource) {
    walk.facts.add_guard(GuardKind::lacks_attribute, source, text);
  }
  return lacks_attribute(walk, f, type, name, use);
}

}  // namespace penstock::record
