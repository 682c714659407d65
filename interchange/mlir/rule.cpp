#include "interchange/mlir/rule.h"

#include <utility>

namespace penstock::mlir {

const TensorType& Rule::result(std::size_t i) const {
  static const TensorType none{};
  return i < node_.results.size() ? out_.type(node_.results[i]) : none;
}

Typed Rule::in(std::string_view operand) {
  const ValueId id = arguments_.value(operand);
  return arguments_.failed() ? Typed{} : out_.value(id);
}

Typed Rule::in_as(std::string_view operand, DType dtype) {
  const ops::Operand given = arguments_.operand(operand);
  if (arguments_.failed()) return {};
  if (given.is_tensor()) return out_.value(given.value);
  const ops::Number& number = given.number;
  const bool real = number.category == DTypeCategory::floating;
  if (given.value == kNoValue && real) return out_.number(number.real, dtype);
  if (given.value == kNoValue) {
    if (const auto known = number.integer.constant()) return out_.number(*known, dtype);
  }
  const Typed computed =
      given.value == kNoValue ? out_.size(number.integer) : out_.value(given.value);
  const DType held = computed.type == kFloat ? DType::float64 : DType::int64;
  return cast(make("prim.NumToTensor.Scalar", {computed}, held, {}), dtype, {});
}

Typed Rule::number(std::string_view argument, DType dtype) {
  const ops::Operand given = arguments_.operand(argument);
  if (arguments_.failed()) return {};
  if (given.is_tensor()) {
    refuse("a tensor stands where a number is wanted");
    return {};
  }
  if (given.value != kNoValue) return out_.value(given.value);
  const ops::Number& number = given.number;
  if (number.category == DTypeCategory::floating)
    return is_floating(dtype) ? out_.real(number.real)
                              : out_.integer(static_cast<std::int64_t>(number.real));
  const auto known = number.integer.constant();
  if (known && is_floating(dtype)) return out_.real(static_cast<double>(*known));
  return out_.size(number.integer);
}

DType Rule::dtype_of(std::string_view operands) {
  while (!operands.empty()) {
    const auto space = operands.find(' ');
    const ops::Operand given = arguments_.operand(operands.substr(0, space));
    const bool decides = given.is_tensor() && operands.substr(0, space) != "condition";
    if (decides) return given.tensor->dtype;
    operands.remove_prefix(space == std::string_view::npos ? operands.size() : space + 1);
  }
  return result().dtype;
}

Typed Rule::make(std::string_view op, const Operands& operands, DType dtype,
                 std::vector<SymExpr> sizes) {
  TensorType type;
  type.dtype = dtype;
  type.sizes = std::move(sizes);
  return out_.tensor(op, operands, type);
}

Typed Rule::cast(const Typed& x, DType dtype, const std::vector<SymExpr>& sizes) {
  const Typed no = out_.boolean(false);
  return make("aten.to.dtype", {x, out_.dtype(dtype), no, no, out_.none()}, dtype, sizes);
}

Typed Rule::view(const Typed& x, DType dtype, const std::vector<SymExpr>& sizes) {
  return make("aten.view", {x, out_.sizes(sizes)}, dtype, sizes);
}

Typed Rule::sum(const Typed& x, const Typed& y, DType dtype, const std::vector<SymExpr>& sizes) {
  return make("aten.add.Tensor", {x, y, out_.integer(1)}, dtype, sizes);
}

void Rule::give(Typed value, std::size_t i) {
  if (!failed() && i < node_.results.size()) out_.bind(node_.results[i], std::move(value));
}

}  // namespace penstock::mlir
