#include "fusion/host_number.h"

#include <cmath>
#include <limits>
#include <unordered_map>

#include "ir/float_format.h"
#include "ops/reference/scalars.h"

namespace penstock::fusion {

namespace {

/// The reference scalars of the prims of one group, by name.
template <class Scalar>
using Table = std::unordered_map<std::string_view, const Scalar*>;

#define PS_SKIP(name)
#define PS_ROW(name) {#name, &ops::scalar::name##_},
#define PS_UNARY_unary PS_ROW
#define PS_BINARY_binary PS_ROW
#define PS_UNARY_binary PS_SKIP
#define PS_BINARY_unary PS_SKIP
#define PS_UNARY_ternary PS_SKIP
#define PS_BINARY_ternary PS_SKIP
#define PS_UNARY_cast PS_SKIP
#define PS_BINARY_cast PS_SKIP
#define PS_UNARY_view PS_SKIP
#define PS_BINARY_view PS_SKIP
#define PS_UNARY_join PS_SKIP
#define PS_BINARY_join PS_SKIP
#define PS_UNARY_reduce PS_SKIP
#define PS_BINARY_reduce PS_SKIP
#define PS_UNARY_scan PS_SKIP
#define PS_BINARY_scan PS_SKIP
#define PS_UNARY_index PS_SKIP
#define PS_BINARY_index PS_SKIP
#define PS_UNARY_create PS_SKIP
#define PS_BINARY_create PS_SKIP
#define PS_UNARY_effect PS_SKIP
#define PS_BINARY_effect PS_SKIP
#define PS_UNARY_check PS_SKIP
#define PS_BINARY_check PS_SKIP
#define PS_UNARY_draw PS_SKIP
#define PS_BINARY_draw PS_SKIP
#define PS_UNARY_control PS_SKIP
#define PS_BINARY_control PS_SKIP
#define PS_UNARY_decide PS_SKIP
#define PS_BINARY_decide PS_SKIP

const Table<ops::UnaryScalar>& unary_scalars() {
  static const Table<ops::UnaryScalar> table = {
#define PS_PRIM(name, group, operands, attributes, result) PS_UNARY_##group(name)
#include "ops/prims.def"
#undef PS_PRIM
  };
  return table;
}

const Table<ops::BinaryScalar>& binary_scalars() {
  static const Table<ops::BinaryScalar> table = {
#define PS_PRIM(name, group, operands, attributes, result) PS_BINARY_##group(name)
#include "ops/prims.def"
#undef PS_PRIM
  };
  return table;
}

/// A number that was computed as a real, in the dtype of the result.
HostNumber from_real(double value, DType dtype) {
  if (is_floating(dtype)) return {round_to(value, dtype), 0};
  return {0, wrap_to(static_cast<std::int64_t>(value), dtype)};
}

HostNumber apply_unary(const ops::UnaryScalar& scalar, DType dtype, DType result,
                       const HostNumber& x) {
  if (is_boolean(dtype) && scalar.boolean != nullptr) return {0, scalar.boolean(x.integer != 0)};
  if (is_floating(dtype)) return from_real(scalar.real(x.real), result);
  if (scalar.integer != nullptr) return {0, wrap_to(scalar.integer(x.integer), result)};
  return from_real(scalar.real(static_cast<double>(x.integer)), result);
}

HostNumber apply_binary(const ops::BinaryScalar& scalar, DType dtype, DType result,
                        const HostNumber& a, const HostNumber& b) {
  if (is_floating(dtype)) return from_real(scalar.real(a.real, b.real), result);
  if (scalar.integer != nullptr) return {0, wrap_to(scalar.integer(a.integer, b.integer), result)};
  return from_real(scalar.real(static_cast<double>(a.integer), static_cast<double>(b.integer)),
                   result);
}

}  // namespace

HostNumber load_number(const ops::HostTensor& tensor, std::int64_t place) {
  if (is_floating(tensor.dtype)) return {tensor.real_at(place), 0};
  return {0, tensor.integer_at(place)};
}

void store_number(ops::HostTensor& tensor, std::int64_t place, const HostNumber& number) {
  if (is_floating(tensor.dtype)) {
    tensor.set_real(place, number.real);
  } else {
    tensor.set_integer(place, number.integer);
  }
}

HostNumber number_of(const Argument& argument, DType dtype) {
  if (const auto* value = argument.as<double>()) {
    return convert_number({*value, 0}, DType::float64, dtype);
  }
  std::int64_t integer = 0;
  if (const auto* value = argument.as<std::int64_t>()) integer = *value;
  if (const auto* value = argument.as<bool>()) integer = *value;
  return convert_number({0, integer}, DType::int64, dtype);
}

HostNumber convert_number(const HostNumber& number, DType from, DType to) {
  if (is_floating(from) && is_floating(to)) return {round_to(number.real, to), 0};
  if (is_floating(to)) return {round_to(static_cast<double>(number.integer), to), 0};
  if (!is_floating(from)) return {0, wrap_to(number.integer, to)};
  if (is_boolean(to)) return {0, number.real != 0};
  constexpr double kLimit = 9223372036854775808.0;
  bool fits = number.real > -kLimit && number.real < kLimit;
  return {0, wrap_to(fits ? static_cast<std::int64_t>(number.real) : INT64_MIN, to)};
}

HostNumber apply(std::string_view op, DType dtype, DType result,
                 const std::vector<HostNumber>& operands) {
  if (op == "where") return operands[0].integer != 0 ? operands[1] : operands[2];
  if (op == "convert") return convert_number(operands[0], dtype, result);
  if (op == "fma") {
    if (!is_floating(dtype)) {
      return {0, wrap_to(operands[0].integer * operands[1].integer + operands[2].integer, result)};
    }
    return from_real(std::fma(operands[0].real, operands[1].real, operands[2].real), result);
  }
  if (operands.size() == 1) {
    auto found = unary_scalars().find(op);
    if (found == unary_scalars().end()) return operands[0];
    return apply_unary(*found->second, dtype, result, operands[0]);
  }
  auto found = binary_scalars().find(op);
  if (found == binary_scalars().end()) return operands[0];
  return apply_binary(*found->second, dtype, result, operands[0], operands[1]);
}

HostAccumulator::HostAccumulator(std::string_view op, DType dtype) : op_(op), dtype_(dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (op == "prod") total_ = {1, 1};
  if (op == "all") total_ = {0, 1};
  if (op == "amax") total_ = {-kInfinity, INT64_MIN};
  if (op == "amin") total_ = {kInfinity, INT64_MAX};
}

void HostAccumulator::add(const HostNumber& value, std::int64_t position) {
  bool real = is_floating(dtype_);
  ++count_;
  if (op_ == "welford") {
    double delta = value.real - mean_;
    mean_ += delta / static_cast<double>(count_);
    m2_ += delta * (value.real - mean_);
  } else if (op_ == "argmax" || op_ == "argmin") {
    bool more = op_ == "argmax";
    bool better = real ? (more ? value.real > total_.real : value.real < total_.real)
                       : (more ? value.integer > total_.integer : value.integer < total_.integer);
    bool total_nan = real && std::isnan(total_.real);
    bool first_nan = real && std::isnan(value.real) && !total_nan;
    if (count_ > 1 && !first_nan && (total_nan || !better)) return;
    total_ = value;
    position_ = position;
  } else if (op_ == "sum" || op_ == "prod") {  // rounded once, at the end
    total_ = op_ == "sum" ? HostNumber{total_.real + value.real, total_.integer + value.integer}
                          : HostNumber{total_.real * value.real, total_.integer * value.integer};
  } else {
    std::string_view op = op_ == "amax"   ? "maximum"
                          : op_ == "amin" ? "minimum"
                          : op_ == "any"  ? "or"
                                          : "and";
    total_ = apply(op, dtype_, dtype_, {total_, value});
  }
}

std::vector<HostNumber> HostAccumulator::results() const {
  if (op_ == "welford") {
    return {{round_to(mean_, dtype_), 0},
            {round_to(m2_, dtype_), 0},
            {static_cast<double>(count_), count_}};
  }
  if (op_ == "argmax" || op_ == "argmin") return {{0, position_}};
  if (is_floating(dtype_)) return {{round_to(total_.real, dtype_), 0}};
  return {{0, wrap_to(total_.integer, dtype_)}};
}

}  // namespace penstock::fusion
