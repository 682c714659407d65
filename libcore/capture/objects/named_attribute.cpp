// getattr(object, name[, default]) and hasattr(object, name), where no Python code runs.

#include "capture/literal.h"
#include "capture/walk.h"

namespace penstock::capture {

using python::PyRef;

namespace {

bool is_module_instance(PyObject* object) {
  for (const char* table : {"_parameters", "_buffers", "_modules"}) {
    PyRef key = PyRef::steal(PyUnicode_InternFromString(table));
    PyRef dict = PyRef::steal(PyObject_GenericGetDict(object, nullptr));
    if (!dict || PyDict_GetItemWithError(dict.get(), key.get()) == nullptr) {
      PyErr_Clear();
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Shadow> Walk::module_child(Operand self, PyObject* name, bool& present) {
  const ObjectId own = instance_dict(self);
  PyObject* attributes = object(own).object.get();
  for (const char* table : {"_parameters", "_buffers", "_modules"}) {
    PyRef key = PyRef::steal(PyUnicode_InternFromString(table));
    PyObject* dict = PyDict_GetItemWithError(attributes, key.get());
    if (dict == nullptr || !PyDict_Check(dict)) return std::nullopt;
    const Operand operand{dict_value(own, key.get(), dict), dict};
    PyObject* value = PyDict_GetItemWithError(dict, name);
    const Shadow found = dict_value(dict_contents(operand), name, value);
    present = value != nullptr;
    if (present) return found;
  }
  return Shadow::null();
}

bool Walk::known_attribute(FrameShadow& f, const std::vector<Operand>& arguments, bool test,
                           int pops) {
  const Operand self = arguments[0];
  PyObject* name = arguments[1].object;
  const bool has_default = !test && arguments.size() > 2;
  auto absent = [&] {
    return gives(f, pops, has_default ? arguments[2].shadow : Shadow::constant());
  };
  auto found = [&](Shadow shadow) { return gives(f, pops, test ? Shadow::constant() : shadow); };
  if (is_tensor(self.object)) {
    if (test) return consume_tensor_type(self) && gives_constant(f, pops);
    return broke(Code::PS0306, "getattr of a tensor");
  }
  const std::string text = text_of(name);
  const SourceId source = self.shadow.source();
  if (PyModule_Check(self.object) || PyType_Check(self.object)) {
    if (!consume_identity(self)) return false;
    PyRef value = PyRef::steal(PyObject_GetAttr(self.object, name));
    PyErr_Clear();
    if (!value) {
      if (source != kNoSource) add_guard(GuardKind::lacks_attribute, source, text);
      return absent();
    }
    if (source == kNoSource) return found(Shadow::constant());
    if (test) add_guard(GuardKind::has_attribute, source, text);
    return found(Shadow::sourced(recorder_.source(SourceKind::attribute, source, text)));
  }
  if (PyMethod_Check(self.object) && (text == "__func__" || text == "__self__")) {
    const Operand part = method_part(self, text == "__func__" ? 0 : 1);
    return found(part.shadow);
  }
  if (!consume_type(self)) return false;
  guard_type_version(self);
  PyTypeObject* type = Py_TYPE(self.object);
  PyObject* descriptor = _PyType_Lookup(type, name);
  const bool data = descriptor != nullptr && Py_TYPE(descriptor)->tp_descr_set != nullptr;
  if (data) return broke(Code::PS0306, "getattr or hasattr of a property");
  const ObjectId dict = instance_dict(self);
  if (dict != kNoSource) {
    PyObject* value = PyDict_GetItemWithError(object(dict).object.get(), name);
    PyErr_Clear();
    const Shadow own = dict_value(dict, name, value);
    if (value != nullptr) return found(own);
  }
  if (descriptor != nullptr) {
    if (test) return gives_constant(f, pops);
    const bool plain = PyType_HasFeature(Py_TYPE(descriptor), Py_TPFLAGS_METHOD_DESCRIPTOR);
    if (!plain) return gives(f, pops, class_attribute(self, name));
    return gives_fresh(f, pops, {class_attribute(self, name), self.shadow});
  }
  PyRef special = PyRef::steal(PyUnicode_InternFromString("__getattr__"));
  if (_PyType_Lookup(type, special.get()) == nullptr) return absent();
  if (!is_module_instance(self.object)) {
    return broke(Code::PS0306, "getattr or hasattr of an object with a __getattr__");
  }
  bool present = false;
  auto child = module_child(self, name, present);
  if (!child) return broke(Code::PS0306, "getattr of a module without tables");
  f.expected.function = _PyType_Lookup(type, special.get());
  f.expected.native = true;
  return present ? found(*child) : absent();
}

}  // namespace penstock::capture
