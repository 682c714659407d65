// getattr(object, name[, default]) and hasattr(object, name) of modules and classes, and the children of a
// torch.nn.Module.

#include "capture/literal.h"
#include "capture/walk.h"

namespace penstock::capture {

using python::PyRef;

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

bool Walk::named_attribute(FrameShadow& f, Operand self, PyObject* name, const AttributeUse& use) {
  if (!consume_identity(self)) return false;
  const std::string text = text_of(name);
  const SourceId source = self.shadow.source();
  PyRef value = PyRef::steal(PyObject_GetAttr(self.object, name));
  PyErr_Clear();
  if (!value) {
    if (source != kNoSource) add_guard(GuardKind::lacks_attribute, source, text);
    return push_attribute(f, use.fallback, use);
  }
  if (source == kNoSource) return push_attribute(f, Shadow::constant(), use);
  if (use.test) add_guard(GuardKind::has_attribute, source, text);
  return push_attribute(f, Shadow::sourced(recorder_.source(SourceKind::attribute, source, text)), use);
}

}  // namespace penstock::capture
