#include "torch/autocast.h"

#include <algorithm>
#include <string_view>

#include "python/literal.h"
#include "python/object.h"

namespace penstock::torch {

using python::PyRef;

namespace {

PyObject* internals() {
  return PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C");
}

/// Whether the dispatcher has a kernel of its own for the op under the key.
bool has_kernel(const std::string& op, const char* key) {
  PyObject* module = internals();
  const PyRef answer =
      module == nullptr
          ? PyRef()
          : PyRef::steal(PyObject_CallMethod(module, "_dispatch_has_kernel_for_dispatch_key", "ss",
                                             op.c_str(), key));
  if (!answer) PyErr_Clear();
  return answer.get() == Py_True;
}

/// "aten::conv2d.padding" is one of {"conv2d"}.
template <std::size_t N>
bool is_one_of(const std::string_view (&names)[N], std::string_view op) {
  const std::size_t name = op.find("::") + 2;
  return std::ranges::find(names, op.substr(name, op.find('.', name) - name)) != std::end(names);
}

// AT_FORALL_LOWER_PRECISION_FP and the promoting ops of AutocastCPU and AutocastCUDA; every other
// kernel that is registered there converts to float32, or gives it.
constexpr std::string_view kLower[] = {"conv1d",
                                       "conv2d",
                                       "conv3d",
                                       "bmm",
                                       "mm",
                                       "linalg_vecdot",
                                       "baddbmm",
                                       "addmm",
                                       "_addmm_activation",
                                       "addbmm",
                                       "linear",
                                       "mkldnn_reorder_linear_weight",
                                       "_convolution",
                                       "matmul",
                                       "conv_tbc",
                                       "mkldnn_rnn_layer",
                                       "conv_transpose1d",
                                       "conv_transpose2d",
                                       "conv_transpose3d",
                                       "prelu",
                                       "scaled_dot_product_attention",
                                       "_native_multi_head_attention"};
// Made of others: of which none converts, or the first one converts all that is given.
constexpr std::string_view kUncast[] = {"broadcast_tensors", "outer"};
constexpr std::string_view kFloat32Inside[] = {"nll_loss_nd"};
constexpr std::string_view kFloat32InsideOnGpu[] = {"nll_loss_nd", "cross_entropy_loss"};
constexpr std::string_view kPromote[] = {"stack", "cat", "index_copy"};
constexpr std::string_view kLowerOnGpu[] = {"_convolution",
                                            "conv1d",
                                            "conv2d",
                                            "conv3d",
                                            "conv_tbc",
                                            "conv_transpose1d",
                                            "conv_transpose2d",
                                            "conv_transpose3d",
                                            "convolution",
                                            "prelu",
                                            "addmm",
                                            "addmv",
                                            "addr",
                                            "matmul",
                                            "einsum",
                                            "mm",
                                            "mv",
                                            "linalg_vecdot",
                                            "linear",
                                            "addbmm",
                                            "baddbmm",
                                            "bmm",
                                            "chain_matmul",
                                            "linalg_multi_dot",
                                            "scaled_dot_product_attention"};
constexpr std::string_view kPromoteOnGpu[] = {
    "addcdiv", "addcmul",      "atan2",     "bilinear",  "cross",      "dot",
    "vdot",    "grid_sampler", "index_put", "tensordot", "scatter_add"};
// Whose conversions are others: of many arguments, or none but an error.
constexpr std::string_view kOwnOnGpu[] = {
    "_thnn_fused_lstm_cell", "_thnn_fused_gru_cell", "lstm_cell",           "gru_cell",
    "rnn_tanh_cell",         "rnn_relu_cell",        "binary_cross_entropy"};

}  // namespace

std::optional<Autocast> autocast_state() {
  const auto device = autocasting_device();
  if (!device) return std::nullopt;
  static PyObject* const asked = PyUnicode_InternFromString("get_autocast_dtype");
  PyObject* module = internals();
  const PyRef name = PyRef::steal(PyUnicode_FromString(cast_device_name(*device)));
  const PyRef answer = module != nullptr && name
                           ? PyRef::steal(PyObject_CallMethodOneArg(module, asked, name.get()))
                           : PyRef();
  const PyRef text = answer ? PyRef::steal(PyObject_Str(answer.get())) : PyRef();
  if (!text) PyErr_Clear();
  const std::string dtype = text ? python::text_of(text.get()) : std::string();
  if (dtype == "torch.bfloat16") return Autocast{DType::bfloat16, *device};
  if (dtype == "torch.float16") return Autocast{DType::float16, *device};
  return std::nullopt;
}

namespace {

/// Of an op that has a kernel of its own for autocasting on the device.
CastPolicy policy_of_kernel(const std::string& op, CastDevice device) {
  const bool gpu = device == CastDevice::gpu;
  if (gpu && is_one_of(kOwnOnGpu, op)) return CastPolicy::unknown;
  if (gpu ? is_one_of(kLowerOnGpu, op) : is_one_of(kLower, op)) return CastPolicy::lower;
  if (gpu ? is_one_of(kPromoteOnGpu, op) : is_one_of(kPromote, op)) return CastPolicy::promote;
  return CastPolicy::float32;
}

}  // namespace

CastPolicy CastPolicies::of(const std::string& op, CastDevice device) {
  const auto [place, is_new] =
      known_[static_cast<std::size_t>(device)].try_emplace(op, CastPolicy::none);
  if (!is_new) return place->second;
  const bool gpu = device == CastDevice::gpu;
  CastPolicy policy = CastPolicy::none;
  if (has_kernel(op, gpu ? "AutocastCUDA" : "AutocastCPU")) {
    policy = policy_of_kernel(op, device);
  } else if (has_kernel(op, "CompositeImplicitAutograd")) {
    const bool wide = gpu ? is_one_of(kFloat32InsideOnGpu, op) : is_one_of(kFloat32Inside, op);
    policy = is_one_of(kUncast, op) ? CastPolicy::none
             : wide                 ? CastPolicy::float32
                                    : CastPolicy::unknown;
  }
  return place->second = policy;
}

}  // namespace penstock::torch
