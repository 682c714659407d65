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

// AT_FORALL_LOWER_PRECISION_FP and the promoting ops of AutocastCPU; every other kernel that is
// registered there converts to float32.
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
constexpr std::string_view kPromote[] = {"stack", "cat", "index_copy"};

}  // namespace

std::optional<DType> autocast_dtype() {
  if (!autocasts_on_cpu()) return std::nullopt;
  static PyObject* const asked = PyUnicode_InternFromString("get_autocast_dtype");
  static PyObject* const device = PyUnicode_InternFromString("cpu");
  PyObject* module = internals();
  const PyRef answer =
      module == nullptr ? PyRef() : PyRef::steal(PyObject_CallMethodOneArg(module, asked, device));
  const PyRef text = answer ? PyRef::steal(PyObject_Str(answer.get())) : PyRef();
  if (!text) PyErr_Clear();
  const std::string name = text ? python::text_of(text.get()) : std::string();
  if (name == "torch.bfloat16") return DType::bfloat16;
  return name == "torch.float16" ? std::optional(DType::float16) : std::nullopt;
}

CastPolicy CastPolicies::of(const std::string& op) {
  const auto [place, is_new] = known_.try_emplace(op, CastPolicy::none);
  if (!is_new) return place->second;
  CastPolicy policy = CastPolicy::none;
  if (has_kernel(op, "AutocastCPU")) {
    policy = is_one_of(kLower, op)     ? CastPolicy::lower
             : is_one_of(kPromote, op) ? CastPolicy::promote
                                       : CastPolicy::float32;
  } else if (has_kernel(op, "CompositeImplicitAutograd")) {
    policy = is_one_of(kUncast, op)          ? CastPolicy::none
             : is_one_of(kFloat32Inside, op) ? CastPolicy::float32
                                             : CastPolicy::unknown;
  }
  return place->second = policy;
}

}  // namespace penstock::torch
