// Calls that name an op: functions and methods of torch's, and torch.ops.aten.NAME and
// torch.ops.aten.NAME.OVERLOAD, the dispatcher's own.

#include <cstring>

#include "python/literal.h"
#include "record/objects/backward.h"
#include "record/objects/torch_call.h"
#include "record/walk.h"

namespace penstock::record {

using python::PyRef;

namespace {

bool is_instance_of_ops(PyObject* object, const char* type) {
  return std::strcmp(Py_TYPE(object)->tp_name, type) == 0 &&
         python::qualified_name(reinterpret_cast<PyObject*>(Py_TYPE(object))) ==
             std::string("torch._ops.") + type;
}

/// An attribute that is a str; empty when there is none.
std::string text_attribute(PyObject* object, const char* name) {
  PyRef value = PyRef::steal(PyObject_GetAttrString(object, name));
  if (!value) PyErr_Clear();
  return value && PyUnicode_Check(value.get()) ? python::text_of(value.get()) : std::string();
}

constexpr std::string_view kNamespace = "aten::";

}  // namespace

bool call_op(Walk& walk, FrameShadow& f, const policy::KnownFunction& function, PyObject* object,
             std::vector<Operand>& positional, Keywords& keywords, int pops) {
  return makes_tensor(walk, f, keywords, [&] {
    if (function.method) return tensor_method(walk, f, function.name, positional, keywords, pops);
    TorchTarget target{"call_function", function.name, function.shown, function.name, false};
    target.callable = object;
    return torch_call(walk, f, target, positional, keywords, pops);
  });
}

std::optional<bool> call_operator(Walk& walk, FrameShadow& f, Operand callable,
                                  const std::vector<Operand>& positional,
                                  const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                  int pops) {
  const bool overload = is_instance_of_ops(callable.object, "OpOverload");
  if (!overload && !is_instance_of_ops(callable.object, "OpOverloadPacket")) return std::nullopt;
  // "aten::add.Tensor", "aten::relu"; of a packet "aten::add".
  const std::string full =
      text_attribute(callable.object, overload ? "_name" : "_qualified_op_name");
  if (!full.starts_with(kNamespace)) return std::nullopt;
  const std::string name = full.substr(kNamespace.size());
  const std::size_t dot = name.find('.');
  TorchTarget target;
  target.op = name.substr(0, dot);
  target.name = target.op;
  target.target = "torch.ops.aten." + target.op;
  if (overload) {
    target.overload = dot == std::string::npos ? std::string() : name.substr(dot + 1);
    target.target += "." + (target.overload->empty() ? "default" : *target.overload);
  }
  if (!walk.facts.consume_identity(callable)) return false;
  target.callable = callable.object;
  return torch_call(walk, f, target, positional, keywords, pops);
}

}  // namespace penstock::record
