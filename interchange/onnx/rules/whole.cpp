// When an op of torch's is one operator of ONNX: what is asked of its arguments before it is taken
// apart. Runtimes have these operators for float32 and what is narrower; float64 goes the way of
// simpler ops, which they have.
#include "interchange/onnx/rules/rules.h"
#include "ops/op.h"

namespace penstock::onnx {

namespace {

bool is_single(const TensorType& type) {
  return is_floating(type.dtype) && type.dtype != DType::float64;
}

std::string_view first_operand(const ops::Arguments& arguments) {
  return arguments.has("self") ? "self" : "input";
}

/// Whether the tensors that are given have the dtype of the first.
bool same_dtype(ops::Arguments& arguments, std::initializer_list<std::string_view> names) {
  const DType dtype = arguments.tensor(first_operand(arguments)).dtype;
  for (std::string_view name : names) {
    if (arguments.has(name) && arguments.tensor(name).dtype != dtype) return false;
  }
  return true;
}

bool is_plain_window(ops::Arguments& arguments) {
  const auto kernel = arguments.constants("kernel_size");
  static_cast<void>(arguments.constants("stride"));
  static_cast<void>(arguments.constants("padding"));
  return !kernel.empty() && !arguments.failed();
}

}  // namespace

bool always(ops::Arguments& arguments) {
  const TensorType& self = arguments.tensor(first_operand(arguments));
  return is_floating(self.dtype) || self.dtype == DType::int32 || self.dtype == DType::int64;
}

bool floating(ops::Arguments& arguments) {
  return is_floating(arguments.tensor("self").dtype);
}

bool single(ops::Arguments& arguments) {
  return is_single(arguments.tensor("self"));
}

bool plain_softplus(ops::Arguments& arguments) {
  return single(arguments) && arguments.real("beta", 1) == 1 &&
         arguments.real("threshold", 20) >= 20;
}

bool plain_elu(ops::Arguments& arguments) {
  return single(arguments) && arguments.real("scale", 1) == 1 &&
         arguments.real("input_scale", 1) == 1;
}

bool has_dims(ops::Arguments& arguments) {
  const TensorType& self = arguments.tensor("self");
  const auto dtype = arguments.dtype("dtype");
  return self.rank() > 0 && is_floating(dtype.value_or(self.dtype));
}

bool affine_norm(ops::Arguments& arguments) {
  return arguments.has("weight") && is_single(arguments.tensor("input")) &&
         same_dtype(arguments, {"weight", "bias"});
}

bool given_eps(ops::Arguments& arguments) {
  return affine_norm(arguments) && arguments.has("eps");
}

bool plain_attention(ops::Arguments& arguments) {
  const TensorType &query = arguments.tensor("query"), &key = arguments.tensor("key"),
                   &value = arguments.tensor("value");
  if (arguments.failed() || arguments.real("dropout_p", 0) != 0) return false;
  if (arguments.boolean("enable_gqa", false) || !is_single(query)) return false;
  for (const TensorType* each : {&query, &key, &value}) {
    if (each->rank() != 4 || each->dtype != query.dtype) return false;
    if (each->sizes[0] != query.sizes[0] || each->sizes[1] != query.sizes[1]) return false;
  }
  // Rows of a mask may hide everything: that is 0 in torch, and ONNX does not say.
  if (arguments.has("attn_mask")) return false;
  // Causal: ONNX and torch differ where there are more keys than queries.
  return !arguments.boolean("is_causal", false) || query.sizes[2] == key.sizes[2];
}

bool inference(ops::Arguments& arguments) {
  for (std::string_view name : {"weight", "bias", "running_mean", "running_var"}) {
    if (!arguments.has(name)) return false;
  }
  const TensorType& input = arguments.tensor("input");
  return !arguments.boolean("training", false) && input.rank() >= 2 && is_floating(input.dtype) &&
         same_dtype(arguments, {"weight", "bias", "running_mean", "running_var"});
}

bool single_image(ops::Arguments& arguments) {
  const TensorType& self = arguments.tensor(first_operand(arguments));
  if (arguments.has("num_groups"))
    return arguments.has("weight") && arguments.has("bias") && is_single(self) &&
           self.rank() >= 3 && same_dtype(arguments, {"weight", "bias"});
  const std::string& op = arguments.node().op;
  const std::size_t dims = ops::spatial_dims(op);
  return self.rank() == dims + 2 && dims > 0 && is_floating(self.dtype) &&
         is_plain_window(arguments);
}

bool plain_average(ops::Arguments& arguments) {
  return single(arguments) && !arguments.has("divisor_override") && single_image(arguments);
}

bool to_one(ops::Arguments& arguments) {
  const auto sizes = arguments.integers("output_size");
  for (const SymExpr& size : sizes) {
    if (size != SymExpr(1)) return false;
  }
  return !sizes.empty() && arguments.tensor("self").rank() == 4 && single(arguments);
}

bool has_batch(ops::Arguments& arguments) {
  return arguments.tensor("self").rank() == 4 && single(arguments);
}

}  // namespace penstock::onnx
