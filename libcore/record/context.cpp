#include "record/context.h"

#include "python/literal.h"
#include "record/known_values.h"
#include "record/walk.h"
#include "torch/generator.h"
#include "torch/state.h"

namespace penstock::record {

using python::PyRef;

Context::Context(Walk& walk, bool runs) : walk_(walk), runs_(runs) {
  if (for_backend_) random_state_ = torch::generator_state(torch::default_generator());
}

void Context::guard_grad_mode() {
  if (grad_guarded_) return;
  grad_guarded_ = true;
  grad_at_start_ = torch::grad_enabled();
  walk_.facts.add_guard(GuardKind::grad_mode, kNoSource, grad_at_start_);
  if (autocast_) guard_autocast();
}

void Context::guard_autocast() {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C");
  const SourceId holder = walk_.recorder.guards().source(SourceKind::module, kNoSource, "torch._C");
  const char* device = torch::cast_device_name(autocast_->device);
  for (const char* name : {"is_autocast_enabled", "get_autocast_dtype"}) {
    const PyRef function = PyRef::steal(PyObject_GetAttrString(module, name));
    const PyRef answer =
        function ? PyRef::steal(PyObject_CallFunction(function.get(), "s", device)) : PyRef();
    PyRef asked = PyRef::steal(Py_BuildValue("((s)())", device));
    auto literal = answer && asked ? python::literal_of(answer.get()) : std::nullopt;
    if (!literal) {
      PyErr_Clear();
      return walk_.verdict.spoil("autocasting cannot be guarded");
    }
    asked = walk_.facts.asked_again(function.get(), std::move(asked));
    walk_.facts.add_guard(GuardKind::global_state,
                          walk_.recorder.guards().source(SourceKind::attribute, holder, name),
                          std::move(*literal), asked.get());
  }
}

bool Context::nests_autocast(int step) {
  if (autocast_depth_ + step < 0) return false;
  const FrameShadow& root = walk_.root();
  if (autocast_depth_ == 0) autocast_began_ = {root.frame->code(), root.instruction->offset};
  autocast_depth_ += step;
  return true;
}

std::optional<RaisePlace> Context::open_autocast() const {
  return autocast_depth_ > 0 ? std::optional(autocast_began_) : std::nullopt;
}

bool Context::sets_grad_mode(bool enabled) {
  guard_grad_mode();
  if (enabled == torch::grad_enabled()) return true;
  const FrameShadow& root = walk_.root();
  last_grad_change_ = {root.frame->code(), root.instruction->offset};
  // What runs the graph's calls must see it; a graph that is compiled knows no gradients.
  if (for_backend_) {
    walk_.recorder.add_call({"call_function",
                             "_set_grad_enabled",
                             "torch._C._set_grad_enabled",
                             {Argument(enabled)},
                             {},
                             walk_.stack(),
                             {}});
  }
  // Entries are judged by the mode at their start: what asks for gradients must not hide behind it.
  if (enabled && !grad_at_start_) {
    walk_.verdict.spoil("gradients are turned on in the segment", last_grad_change_);
  }
  return true;
}

std::optional<RaisePlace> Context::grad_mode_change() const {
  return grad_guarded_ && torch::grad_enabled() != grad_at_start_ ? std::optional(last_grad_change_)
                                                                  : std::nullopt;
}

bool Context::guard_setting(std::string_view name, std::string_view holder_name) {
  const std::string text(name), of(holder_name);
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), of.c_str());
  PyRef answer = module == nullptr
                     ? PyRef()
                     : PyRef::steal(PyObject_CallMethod(module, text.c_str(), nullptr));
  if (!answer) PyErr_Clear();
  auto literal = answer ? python::literal_of(answer.get()) : std::nullopt;
  if (!literal)
    return walk_.verdict.broke(Code::PS0306,
                               "what " + of + "." + text + " answers is not understood");
  const SourceId holder = walk_.recorder.guards().source(SourceKind::module, kNoSource, of);
  walk_.facts.add_guard(GuardKind::global_state,
                        walk_.recorder.guards().source(SourceKind::attribute, holder, text),
                        std::move(*literal));
  return true;
}

bool Context::guard_default_dtype(const PlannedNode& node, const TensorType& result) {
  if (!is_floating(result.dtype) && !is_complex(result.dtype)) return true;
  for (ValueId id : node.values) {
    const DType dtype = walk_.recorder.value(id).type.dtype;
    if (is_floating(dtype) || is_complex(dtype)) return true;
  }
  for (const NamedArgument& argument : node.args) {
    if (argument.value.as<DType>() != nullptr) return true;
  }
  return guard_setting("get_default_dtype");
}

void Context::guard_settings_of(const PlannedNode& node, const TensorType& result) {
  if (!guard_default_dtype(node, result))
    walk_.verdict.spoil("the default dtype cannot be guarded");
  if (!leaves_memory_as_it_is(node.op)) return;
  if (!guard_setting("_get_deterministic_algorithms") || torch::deterministic_algorithms())
    walk_.verdict.spoil("torch fills memory that is not asked to be filled");
}

std::optional<RaisePlace> Context::lost_variable() const {
  for (const OpenContext& variable : variables_) {
    if (Py_REFCNT(variable.token.get()) <= 2)
      return variable.place;  // held here, and as an object that was made
  }
  return std::nullopt;
}

}  // namespace penstock::record
