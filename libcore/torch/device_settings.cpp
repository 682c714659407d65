#include "torch/device_settings.h"

#include <optional>
#include <string_view>

namespace penstock::torch {

using python::PyRef;

namespace {

/// Functions of torch._C without arguments.
constexpr const char* kGetters[] = {
    "_get_cublas_allow_bf16_reduced_precision_reduction",
    "_get_cublas_allow_fp16_accumulation",
    "_get_cublas_allow_fp16_reduced_precision_reduction",
    "_get_cublas_allow_tf32",
    "_get_cudnn_allow_tf32",
    "_get_cudnn_benchmark",
    "_get_cudnn_deterministic",
    "_get_cudnn_enabled",
    "_get_cudnn_sdp_enabled",
    "_get_deterministic_algorithms",
    "_get_flash_sdp_enabled",
    "_get_float32_matmul_precision",
    "_get_math_sdp_allow_fp16_bf16_reduction",
    "_get_math_sdp_enabled",
    "_get_mem_efficient_sdp_enabled",
    "_get_sdp_priority_order",
};
std::vector<PyRef> find_getters() {
  std::vector<PyRef> getters;
  PyObject* internals = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C");
  if (internals == nullptr) return getters;
  for (const char* name : kGetters)
    getters.push_back(PyRef::steal(PyObject_GetAttrString(internals, name)));
  PyErr_Clear();
  return getters;
}

/// Those of TF32 raise, where they were set by torch's new names for them, to what the old ones
/// cannot say.
bool is_same(const PyRef& one, const PyRef& other) {
  if (!one || !other) return !one && !other;
  const int equal = PyObject_RichCompareBool(one.get(), other.get(), Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal > 0;
}

/// What torch's newer setting says of TF32 in an operation; nothing where it says nothing.
std::optional<bool> newer_setting(PyObject* internals, const char* operation) {
  const PyRef value = PyRef::steal(
      PyObject_CallMethod(internals, "_get_fp32_precision_getter", "ss", "cuda", operation));
  PyErr_Clear();
  if (!value || !PyUnicode_Check(value.get())) return std::nullopt;
  const char* text = PyUnicode_AsUTF8(value.get());
  PyErr_Clear();
  if (text == nullptr) return std::nullopt;
  return std::string_view(text) == "tf32";
}

bool older_setting(PyObject* internals, const char* getter) {
  const PyRef value = PyRef::steal(PyObject_CallMethod(internals, getter, nullptr));
  PyErr_Clear();
  return value.get() == Py_True;
}

PyObject* internals_of_torch() {
  return PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C");
}

}  // namespace

/// torch's newer setting first: where it was used, the older one may not be asked any more.
bool allows_tf32_products() {
  PyObject* internals = internals_of_torch();
  if (internals == nullptr) return false;
  return newer_setting(internals, "matmul").value_or(false) ||
         older_setting(internals, "_get_cublas_allow_tf32");
}

/// The older setting sets the newer one, which says it alone.
bool allows_tf32_convolutions() {
  PyObject* internals = internals_of_torch();
  if (internals == nullptr) return false;
  const auto newer = newer_setting(internals, "conv");
  return newer ? *newer : older_setting(internals, "_get_cudnn_allow_tf32");
}

std::uint64_t DeviceSettings::version() {
  if (getters_.empty()) getters_ = find_getters();
  values_.resize(getters_.size());
  bool same = version_ != 0;
  for (std::size_t i = 0; i < getters_.size(); ++i) {
    PyRef now = PyRef::steal(getters_[i] ? PyObject_CallNoArgs(getters_[i].get()) : nullptr);
    if (!now) PyErr_Clear();
    same = same && is_same(values_[i], now);
    values_[i] = std::move(now);
  }
  if (!same) ++version_;
  return version_;
}

}  // namespace penstock::torch
