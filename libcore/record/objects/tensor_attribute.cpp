// Attributes of tensors: facts of their types, methods, views that are written as attributes, and
// what the program keeps in a tensor's dict.

#include "python/literal.h"
#include "record/objects/attribute.h"
#include "record/objects/backward.h"
#include "record/objects/number.h"
#include "record/objects/torch_call.h"
#include "record/objects/torch_tensor.h"
#include "record/walk.h"
#include "torch/exchanged_members.h"
#include "torch/methods.h"

namespace penstock::record {

using python::PyRef;
using python::text_of;

namespace {

/// True for a name to which the tensor's class gives a meaning.
bool is_of_class(Operand tensor, PyObject* name) {
  return _PyType_Lookup(Py_TYPE(tensor.object), name) != nullptr;
}

/// Whether `value` is a view of the whole of `tensor`, as `tensor.data` gives it: `t.data -= x`
/// stores that behind the write, and the tensor is what it was.
bool is_view_of_whole(Walk& walk, Operand tensor, Operand value) {
  if (!value.shadow.is(Shadow::Kind::node) || !walk.recorder.bridge().is_plain_tensor(value.object))
    return false;
  const auto stored = argument(walk, value), whole = argument(walk, tensor);
  if (!stored || !whole) return false;
  const auto *view = stored->as<Argument::Value>(), *of = whole->as<Argument::Value>();
  if (view == nullptr || of == nullptr || !is_same_memory(walk.recorder, view->id, of->id))
    return false;
  TensorType shown = walk.recorder.value(view->id).type, type = walk.recorder.value(of->id).type;
  shown.storage = type.storage;
  shown.requires_grad = type.requires_grad;
  return shown == type;
}

/// `grad` and `grad_fn`.
bool gradient_part(Walk& walk, FrameShadow& f, Operand tensor, const std::string& name,
                   const AttributeUse& use) {
  if (name == "grad_fn" && tensor.shadow.is(Shadow::Kind::node) &&
      walk.recorder.bridge().requires_grad(tensor.object))
    return walk.verdict.broke(Code::PS0307, "what torch recorded for gradients is looked at");
  const bool made = walk.gradients.is_made_leaf(tensor.object);
  if (!made && !tensor.shadow.is(Shadow::Kind::sourced))
    return push_attribute(walk, f, Shadow::constant(), use);
  if (name == "grad") {
    const auto gradient = gradient_attribute(walk, tensor);
    return gradient && push_attribute(walk, f, *gradient, use);
  }
  const SourceId source =
      walk.recorder.guards().source(SourceKind::attribute, tensor.shadow.index, name);
  return push_attribute(walk, f, Shadow::sourced(source), use);
}

}  // namespace

bool is_tensor_method(Walk& walk, PyObject* name) {
  PyObject* found = _PyType_Lookup(walk.recorder.bridge().tensor_type(), name);
  return found != nullptr && PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_METHOD_DESCRIPTOR);
}

void guard_tensor_method(Walk& walk, Operand tensor, PyObject* name) {
  PyObject* found = _PyType_Lookup(Py_TYPE(tensor.object), name);
  if (!torch::is_member_of_torch(found, text_of(name))) walk.facts.guard_type_version(tensor);
}

