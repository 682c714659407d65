#pragma once

// Rules of attributes (attribute.cpp, store_attribute.cpp, module.cpp, named_attribute.cpp).

#include "record/walk.h"

namespace penstock::record {

/// What object.__getattribute__ does.
bool load_generic_attribute(Walk& walk, FrameShadow& frame, Operand self, PyObject* name,
                            const AttributeUse& use);
bool load_module_attribute(Walk& walk, FrameShadow& frame, Operand module, PyObject* name,
                           const AttributeUse& use);
bool load_type_attribute(Walk& walk, FrameShadow& frame, Operand type, PyObject* name,
                         const AttributeUse& use);
bool load_super_attribute(Walk& walk, FrameShadow& frame, Operand super, PyObject* name,
                          const AttributeUse& use);
/// … of a super object of its own, which was made for `object`.
bool load_super_attribute(Walk& walk, FrameShadow& frame, PyObject* super, Shadow object,
                          PyObject* name, const AttributeUse& use);
bool load_descriptor(Walk& walk, FrameShadow& frame, Operand self, PyObject* descriptor,
                     PyObject* name, const AttributeUse& use);
/// A member or getter of C.
bool load_c_member(Walk& walk, FrameShadow& frame, Operand self, PyObject* descriptor,
                   PyObject* name, const AttributeUse& use);
bool load_module_child(Walk& walk, FrameShadow& frame, Operand self, PyObject* fallback,
                       PyObject* name, const AttributeUse& use);
bool runs_for_attribute(Walk& walk, FrameShadow& frame, Operand self, PyObject* function,
                        Shadow found, std::vector<Operand> arguments, PyObject* name,
                        const AttributeUse& use);
bool lacks_attribute(Walk& walk, FrameShadow& frame, Operand self, PyObject* name,
                     const AttributeUse& use);
bool lacks_type_attribute(Walk& walk, FrameShadow& frame, Operand type, PyObject* name,
                          const AttributeUse& use);
/// What a module's __getattr__ finds; null when absent (guarded), nothing when it has no tables.
std::optional<Shadow> module_child(Walk& walk, Operand self, PyObject* name, bool& present);
/// Puts what was loaded where the instruction leaves it.
void place_attribute(FrameShadow& frame, const AttributeUse& use, Shadow value);
/// The object is of CPython's own type of that name: a class of the program may have the same.
bool is_own_type(PyObject* object, const char* name);
bool push_attribute(Walk& walk, FrameShadow& frame, Shadow value, const AttributeUse& use);
bool push_method(Walk& walk, FrameShadow& frame, Operand self, PyObject* descriptor, PyObject* name,
                 const AttributeUse& use);
Shadow class_attribute(Walk& walk, Operand instance, PyObject* name);
/// The same of a class and what its instances find in it: `__init__`, and its own `__new__`.
Shadow attribute_of_class(Walk& walk, Operand type, PyObject* name);
Shadow attribute_of_class(Walk& walk, Operand type, const char* name);
Shadow class_attribute(Walk& walk, Operand instance, const char* name);
/// A function that a property or the like holds: where that is found, by the member `part`.
Shadow part_of_descriptor(Walk& walk, SourceId descriptor, const char* part);
/// A descriptor as it stands in the class that has it: its own methods are not asked for it.
/// `source`: where `type`, or an instance's class, is found. Nothing (a break) where it may change
/// and nothing leads to it.
std::optional<Shadow> in_class(Walk& walk, PyTypeObject* type, SourceId source,
                               PyObject* descriptor, PyObject* name);
/// Where it is; kNoSource where nothing leads to it.
SourceId source_in_class(Walk& walk, PyTypeObject* type, SourceId source, PyObject* descriptor,
                         PyObject* name);
bool is_data_descriptor(PyObject* object);
/// A break: always false.
bool has_other_keys(Walk& walk, PyTypeObject* type);
bool load_attribute(Walk& walk, FrameShadow& frame, PyObject* name, bool method);
bool load_attribute(Walk& walk, FrameShadow& frame, Operand self, PyObject* name,
                    const AttributeUse& use);
bool store_attribute(Walk& walk, FrameShadow& frame, PyObject* name);
bool delete_attribute(Walk& walk, FrameShadow& frame, PyObject* name);
/// Sets an attribute, or deletes it where `value` has no object. `call`: a call that gives None.
bool store_attribute(Walk& walk, FrameShadow& frame, Operand self, PyObject* name, Operand value,
                     int pops, bool call);
/// … as object.__setattr__ and object.__delattr__ do.
bool store_generic_attribute(Walk& walk, FrameShadow& frame, Operand self, PyObject* name,
                             Operand value, int pops, bool call);
bool runs_to_store(Walk& walk, FrameShadow& frame, Operand self, PyObject* descriptor,
                   PyObject* name, Operand value, int pops, bool call);

}  // namespace penstock::record
