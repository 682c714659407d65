// functools.update_wrapper, which functools.wraps calls: decorators inside a function that is
// recorded. It runs natively, on a function that the segment made; what it sets there is set behind
// the segment too, of the wrapped function's own attributes where that is older than the segment.

#include "python/literal.h"
#include "record/objects/attribute.h"
#include "record/objects/call.h"
#include "record/walk.h"

namespace penstock::record {

using python::PyRef;
using python::text_of;

namespace {

PyObject* function_dict(PyObject* function) {
  return reinterpret_cast<PyFunctionObject*>(function)->func_dict;
}

bool has_attributes(PyObject* function) {
  PyObject* dict = function_dict(function);
  return dict != nullptr && PyDict_GET_SIZE(dict) > 0;
}

/// True where annotations are made on demand, from Python 3.14 on.
bool makes_annotations(PyObject* function) {
  const PyRef maker = PyRef::steal(PyObject_GetAttrString(function, "__annotate__"));
  PyErr_Clear();
  return maker && maker.get() != Py_None;
}

/// True where the call names, of what is copied, what it does without.
bool is_default(std::string_view name, PyObject* value) {
  PyObject* functools = PyDict_GetItemString(PyImport_GetModuleDict(), "functools");
  PyObject* usual = nullptr;
  if (functools != nullptr && (name == "assigned" || name == "updated")) {
    PyObject* dict = PyModule_GetDict(functools);
    usual =
        PyDict_GetItemString(dict, name == "assigned" ? "WRAPPER_ASSIGNMENTS" : "WRAPPER_UPDATES");
  }
  return usual != nullptr && usual == value;
}

/// Writes down that the attribute of the wrapper is what it is now.
void keep(Walk& walk, ObjectId in, Operand wrapper, PyObject* name, Operand value) {
  walk.effects.add(Restore::Kind::set_attribute, wrapper, text_of(name), {}, value);
  walk.objects.dict_store(in, name, value.shadow);
}

void copied(Walk& walk, Operand wrapper, Operand wrapped) {
  const SourceId source = wrapped.shadow.source();
  const auto attribute = [&](PyObject* name, PyObject* value) {
    const bool of_old = source != kNoSource;
    return Operand{of_old ? Shadow::sourced(walk.recorder.guards().source(SourceKind::attribute,
                                                                          source, text_of(name)))
                          : Shadow::constant(),
                   value};
  };
  const ObjectId members = walk.objects.contents(wrapper);
  const char* const copied_names[] = {"__module__", "__name__", "__qualname__", "__doc__"};
  for (const char* text : copied_names) {
    const PyRef name = PyRef::steal(PyUnicode_InternFromString(text));
    const PyRef value = PyRef::steal(PyObject_GetAttr(wrapper.object, name.get()));
    if (value) keep(walk, members, wrapper, name.get(), attribute(name.get(), value.get()));
  }
  const ObjectId dict = walk.objects.instance_dict(wrapper);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(function_dict(wrapper.object), &at, &key, &value);) {
    const bool itself = text_of(key) == "__wrapped__";
    keep(walk, dict, wrapper, key, itself ? wrapped : attribute(key, value));
  }
  PyErr_Clear();
}

}  // namespace

std::optional<bool> model_update_wrapper(Walk& walk, FrameShadow& f, Operand function,
                                         const std::vector<Operand>& positional,
                                         const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                         int pops) {
  if (positional.empty() || positional.size() > 2) return std::nullopt;
  const Operand wrapper = positional[0];
  Operand wrapped = positional.size() > 1 ? positional[1] : Operand{};
  for (const auto& [name, operand] : keywords) {
    const std::string text = text_of(name);
    if (text == "wrapped") {
      wrapped = operand;
    } else if (!is_default(text, operand.object)) {
      return std::nullopt;
    }
  }
  const bool functions = wrapped.object != nullptr && PyFunction_Check(wrapped.object) &&
                         PyFunction_Check(wrapper.object);
  if (!functions || !wrapper.shadow.is(Shadow::Kind::fresh) || has_attributes(wrapper.object))
    return std::nullopt;
  const bool old = wrapped.shadow.is(Shadow::Kind::sourced);
  if (!old && !wrapped.shadow.is(Shadow::Kind::fresh)) return std::nullopt;
  // Annotations are objects, which the two functions would share.
  PyObject* annotations = reinterpret_cast<PyFunctionObject*>(wrapped.object)->func_annotations;
  const bool annotated =
      annotations != nullptr && !(PyDict_Check(annotations) && PyDict_GET_SIZE(annotations) == 0);
  if (annotated || makes_annotations(wrapped.object) || (!old && has_attributes(wrapped.object)))
    return std::nullopt;
  if (!consume_function(walk, wrapped)) return false;
  f.expected.function = function.object;
  f.expected.native = true;
  f.finish = [pops, wrapper, wrapped](Walk& walk, FrameShadow& f) {
    copied(walk, wrapper, wrapped);
    f.pop(pops);
    f.push(wrapper.shadow);
  };
  return true;
}

}  // namespace penstock::record