bool tensor_attribute(Walk& walk, FrameShadow& f, Operand tensor, PyObject* name,
                      const AttributeUse& use) {
  const std::string text = text_of(name);
  if (!walk.recorder.bridge().is_plain_tensor(tensor.object)) {
    return walk.verdict.broke(Code::PS0308,
                              std::string("a tensor subclass, ") + Py_TYPE(tensor.object)->tp_name);
  }
  const CallRule& rule = walk.callables.of_tensor(text);
  if (leaves_to_python(rule.action) && is_of_class(tensor, name) && !is_tensor_method(walk, name))
    return walk.verdict.broke(rule, text);
  if (use.test && is_of_class(tensor, name)) {
    return consume_tensor_type(walk, tensor) && push_attribute(walk, f, Shadow::constant(), use);
  }
  if ((text == "shape" || text == "ndim") && is_of_grid(walk, tensor)) return false;
  if (text == "dtype" || text == "device" || text == "ndim" || text == "requires_grad" ||
      text == "is_leaf") {
    if (!tensor.shadow.is(Shadow::Kind::sourced))
      return push_attribute(walk, f, Shadow::constant(), use);
    const SourceId source =
        walk.recorder.guards().source(SourceKind::attribute, tensor.shadow.index, text);
    return push_attribute(walk, f, Shadow::sourced(source), use);
  }
  if (text == "shape") {
    const bool followed =
        tensor.shadow.is(Shadow::Kind::sourced) || walk.sizes.has_symbolic_sizes(tensor);
    return followed ? tensor_shape(walk, f, tensor, use.pops, use.method)
                    : push_attribute(walk, f, Shadow::constant(), use);
  }
  if (is_tensor_method(walk, name)) {
    guard_tensor_method(walk, tensor, name);
    f.finish = [pops = use.pops, of = tensor.shadow](Walk& walk, FrameShadow& f) {
      f.pop(pops);
      f.push(walk.objects.fresh(f.object(), {Shadow::constant(), of}));
    };
    return true;
  }
  if (walk.is_type_fact(text)) {
    std::optional<bool> done;
    if (!tell_size(walk, f, text, {tensor}, use.pops, done)) return false;
    return consume_tensor_type(walk, tensor) && push_attribute(walk, f, Shadow::constant(), use);
  }
  const std::string_view op = text == "data" ? "data" : torch::op_of_attribute(text);
  if (!op.empty()) {
    TorchTarget target{"call_function", "getattr", "builtins.getattr", std::string(op), false};
    target.syntax.attribute = text.c_str();
    return torch_call(walk, f, target, std::vector<Operand>{tensor}, {}, use.pops);
  }
  if (text == "grad" || text == "grad_fn") return gradient_part(walk, f, tensor, text, use);
  if (is_of_class(tensor, name))
    return walk.verdict.broke(Code::PS0307,
                              "the attribute '" + text + "' of a tensor is not followed");
  return own_tensor_attribute(walk, f, tensor, name, use);
}

bool own_tensor_attribute(Walk& walk, FrameShadow& f, Operand tensor, PyObject* name,
                          const AttributeUse& use) {
  const ObjectId dict = walk.objects.instance_dict(tensor);
  if (dict == kNoSource)
    return walk.verdict.broke(Code::PS0303, "the dict of a tensor is not followed");
  const ObjectShadow& known = walk.objects.object(dict);
  PyObject* value = PyDict_GetItemWithError(known.object.get(), name);
  PyErr_Clear();
  const bool is_known = known.keys && PyDict_Contains(known.keys.get(), name) == 1;
  // Another call may pass the same tensor twice, or have C code set what a new tensor has.
  if (!is_known && walk.effects.is_set_on_tensor(text_of(name))) {
    return walk.verdict.broke(
        Code::PS0305,
        "the attribute '" + text_of(name) + "' is read of a tensor after it was set on another");
  }
  if (!is_known && value != nullptr && tensor.shadow.is(Shadow::Kind::node)) {
    return walk.verdict.broke(Code::PS0307,
                              "the attribute '" + text_of(name) + "' of a tensor is not followed");
  }
  walk.facts.guard_type_version(tensor);
  const Shadow found = walk.objects.dict_value(dict, name, value);
  return value == nullptr ? lacks_attribute(walk, f, tensor, name, use)
                          : push_attribute(walk, f, found, use);
}

bool store_tensor_attribute(Walk& walk, FrameShadow& f, Operand tensor, PyObject* name,
                            Operand value, int pops, bool call) {
  const std::string text = text_of(name);
  if (!walk.recorder.bridge().is_plain_tensor(tensor.object)) {
    return walk.verdict.broke(Code::PS0308,
                              std::string("a tensor subclass, ") + Py_TYPE(tensor.object)->tp_name);
  }
  if (text == "grad") return store_gradient(walk, f, tensor, value, pops, call);
  if (text == "requires_grad" && value.object == Py_True && can_become_leaf(walk, tensor))
    return walk.facts.consume(value) &&
           makes_leaf(f, tensor, pops, call ? std::optional(Shadow::constant()) : std::nullopt);
  if (text == "data" && is_view_of_whole(walk, tensor, value)) {
    f.finish = [pops, call](Walk&, FrameShadow& f) {
      f.pop(pops);
      if (call) f.push(Shadow::constant());
    };
    return true;
  }
  if (is_of_class(tensor, name))
    return walk.verdict.broke(Code::PS0305, "the attribute '" + text + "' of a tensor is set");
  walk.effects.set_on_tensor(text);
  return store_generic_attribute(walk, f, tensor, name, value, pops, call);
}

}  // namespace penstock::record
