// Exceptions that a segment makes, raises and catches. One is made by BaseException.__new__, which
// keeps the arguments, and by the __init__ of its class, which may be Python code. What it holds is
// followed by its identity: whatever the handler finds is the object that was raised. Exceptions
// that C code raises are not made here: of those only plain values are known, for guards have
// determined what the C code was given.

#include "record/objects/exception.h"
#include "record/objects/attribute.h"

#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/objects/builtin_call.h"
#include "record/objects/call.h"
#include "record/results.h"

namespace penstock::record {

using python::is_immutable_literal;
using python::PyRef;
using python::text_of;
using python::type_lookup;

namespace {

PyTypeObject* type_of(PyObject* exception_class) {
  return reinterpret_cast<PyTypeObject*>(exception_class);
}

PyRef arguments_of(PyObject* exception) {
  PyRef arguments = PyRef::steal(PyObject_GetAttrString(exception, "args"));
  PyErr_Clear();
  return arguments && PyTuple_CheckExact(arguments.get()) ? std::move(arguments) : PyRef();
}

void keep(Walk& walk, PyObject* exception, const char* member, Shadow shadow) {
  const PyRef name = PyRef::steal(PyUnicode_InternFromString(member));
  walk.objects.dict_store(walk.objects.id_of(exception), name.get(), shadow);
}

std::vector<Shadow> shadows_of(const std::vector<Operand>& operands, std::size_t first) {
  std::vector<Shadow> shadows;
  for (std::size_t i = first; i < operands.size(); ++i) shadows.push_back(operands[i].shadow);
  return shadows;
}

/// BaseException.__init__, and that of the classes which add nothing to it.
bool initialize_exception(BuiltinCall& c) {
  const Operand self = c.positional[0];
  const bool made = self.shadow.is(Shadow::Kind::fresh) && PyExceptionInstance_Check(self.object);
  if (!made || !keeps_arguments(Py_TYPE(self.object)) || !c.keywords.empty()) return refuse(c);
  c.frame.finish = [pops = c.pops, self = PyRef::borrow(self.object),
                    shadows = shadows_of(c.positional, 1)](Walk& walk, FrameShadow& f) {
    know_arguments(walk, self.get(), shadows);
    f.pop(pops);
    f.push(Shadow::constant());
  };
  return true;
}

constexpr FunctionModel kModels[] = {{"initialize_exception", initialize_exception, 1}};

}  // namespace

std::span<const FunctionModel> exception_models() {
  return kModels;
}

bool keeps_arguments(PyTypeObject* type) {
  PyTypeObject* base = type_of(PyExc_BaseException);
  return PyType_IsSubtype(type, base) && type->tp_new == base->tp_new;
}

void know_arguments(Walk& walk, PyObject* exception, std::vector<Shadow> arguments) {
  const PyRef tuple = arguments_of(exception);
  if (!tuple || PyTuple_GET_SIZE(tuple.get()) != static_cast<Py_ssize_t>(arguments.size())) return;
  if (PyObject_TypeCheck(exception, type_of(PyExc_StopIteration)))
    keep(walk, exception, "value", arguments.empty() ? Shadow::constant() : arguments[0]);
  const bool none = arguments.empty();  // there is one empty tuple
  const Shadow known =
      none ? Shadow::constant() : walk.objects.fresh(tuple.get(), std::move(arguments));
  keep(walk, exception, "args", known);
}

std::optional<bool> call_exception(Walk& walk, FrameShadow& f, Operand type,
                                   const std::vector<Operand>& positional,
                                   const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                   int pops) {
  PyTypeObject* object = type_of(type.object);
  if (!PyType_IsSubtype(object, type_of(PyExc_BaseException))) return std::nullopt;
  const bool keeps = keeps_arguments(object);
  const bool of_python = PyType_HasFeature(object, Py_TPFLAGS_HEAPTYPE);
  if (of_python && (!keeps || why_not_made(walk, object))) return std::nullopt;
  PyObject* init = type_lookup(object, "__init__");
  walk.facts.guard_class_version(type);
  if (PyFunction_Check(init)) {
    f.expected.function = init;
    f.expected.function_shadow = attribute_of_class(walk, type, "__init__");
    f.expected.new_self = true;
    f.expected.positional = positional;
    f.expected.positional.insert(f.expected.positional.begin(), {Shadow{}, nullptr});
    f.expected.keywords = keywords;
    return gives_call_result(f, pops);
  }
  if (Py_TYPE(init) != &PyWrapperDescr_Type) return std::nullopt;
  f.finish = [pops, keeps, shadows = shadows_of(positional, 0)](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    f.push(walk.objects.fresh(f.object()));
    if (keeps) know_arguments(walk, f.object(), shadows);
  };
  return true;
}

Shadow caught_exception(Walk& walk, PyObject* exception) {
  const ObjectShadow* known = walk.objects.find(exception);
  return known == nullptr ? Shadow::constant() : known->origin;
}

std::optional<Shadow> exception_member(Walk& walk, Operand exception, PyObject* name) {
  const std::string text = text_of(name);
  if (text == "__traceback__") return std::nullopt;
  const PyRef value = PyRef::steal(PyObject_GetAttr(exception.object, name));
  PyErr_Clear();
  if (!value) return std::nullopt;
  if (PyExceptionInstance_Check(value.get())) {
    const ObjectShadow* known = walk.objects.find(value.get());
    return known == nullptr ? std::nullopt : std::optional(known->origin);
  }
  // What was handled already where the segment began is the caller's.
  if (text == "__context__") return std::nullopt;
  const bool by_c = exception.shadow.is(Shadow::Kind::constant);
  const bool of_raise = text == "__cause__" || text == "__suppress_context__";
  return is_immutable_literal(value.get()) && (by_c || of_raise) ? std::optional(Shadow::constant())
                                                                 : std::nullopt;
}

bool consume_message(Walk& walk, Operand exception) {
  const PyTypeObject* type = Py_TYPE(exception.object);
  const bool known = type->tp_str == type_of(PyExc_BaseException)->tp_str ||
                     type->tp_str == type_of(PyExc_KeyError)->tp_str;
  const PyRef arguments = arguments_of(exception.object);
  const PyRef name = PyRef::steal(PyUnicode_InternFromString("args"));
  const ObjectShadow* object = walk.objects.find(exception.object);
  PyObject* at = object != nullptr && object->keys
                     ? PyDict_GetItemWithError(object->keys.get(), name.get())
                     : nullptr;
  PyErr_Clear();
  const bool fresh = exception.shadow.is(Shadow::Kind::fresh);
  if (!known || !arguments || (fresh && at == nullptr)) {
    return walk.verdict.broke(Code::PS0303,
                              std::string("the message of a ") + type->tp_name + " is asked for");
  }
  if (fresh) return walk.facts.consume({object->values[PyLong_AsSsize_t(at)], arguments.get()});
  return walk.facts.consume(exception);
}

}  // namespace penstock::record
