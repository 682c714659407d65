// Attributes of tensors: facts of their types, methods, views that are written as attributes, and what the
// program keeps in a tensor's dict.

#include "capture/literal.h"
#include "capture/torch/torch_ops.h"
#include "capture/walk.h"

namespace penstock::capture {

using python::PyRef;

namespace {

/// True for a name to which the tensor's class gives a meaning.
bool is_of_class(Operand tensor, PyObject* name) { return _PyType_Lookup(Py_TYPE(tensor.object), name) != nullptr; }

}  // namespace

bool Walk::is_tensor_method(PyObject* name) {
  PyObject* found = _PyType_Lookup(recorder.bridge().tensor_type(), name);
  return found != nullptr && PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_METHOD_DESCRIPTOR);
}

bool Walk::tensor_attribute(FrameShadow& f, Operand tensor, PyObject* name, const AttributeUse& use) {
  const std::string text = text_of(name);
  if (!recorder.bridge().is_plain_tensor(tensor.object)) {
    return verdict.broke(Code::PS0308, std::string("a tensor subclass, ") + Py_TYPE(tensor.object)->tp_name);
  }
  if (use.test && is_of_class(tensor, name)) {
    return consume_tensor_type(tensor) && push_attribute(f, Shadow::constant(), use);
  }
  if (text == "dtype" || text == "device" || text == "ndim" || text == "requires_grad") {
    if (!tensor.shadow.is(Shadow::Kind::sourced)) return push_attribute(f, Shadow::constant(), use);
    const SourceId source =
        recorder.source(SourceKind::attribute, tensor.shadow.index, text);
    return push_attribute(f, Shadow::sourced(source), use);
  }
  if (text == "shape") {
    const bool followed = tensor.shadow.is(Shadow::Kind::sourced) || sizes.has_symbolic_sizes(tensor);
    return followed ? tensor_shape(f, tensor, use.pops, use.method) : push_attribute(f, Shadow::constant(), use);
  }
  if (is_tensor_method(name)) {
    f.finish = [pops = use.pops, of = tensor.shadow](Walk& walk, FrameShadow& f) {
      f.pop(pops);
      f.push(walk.objects.fresh(f.object(), {Shadow::constant(), of}));
    };
    return true;
  }
  if (is_type_fact(text)) {
    std::optional<bool> done;
    if (!tell_size(f, text, {tensor}, use.pops, done)) return false;
    return consume_tensor_type(tensor) && push_attribute(f, Shadow::constant(), use);
  }
  static constexpr std::pair<const char*, const char*> kViews[] = {
      {"T", "numpy_T"}, {"mT", "mT"}, {"H", "matrix_H"}, {"mH", "mH"}, {"real", "real"},
      {"imag", "imag"}};
  for (const auto& [attribute, op] : kViews) {
    if (text != attribute) continue;
    TorchTarget target{"call_function", "getattr", "builtins.getattr", op, false};
    target.syntax.attribute = attribute;
    return torch_call(f, target, std::vector<Operand>{tensor}, {}, use.pops);
  }
  if (text == "grad" || text == "grad_fn") {
    if (!tensor.shadow.is(Shadow::Kind::sourced)) return push_attribute(f, Shadow::constant(), use);
    const SourceId source = recorder.source(SourceKind::attribute, tensor.shadow.index, text);
    return push_attribute(f, Shadow::sourced(source), use);
  }
  if (is_of_class(tensor, name)) return verdict.broke(Code::PS0307, "the attribute '" + text + "' of a tensor is not followed");
  return own_tensor_attribute(f, tensor, name, use);
}

bool Walk::own_tensor_attribute(FrameShadow& f, Operand tensor, PyObject* name, const AttributeUse& use) {
  const ObjectId dict = objects.instance_dict(tensor);
  if (dict == kNoSource) return verdict.broke(Code::PS0303, "the dict of a tensor is not followed");
  const ObjectShadow& known = objects.object(dict);
  PyObject* value = PyDict_GetItemWithError(known.object.get(), name);
  PyErr_Clear();
  const bool is_known = known.keys && PyDict_Contains(known.keys.get(), name) == 1;
  // Another call may pass the same tensor twice, or have C code set what a new tensor has.
  if (!is_known && effects.is_set_on_tensor(text_of(name))) {
    return verdict.broke(Code::PS0305, "the attribute '" + text_of(name) + "' is read of a tensor after it was set on another");
  }
  if (!is_known && value != nullptr && tensor.shadow.is(Shadow::Kind::node)) {
    return verdict.broke(Code::PS0307, "the attribute '" + text_of(name) + "' of a tensor is not followed");
  }
  facts.guard_type_version(tensor);
  const Shadow found = objects.dict_value(dict, name, value);
  return value == nullptr ? lacks_attribute(f, tensor, name, use) : push_attribute(f, found, use);
}

bool Walk::store_tensor_attribute(FrameShadow& f, Operand tensor, PyObject* name, Operand value, int pops, bool call) {
  const std::string text = text_of(name);
  if (!recorder.bridge().is_plain_tensor(tensor.object)) {
    return verdict.broke(Code::PS0308, std::string("a tensor subclass, ") + Py_TYPE(tensor.object)->tp_name);
  }
  if (is_of_class(tensor, name)) return verdict.broke(Code::PS0305, "the attribute '" + text + "' of a tensor is set");
  effects.set_on_tensor(text);
  return store_generic_attribute(f, tensor, name, value, pops, call);
}

}  // namespace penstock::capture
