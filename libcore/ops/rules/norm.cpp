// Softmax and normalisation.
#include <array>
#include <string>

#include "ops/promotion.h"
#include "ops/rules/layout.h"
#include "ops/rules/rules.h"

namespace penstock::ops::rules {

void softmax(Inference& in) {
  const TensorType& self = in.tensor("self");
  in.dim("dim", -1, self.rank());
  DType dtype = in.dtype("dtype").value_or(self.dtype);
  if (in.boolean("half_to_float", false)) dtype = DType::float32;
  if (!in.failed()) in.add(dtype, self.sizes, self);
}

namespace {

/// Weight and bias, where they are given, have an element for each of `count`.
void require_parameters(Inference& in, const SymExpr& count) {
  for (const char* name : {"weight", "bias"}) {
    const TensorType* parameter = in.optional_tensor(name);
    if (in.failed() || parameter == nullptr) continue;
    if (!in.equal(element_count(parameter->sizes), count))
      return in.fail(std::string(name) + " has another number of elements");
  }
}

/// The input's last dims are those that are normalised.
void require_rows(Inference& in, const TensorType& input) {
  const std::vector<SymExpr> shape = in.integers("normalized_shape");
  if (in.failed() || shape.size() > input.rank())
    return in.fail("normalized_shape has more dims than input");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const SymExpr& size = input.sizes[input.rank() - shape.size() + i];
    if (!in.equal(size, shape[i]))
      return in.fail("the last dims of input are not normalized_shape");
  }
  require_parameters(in, element_count(shape));
}

/// The input has dims N, C, …, and there is a parameter for every channel.
void require_channels(Inference& in, const TensorType& input) {
  if (in.failed() || input.rank() < 2) return in.fail("expects dims N, C, …");
  require_parameters(in, input.sizes[1]);
}

}  // namespace

void layer_norm(Inference& in) {
  const TensorType& input = in.tensor("input");
  if (in.failed()) return;
  const bool of_groups = in.op().id == OpId::group_norm_default;
  of_groups ? require_channels(in, input) : require_rows(in, input);
  if (in.failed()) return;
  // group_norm keeps channels_last; layer_norm works on rows and returns them contiguous.
  TensorType type = contiguous_type(input.dtype, input.sizes, input);
  if (of_groups && suggests_channels_last(in, input)) {
    type.strides = channels_last_strides(input.sizes);
  }
  in.add(std::move(type));
}

void native_layer_norm(Inference& in) {
  const TensorType& input = in.tensor("input");
  const std::size_t rank = in.integers("normalized_shape").size();
  if (in.failed()) return;
  require_rows(in, input);
  if (in.failed()) return;
  std::vector<SymExpr> rows = input.sizes;
  for (std::size_t i = input.rank() - rank; i < input.rank(); ++i) rows[i] = 1;
  in.add(input.dtype, input.sizes, input);
  in.add(input.dtype, rows, input);
  in.add(input.dtype, std::move(rows), input);
}

void native_group_norm(Inference& in) {
  const TensorType& input = in.tensor("input");
  SymExpr groups = in.integer("group");
  if (in.failed()) return;
  require_channels(in, input);
  if (in.failed()) return;
  TensorType type = contiguous_type(input.dtype, input.sizes, input);
  if (suggests_channels_last(in, input)) type.strides = channels_last_strides(input.sizes);
  in.add(std::move(type));
  in.add(input.dtype, {input.sizes[0], groups}, input);
  in.add(input.dtype, {input.sizes[0], groups}, input);
}

/// torch multiplies the input by a factor of each row and by the weight, and lays the product out
/// as the input's format wants it where it does not lie so.
void rms_norm(Inference& in) {
  const TensorType& input = in.tensor("input");
  const std::size_t dims = in.integers("normalized_shape").size();
  if (in.failed()) return;
  require_rows(in, input);
  if (in.failed()) return;
  ResultType promoted;
  promoted.add_tensor(input.dtype, input.rank() > 0);
  if (const TensorType* weight = in.optional_tensor("weight")) {
    promoted.add_tensor(weight->dtype, weight->rank() > 0);
  }
  TensorType factors = contiguous_type(input.dtype, input.sizes, input);
  for (std::size_t i = input.rank() - dims; i < input.rank(); ++i) factors.sizes[i] = 1;
  factors.strides = contiguous_strides(factors.sizes);
  TensorType type =
      elementwise_type(in, std::array<const TensorType*, 2>{&input, &factors}, promoted.dtype());
  if (const TensorType* weight = in.optional_tensor("weight")) {
    type = elementwise_type(in, std::array<const TensorType*, 2>{&type, weight}, promoted.dtype());
  }
  const bool last = suggests_channels_last(in, input);
  if (last && !is_channels_last(in, type)) type.strides = channels_last_strides(type.sizes);
  if (!last && !is_contiguous(type)) type.strides = contiguous_strides(type.sizes);
  if (!in.failed()) in.add(std::move(type));
}

namespace {

/// Where every parameter of batch_norm lies without gaps ATen asks how the input lies, and else
/// what it suggests, which is another answer where a dim has one element
/// (suggest_memory_format_contig in ATen/native/Normalization.cpp).
bool batch_norm_keeps_channels_last(Inference& in, const TensorType& input) {
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    const TensorType* parameter = in.optional_tensor(name);
    if (parameter != nullptr && !is_contiguous(*parameter))
      return suggests_channels_last(in, input);
  }
  if (is_contiguous(input)) return false;
  return is_channels_last(in, input) || suggests_channels_last(in, input);
}

}  // namespace

void batch_norm(Inference& in) {
  const TensorType& input = in.tensor("input");
  if (in.failed()) return;
  require_channels(in, input);
  if (in.failed()) return;
  TensorType type = contiguous_type(input.dtype, input.sizes, input);
  if (batch_norm_keeps_channels_last(in, input)) type.strides = channels_last_strides(input.sizes);
  in.add(std::move(type));
}

void instance_norm(Inference& in) {
  const TensorType& input = in.tensor("input");
  if (in.failed() || input.rank() < 3) return in.fail("instance norm needs dims N, C, …");
  require_parameters(in, input.sizes[1]);
  bool plain =
      !in.has("weight") && !in.has("bias") && !in.has("running_mean") && !in.has("running_var");
  for (std::size_t i = plain ? 1 : 0; i < input.rank() && !in.failed(); ++i) {
    if (in.is_zero(input.sizes[i])) in.fail("torch refuses an input without elements");
  }
  if (in.failed()) return;
  in.add(input.dtype, input.sizes, input);
}

void native_batch_norm(Inference& in) {
  batch_norm(in);
  if (in.failed()) return;
  const TensorType& input = in.tensor("input");
  in.add(input.dtype, {SymExpr(0)}, input);
  in.add(input.dtype, {SymExpr(0)}, input);
}

}  // namespace penstock::ops::rules
