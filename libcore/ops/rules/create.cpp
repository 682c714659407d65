// Tensors out of nothing.
#include <cmath>

#include "ops/promotion.h"
#include "ops/rules/layout.h"
#include "ops/rules/rules.h"

namespace penstock::ops::rules {

namespace {

/// The dtype of a factory that is given a number: that of the number.
DType filled_dtype(Inference& in, std::string_view name) {
  if (auto dtype = in.dtype("dtype")) return *dtype;
  if (!in.has(name)) return kDefaultDType;
  return number_dtype(in.operand(name).number.category);
}

void add_on_device(Inference& in, DType dtype, std::vector<SymExpr> sizes,
                   const std::string& device) {
  TensorType type;
  type.dtype = dtype;
  type.strides = contiguous_strides(sizes);
  type.sizes = std::move(sizes);
  type.device = in.text("device", device);
  if (!in.failed()) in.add(std::move(type));
}

}  // namespace

void create(Inference& in) {
  const TensorType* self = in.optional_tensor("self");
  std::vector<SymExpr> sizes = in.integers("size");
  DType dtype = self ? in.dtype("dtype").value_or(self->dtype)
                     : filled_dtype(in, in.has("s") ? "s" : "fill_value");
  if (in.op().id == OpId::scalar_tensor_default && !in.has("dtype")) dtype = kDefaultDType;
  add_on_device(in, dtype, std::move(sizes), self ? self->device : "cpu");
}

void create_like(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (in.failed()) return;
  DType dtype = in.dtype("dtype").value_or(self.dtype);
  std::string format = in.text("memory_format", "preserve_format");
  TensorType type = contiguous_type(dtype, self.sizes, self);
  if (format == "preserve_format")
    type.strides = preserved_strides(in, self);
  else if (asks_channels_last(self, format))
    type.strides = channels_last_strides(self.sizes);
  type.device = in.text("device", self.device);
  in.add(std::move(type));
}

void arange(Inference& in) {
  Number zero{DTypeCategory::integral, 0, 0}, one{DTypeCategory::integral, 1, 1};
  Number start = in.number("start", zero), end = in.number("end", zero),
         step = in.number("step", one);
  bool real = false;
  for (const Number& number : {start, end, step})
    real |= number.category == DTypeCategory::floating;
  DType dtype = in.dtype("dtype").value_or(real ? kDefaultDType : DType::int64);
  SymExpr length = 0;
  if (real) {
    length = static_cast<std::int64_t>(std::ceil((end.real - start.real) / step.real));
  } else if (step.integer == SymExpr(0)) {
    return in.fail("step must not be 0");
  } else {
    bool down = in.less(step.integer, SymExpr(0));
    SymExpr extent = down ? start.integer - end.integer : end.integer - start.integer;
    SymExpr stride = down ? -step.integer : step.integer;
    length = stride == SymExpr(1) ? extent : floordiv(extent + stride - SymExpr(1), stride);
  }
  if (!in.failed() && in.less(length, SymExpr(0))) return in.fail("the bounds exclude each other");
  add_on_device(in, dtype, {length}, "cpu");
}

void eye(Inference& in) {
  SymExpr rows = in.integer("n");
  SymExpr columns = in.has("m") ? in.integer("m") : rows;
  add_on_device(in, in.dtype("dtype").value_or(kDefaultDType), {rows, columns}, "cpu");
}

void linspace(Inference& in) {
  add_on_device(in, in.dtype("dtype").value_or(kDefaultDType), {in.integer("steps")}, "cpu");
}

}  // namespace penstock::ops::rules
