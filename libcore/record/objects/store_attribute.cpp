// Attributes that are set and deleted: of instances as object.__setattr__ does, by methods of the
// class, and by descriptors.

#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/objects/attribute.h"
#include "record/objects/call.h"
#include "record/objects/torch_tensor.h"
#include "record/walk.h"

namespace penstock::record {

using python::PyRef;
using python::qualified_name;
using python::text_of;
using python::type_lookup;

namespace {

/// Consumes the operands of an instruction that sets or deletes an attribute; a call gives None.
void place_nothing(FrameShadow& f, int pops, bool call) {
  f.pop(pops);
  if (call) f.push(Shadow::constant());
}

}  // namespace

bool store_attribute(Walk& walk, FrameShadow& f, PyObject* name) {
  return store_attribute(walk, f, f.operand(), name, f.operand(1), 2, false);
}

bool delete_attribute(Walk& walk, FrameShadow& f, PyObject* name) {
  return store_attribute(walk, f, f.operand(), name, {}, 1, false);
}

bool store_attribute(Walk& walk, FrameShadow& f, Operand self, PyObject* name, Operand value,
                     int pops, bool call) {
  if (self.shadow.is(Shadow::Kind::unknown)) return walk.facts.consume(self);
  if (walk.is_tensor(self.object))
    return store_tensor_attribute(walk, f, self, name, value, pops, call);
  if (PyType_Check(self.object) || PyModule_Check(self.object)) {
    return walk.verdict.broke(Code::PS0305, "an attribute of a class or module is set");
  }
  const bool deletes = value.object == nullptr;
  const char* special = deletes ? "__delattr__" : "__setattr__";
  PyObject* setter = type_lookup(Py_TYPE(self.object), special);
  if (setter == nullptr || !PyFunction_Check(setter)) {
    return store_generic_attribute(walk, f, self, name, value, pops, call);
  }
  walk.facts.guard_type_version(self);
  f.expected.function = setter;
  f.expected.function_shadow = class_attribute(walk, self, special);
  f.expected.positional = {self, {Shadow::constant(), name}};
  if (!deletes) f.expected.positional.push_back(value);
  f.finish = [pops, call](Walk&, FrameShadow& f) { place_nothing(f, pops, call); };
  return true;
}

bool store_generic_attribute(Walk& walk, FrameShadow& f, Operand self, PyObject* name,
                             Operand value, int pops, bool call) {
  PyTypeObject* type = Py_TYPE(self.object);
  if (!python::has_only_names(type)) return has_other_keys(walk, type);
  PyObject* descriptor = type_lookup(type, name);
  const bool deletes = value.object == nullptr;
  // Of a type whose slot is C code, only that of object is known; one in Python called object's.
  static PyObject* const object_set = type_lookup(&PyBaseObject_Type, "__setattr__");
  static PyObject* const object_delete = type_lookup(&PyBaseObject_Type, "__delattr__");
  PyObject* setter = type_lookup(type, deletes ? "__delattr__" : "__setattr__");
  const bool known = setter == (deletes ? object_delete : object_set) ||
                     (setter != nullptr && PyFunction_Check(setter)) ||
                     type->tp_setattro == PyObject_GenericSetAttr;
  if (!known) {
    return walk.verdict.broke(
        Code::PS0303, std::string("attributes of a ") + type->tp_name + " are not followed");
  }
  walk.facts.guard_type_version(self);
  const bool of_context =
      descriptor != nullptr && is_context_field(descriptor) && self.shadow.is(Shadow::Kind::fresh);
  const bool slot =
      of_context || (descriptor != nullptr && is_own_type(descriptor, "member_descriptor"));
  if (descriptor != nullptr && is_data_descriptor(descriptor) && !slot) {
    return runs_to_store(walk, f, self, descriptor, name, value, pops, call);
  }
  if (slot && deletes)
    return walk.verdict.broke(Code::PS0303, "a member that has a slot is deleted");
  const ObjectId dict = slot ? walk.objects.contents(self) : walk.objects.instance_dict(self);
  if (dict == kNoSource)
    return walk.verdict.broke(Code::PS0303, "an object without a dict is written");
  if (deletes && PyDict_GetItemWithError(walk.objects.object(dict).object.get(), name) == nullptr) {
    PyErr_Clear();
    return walk.verdict.broke(
        Code::PS0304, "the attribute '" + text_of(name) + "' that is deleted does not exist");
  }
  // A function's recipe holds no attributes: they are set behind the segment, as an old object's.
  if (!self.shadow.is(Shadow::Kind::fresh) || PyFunction_Check(self.object)) {
    walk.effects.add(deletes ? Restore::Kind::delete_attribute : Restore::Kind::set_attribute, self,
                     text_of(name), {}, value);
  }
  walk.objects.dict_store(dict, name, deletes ? Shadow::null() : value.shadow);
  if (of_context && text_of(name) == "to_save" && PyTuple_CheckExact(value.object)) {
    // torch lets go of the tuple; saved_tensors gives what is in it.
    const std::vector<Shadow> saved = walk.objects.items(value);
    walk.objects.object(self.shadow.index).items = saved;
  }
  place_nothing(f, pops, call);
  return true;
}

/// A property, or a descriptor with __set__ or __delete__ in Python.
bool runs_to_store(Walk& walk, FrameShadow& f, Operand self, PyObject* descriptor, PyObject* name,
                   Operand value, int pops, bool call) {
  const bool deletes = value.object == nullptr;
  PyRef function;
  Shadow found_function;
  std::vector<Operand> arguments = {self};
  if (is_own_type(descriptor, "property")) {
    const char* part = deletes ? "fdel" : "fset";
    function = PyRef::steal(PyObject_GetAttrString(descriptor, part));
    PyErr_Clear();
    const SourceId property = source_in_class(walk, Py_TYPE(self.object),
                                              walk.facts.source_of_class(self), descriptor, name);
    found_function = part_of_descriptor(walk, property, part);
  } else {
    function = PyRef::borrow(type_lookup(Py_TYPE(descriptor), deletes ? "__delete__" : "__set__"));
    const auto found =
        in_class(walk, Py_TYPE(self.object), walk.facts.source_of_class(self), descriptor, name);
    if (!found) return false;
    found_function =
        class_attribute(walk, {*found, descriptor}, deletes ? "__delete__" : "__set__");
    arguments.insert(arguments.begin(), {*found, descriptor});
  }
  if (!function || !PyFunction_Check(function.get())) {
    return walk.verdict.broke(Code::PS0303, std::string("a descriptor of type ") +
                                                Py_TYPE(descriptor)->tp_name + " is set");
  }
  if (!deletes) arguments.push_back(value);
  f.expected.function = function.get();
  f.expected.function_shadow = found_function;
  f.expected.positional = std::move(arguments);
  f.finish = [pops, call, function](Walk&, FrameShadow& f) { place_nothing(f, pops, call); };
  return true;
}

}  // namespace penstock::record
