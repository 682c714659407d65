#include "torch/state.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "python/object.h"
#include "torch/library.h"
#include "torch/overridden_ops.h"

namespace penstock::torch {

using python::PyRef;

namespace {

/// c10::impl::PODLocalDispatchKeySet: keys included and excluded in this thread, as differences
/// from the ordinary state.
using LocalKeys = std::array<std::uint64_t, 2>;

/// What torch exports about the state of a thread.
struct StateAbi {
  bool (*grad_enabled)() = nullptr;
  bool (*inference_mode)() = nullptr;
  std::int64_t (*function_modes)() = nullptr;
  void* core = nullptr;        ///< libc10: local_keys() finds each thread's record in it
  LocalKeys inference_keys{};  ///< what inference mode alone sets
  LocalKeys backward_keys{};   ///< and what the engine sets around a node of Python's
  LocalKeys unseen_keys{};     ///< and what keeps ops from dispatch modes, which detach() asks for
  /// By CastDevice: the bits that autocasting there changes; zeros: not known.
  std::array<LocalKeys, 2> autocast_keys{};
};

PyObject* imported_torch() {
  return PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
}

/// This thread's record; null where torch does not export it.
LocalKeys* local_keys(const StateAbi& abi) {
  // A symbol of thread-local memory resolves to the place in the thread that asks.
  thread_local LocalKeys* keys = static_cast<LocalKeys*>(
      abi.core == nullptr ? nullptr : dlsym(abi.core, "_ZN3c104impl26raw_local_dispatch_key_setE"));
  return keys;
}

/// Turns inference mode on or off until the context that it gives is left; null: it could not.
PyRef enter_inference(PyObject* torch, bool on) {
  const PyRef internals = PyRef::steal(PyObject_GetAttrString(torch, "_C"));
  PyRef mode = internals ? PyRef::steal(PyObject_CallMethod(internals.get(), "_InferenceMode", "O",
                                                            on ? Py_True : Py_False))
                         : PyRef();
  const PyRef entered =
      mode ? PyRef::steal(PyObject_CallMethod(mode.get(), "__enter__", nullptr)) : PyRef();
  PyErr_Clear();
  return entered ? std::move(mode) : PyRef();
}

/// Keeps a Python error that is set.
void leave_inference(PyObject* mode) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyRef::steal(PyObject_CallMethod(mode, "__exit__", "OOO", Py_None, Py_None, Py_None));
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

/// Enters inference mode for a moment to see which keys it sets.
void learn_inference_keys(StateAbi& abi, PyObject* torch) {
  const PyRef mode = enter_inference(torch, true);
  if (!mode) return;
  if (const LocalKeys* keys = local_keys(abi)) abi.inference_keys = *keys;
  leave_inference(mode.get());
}

/// Keeps dispatch modes out for a moment to see which key that sets.
void learn_unseen_keys(StateAbi& abi, PyObject* torch) {
  const LocalKeys* keys = local_keys(abi);
  const PyRef internals = PyRef::steal(PyObject_GetAttrString(torch, "_C"));
  const PyRef set = internals ? PyRef::steal(PyObject_GetAttrString(
                                    internals.get(), "_dispatch_tls_set_dispatch_key_excluded"))
                              : PyRef();
  if (keys != nullptr && *keys == LocalKeys{} && set &&
      PyRef::steal(PyObject_CallFunction(set.get(), "sO", "Python", Py_True))) {
    abi.unseen_keys = *keys;
    PyRef::steal(PyObject_CallFunction(set.get(), "sO", "Python", Py_False));
  }
  PyErr_Clear();
}

LocalKeys differences(const LocalKeys& a, const LocalKeys& b) {
  return {a[0] ^ b[0], a[1] ^ b[1]};
}

constexpr std::array kCastDevices = {CastDevice::cpu, CastDevice::gpu};

/// Turns autocasting on or off for a moment to see which keys that changes.
void learn_autocast_keys(StateAbi& abi, PyObject* torch, CastDevice device) {
  const LocalKeys* keys = local_keys(abi);
  if (keys == nullptr) return;
  const char* name = cast_device_name(device);
  const PyRef was = PyRef::steal(PyObject_CallMethod(torch, "is_autocast_enabled", "s", name));
  const LocalKeys before = *keys;
  const PyRef turned =
      was ? PyRef::steal(PyObject_CallMethod(torch, "set_autocast_enabled", "sO", name,
                                             was.get() == Py_True ? Py_False : Py_True))
          : PyRef();
  const LocalKeys meanwhile = *keys;
  const PyRef back =
      turned
          ? PyRef::steal(PyObject_CallMethod(torch, "set_autocast_enabled", "sO", name, was.get()))
          : PyRef();
  PyErr_Clear();
  if (back && *keys == before)
    abi.autocast_keys[static_cast<std::size_t>(device)] = differences(before, meanwhile);
}

template <class Function>
void find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

StateAbi load(PyObject* torch) {
  StateAbi abi;
  if (void* library = torch_library(torch, "libtorch_cpu.so")) {
    find(library, abi.grad_enabled, "aoti_torch_grad_mode_is_enabled");
    find(library, abi.function_modes, "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv");
  }
  abi.core = torch_library(torch, "libc10.so");
  if (abi.core != nullptr) {
    find(abi.core, abi.inference_mode, "_ZN3c1013InferenceMode10is_enabledEv");
    learn_inference_keys(abi, torch);
    learn_unseen_keys(abi, torch);
    for (const CastDevice device : kCastDevices) learn_autocast_keys(abi, torch, device);
  }
  return abi;
}

/// Null while torch is not imported.
StateAbi* state_abi() {
  static StateAbi abi;
  static bool loaded = false;
  if (loaded) return &abi;
  PyObject* torch = imported_torch();
  if (torch == nullptr) return nullptr;
  loaded = true;
  abi = load(torch);
  return &abi;
}

}  // namespace

bool grad_enabled() {
  const StateAbi* abi = state_abi();
  if (abi == nullptr) return true;
  if (abi->grad_enabled != nullptr) return abi->grad_enabled();
  const PyRef answer =
      PyRef::steal(PyObject_CallMethod(imported_torch(), "is_grad_enabled", nullptr));
  if (!answer) PyErr_Clear();
  return answer.get() != Py_False;
}

bool inference_mode() {
  const StateAbi* abi = state_abi();
  if (abi == nullptr) return false;
  if (abi->inference_mode != nullptr) return abi->inference_mode();
  const PyRef answer =
      PyRef::steal(PyObject_CallMethod(imported_torch(), "is_inference_mode_enabled", nullptr));
  if (!answer) PyErr_Clear();
  return answer.get() == Py_True;
}

bool ops_run_plainly() {
  const StateAbi* abi = state_abi();
  if (abi == nullptr || abi->function_modes == nullptr || abi->inference_mode == nullptr) {
    return false;
  }
  const LocalKeys* keys = local_keys(*abi);
  if (keys == nullptr || abi->function_modes() != 0 || ops_are_overridden()) return false;
  if (*keys == LocalKeys{}) return true;
  return abi->inference_mode() && *keys == abi->inference_keys;
}

bool state_is_known() {
  const StateAbi* abi = state_abi();
  return abi != nullptr && abi->function_modes != nullptr && abi->inference_mode != nullptr &&
         local_keys(*abi) != nullptr;
}

const char* cast_device_name(CastDevice device) {
  return device == CastDevice::cpu ? "cpu" : "cuda";
}

std::optional<CastDevice> autocasting_device() {
  const StateAbi* abi = state_abi();
  if (abi == nullptr || abi->function_modes == nullptr || abi->inference_mode == nullptr)
    return std::nullopt;
  const LocalKeys* keys = local_keys(*abi);
  if (keys == nullptr || *keys == LocalKeys{} || abi->function_modes() != 0 || ops_are_overridden())
    return std::nullopt;
  for (const CastDevice device : kCastDevices) {
    const LocalKeys& own = abi->autocast_keys[static_cast<std::size_t>(device)];
    const LocalKeys rest = differences(*keys, own);
    if (own != LocalKeys{} &&
        (rest == LocalKeys{} || (abi->inference_mode() && rest == abi->inference_keys)))
      return device;
  }
  return std::nullopt;
}

unsigned turn_autocast_off() {
  const StateAbi* abi = state_abi();
  LocalKeys* keys = abi == nullptr ? nullptr : local_keys(*abi);
  unsigned devices = 0;
  for (std::size_t i = 0; keys != nullptr && i < abi->autocast_keys.size(); ++i) {
    const auto& [first, second] = abi->autocast_keys[i];
    if (abi->autocast_keys[i] == LocalKeys{} || ((*keys)[0] & first) != first ||
        ((*keys)[1] & second) != second)
      continue;
    *keys = differences(*keys, abi->autocast_keys[i]);
    devices |= 1U << i;
  }
  return devices;
}

void turn_autocast_on(unsigned devices) {
  const StateAbi* abi = state_abi();
  LocalKeys* keys = abi == nullptr ? nullptr : local_keys(*abi);
  for (std::size_t i = 0; keys != nullptr && i < abi->autocast_keys.size(); ++i) {
    if ((devices >> i & 1U) != 0) *keys = differences(*keys, abi->autocast_keys[i]);
  }
}

PlainOps::PlainOps() {
  const StateAbi* abi = state_abi();
  LocalKeys* keys = abi == nullptr ? nullptr : local_keys(*abi);
  if (keys == nullptr) return;
  if (inference_mode()) no_inference_ = enter_inference(imported_torch(), false).release();
  std::ranges::copy(*keys, before_);
  *keys = abi->unseen_keys;
}

PlainOps::~PlainOps() {
  const StateAbi* abi = state_abi();
  LocalKeys* keys = abi == nullptr ? nullptr : local_keys(*abi);
  if (keys == nullptr) return;
  std::ranges::copy(before_, keys->begin());
  if (no_inference_ == nullptr) return;
  leave_inference(no_inference_);
  Py_DECREF(no_inference_);
}

bool deterministic_algorithms() {
  PyObject* internals = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C");
  if (internals == nullptr) return false;
  const PyRef answer =
      PyRef::steal(PyObject_CallMethod(internals, "_get_deterministic_algorithms", nullptr));
  if (!answer) PyErr_Clear();
  return answer.get() == Py_True;
}

void note_plain_backward() {
  StateAbi* abi = state_abi();
  const LocalKeys* keys = abi == nullptr ? nullptr : local_keys(*abi);
  if (keys != nullptr) abi->backward_keys = *keys;
}

bool backward_runs_plainly() {
  const StateAbi* abi = state_abi();
  const LocalKeys* keys = abi == nullptr ? nullptr : local_keys(*abi);
  if (keys == nullptr || abi->function_modes == nullptr || abi->function_modes() != 0 ||
      ops_are_overridden())
    return false;
  return *keys == LocalKeys{} || *keys == abi->backward_keys;
}

bool has_torch_truth(PyTypeObject* tensor_type) {
  static PyObject* const name = PyUnicode_InternFromString("__bool__");
  PyObject* found = _PyType_Lookup(tensor_type, name);
  return found != nullptr && Py_TYPE(found) == &PyMethodDescr_Type;
}

}  // namespace penstock::torch
