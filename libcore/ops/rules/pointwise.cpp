// Elementwise ops: promotion, broadcasting, strides.
#include <array>

#include "ops/promotion.h"
#include "ops/rules/layout.h"
#include "ops/rules/rules.h"

namespace penstock::ops::rules {

namespace {

/// What the operands of a node promote to and where its result lies.
struct Elementwise {
  std::vector<const TensorType*> tensors;
  ResultType promoted;
  bool with_number = false;

  void add(const Operand& operand) {
    if (operand.is_tensor()) {
      tensors.push_back(operand.tensor);
      promoted.add_tensor(operand.tensor->dtype, operand.tensor->rank() > 0);
    } else {
      with_number = true;
      promoted.add_number(operand.number.category);
    }
  }
  void finish(Inference& in, DType dtype) {
    if (!in.failed()) in.add(elementwise_type(in, tensors, dtype, with_number));
  }
};

DType to_float(DType dtype) {
  return is_floating(dtype) || is_complex(dtype) ? dtype : kDefaultDType;
}

Elementwise gather(Inference& in, std::initializer_list<std::string_view> names) {
  Elementwise operands;
  for (std::string_view name : names) {
    if (in.has(name)) operands.add(in.operand(name));
  }
  if (operands.tensors.empty() && !in.failed()) in.fail("no argument is a tensor");
  return operands;
}

/// The second operand has other names in some schemas.
std::string_view second_name(Inference& in) {
  return in.has("exponent") ? "exponent" : in.has("other") ? "other" : "";
}

Elementwise gather_two(Inference& in) {
  std::string_view second = second_name(in);
  if (second.empty()) in.fail("the second operand is missing");
  Elementwise operands = gather(in, {"self", second});
  // The .Scalar overloads wrap their number into a tensor; pow takes it as it is.
  if (in.op().name.starts_with("aten.pow.Tensor_Scalar")) operands.with_number = false;
  return operands;
}

}  // namespace

void unary_same(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (!in.failed()) in.add(elementwise_type(in, std::array{&self}, self.dtype));
}

void absolute(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (!in.failed()) in.add(elementwise_type(in, std::array{&self}, real_dtype(self.dtype)));
}

void unary_float(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (!in.failed()) in.add(elementwise_type(in, std::array{&self}, to_float(self.dtype)));
}

void unary_bool(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (!in.failed()) in.add(elementwise_type(in, std::array{&self}, DType::bool_));
}

namespace {

/// abs(self) compared with infinity, a number; bools and integers give zeros or ones like
/// themselves.
TensorType infinity_type(Inference& in, const TensorType& self) {
  TensorType type = elementwise_type(in, std::array{&self}, self.dtype);
  if (is_floating(self.dtype) || is_complex(self.dtype))
    return elementwise_type(in, std::array<const TensorType*, 1>{&type}, DType::bool_, true);
  type.strides = preserved_strides(in, self);
  type.dtype = DType::bool_;
  return type;
}

}  // namespace

void is_infinite(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (!in.failed()) in.add(infinity_type(in, self));
}

/// (self == self) * (abs(self) != infinity).
void is_finite(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (in.failed()) return;
  const TensorType bounded = infinity_type(in, self);
  if (!is_floating(self.dtype) && !is_complex(self.dtype)) return in.add(bounded);
  const TensorType ordered = elementwise_type(in, std::array{&self, &self}, DType::bool_);
  in.add(elementwise_type(in, std::array{&ordered, &bounded}, DType::bool_));
}

void binary(Inference& in) {
  Elementwise operands = gather_two(in);
  operands.finish(in, operands.promoted.dtype());
}

void binary_float(Inference& in) {
  Elementwise operands = gather_two(in);
  operands.finish(in, to_float(operands.promoted.dtype()));
}

void div_mode(Inference& in) {
  if (!in.has("rounding_mode")) return binary_float(in);
  binary(in);
}

void comparison(Inference& in) {
  gather_two(in).finish(in, DType::bool_);
}
void logical(Inference& in) {
  gather_two(in).finish(in, DType::bool_);
}

void where(Inference& in) {
  const TensorType& condition = in.tensor("condition");
  Elementwise operands;
  operands.add(in.operand("self"));
  operands.add(in.operand("other"));
  DType dtype = operands.promoted.dtype();
  operands.tensors.insert(operands.tensors.begin(), &condition);
  operands.finish(in, dtype);
}

void clamp(Inference& in) {
  Elementwise operands = gather(in, {"self", "min", "max"});
  // Numbers are attributes of the unary kernel: they take part in promotion alone.
  operands.with_number = false;
  operands.finish(in, operands.promoted.dtype());
}

void addcmul(Inference& in) {
  Elementwise operands = gather(in, {"self", "tensor1", "tensor2"});
  operands.finish(in, operands.promoted.dtype());
}

void lerp(Inference& in) {
  Elementwise operands = gather(in, {"self", "end"});
  if (Operand weight = in.operand("weight"); weight.is_tensor()) operands.add(weight);
  operands.finish(in, operands.promoted.dtype());
}

void masked_fill(Inference& in) {
  const TensorType& self = in.tensor("self");
  const TensorType& mask = in.tensor("mask");
  if (in.failed()) return;
  // torch clones self, broadcast, into contiguous memory unless the sizes agree already.
  std::vector<SymExpr> sizes = broadcast_sizes(in, std::array{&self, &mask});
  in.add(self.dtype, std::move(sizes), self);
}

namespace {

/// The type of a copy of `self` in a memory format.
TensorType copy_type(Inference& in, const TensorType& self, DType dtype,
                     const std::string& format) {
  TensorType type = contiguous_type(dtype, self.sizes, self);
  if (asks_channels_last(self, format)) type.strides = channels_last_strides(self.sizes);
  if (format == "preserve_format" || format == "preserve") {
    type.strides = preserved_strides(in, self);
  }
  return type;
}

}  // namespace

/// What torch computes into an empty_like of its operand.
void unary_like_self(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (!in.failed()) in.add(copy_type(in, self, self.dtype, "preserve_format"));
}

void glu(Inference& in) {
  TensorType half = in.tensor("self");
  std::int64_t dim = in.dim("dim", -1, half.rank());
  if (in.failed() || half.rank() == 0) return in.fail("glu needs a dim");
  half.sizes[dim] = floordiv(half.sizes[dim], 2);
  in.add(elementwise_type(in, std::array<const TensorType*, 1>{&half}, half.dtype));
}

namespace {

std::string device_name(Inference& in, const TensorType& self) {
  return in.text("device", self.device);
}

}  // namespace

void convert(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (in.failed()) return;
  TensorType type = copy_type(in, self, in.dtype("dtype").value_or(self.dtype),
                              in.text("memory_format", "preserve_format"));
  type.device = device_name(in, self);
  in.add(std::move(type));
}

void clone(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (in.failed()) return;
  in.add(copy_type(in, self, self.dtype, in.text("memory_format", "preserve_format")));
}

void to(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (in.failed()) return;
  DType dtype = in.dtype("dtype").value_or(self.dtype);
  std::string device = device_name(in, self);
  if (const TensorType* other = in.optional_tensor("other")) {
    dtype = other->dtype;
    device = other->device;
  }
  std::string format = in.text("memory_format", "preserve_format");
  bool laid_out = !asks_channels_last(self, format) || suggests_channels_last(in, self);
  if (format == "contiguous_format") laid_out = !suggests_channels_last(in, self);
  bool same = dtype == self.dtype && device == self.device && laid_out;
  if (same && !in.boolean("copy", false)) return in.add_view(self, in.value("self"));
  TensorType type = copy_type(in, self, dtype, format);
  type.device = device;
  in.add(std::move(type));
}

void contiguous(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (in.failed()) return;
  std::string format = in.text("memory_format", "contiguous_format");
  TensorType type = copy_type(in, self, self.dtype, format);
  bool already =
      asks_channels_last(self, format) ? is_channels_last(in, self) : is_contiguous(self);
  if (already) return in.add_view(self, in.value("self"));
  in.add(std::move(type));
}

void in_place(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (!in.failed()) in.add_view(self, in.value("self"));
}

void copy_(Inference& in) {
  in_place(in);
}
void fill_(Inference& in) {
  in_place(in);
}

void dropout(Inference& in) {
  std::string_view name = in.has("self") ? "self" : "input";
  const TensorType& self = in.tensor(name);
  if (in.failed()) return;
  bool train = in.boolean("train", false) && in.real("p", 0.5) > 0;
  bool native = in.op().id == OpId::native_dropout_default;
  if (!train && !native) return in.add_view(self, in.value(name));
  in.add(elementwise_type(in, std::array{&self}, self.dtype));
  if (native) in.add(elementwise_type(in, std::array{&self}, DType::bool_));
}

void square(Inference& in) {
  const TensorType& self = in.tensor("self");
  DType dtype = is_boolean(self.dtype) ? DType::int64 : self.dtype;  // pow(self, 2)
  if (!in.failed()) in.add(elementwise_type(in, std::array{&self}, dtype));
}

void rsub(Inference& in) {
  Elementwise operands = gather(in, {"other", "self"});
  operands.finish(in, operands.promoted.dtype());
}

void fresh_contiguous(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (!in.failed()) in.add(self.dtype, self.sizes, self);
}

void triangle(Inference& in) {
  if (in.tensor("self").rank() < 2) in.fail("needs at least two dims");
  fresh_contiguous(in);
}

void unknown(Inference& in) {
  in.refuse("the result depends on the tensors' elements");
}

}  // namespace penstock::ops::rules
