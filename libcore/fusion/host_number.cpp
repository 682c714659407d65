#include "fusion/host_number.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

namespace penstock::fusion {

namespace {

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void write(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

float from_bfloat16(std::uint16_t bits) {
  std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// To nearest, ties to even; NaN stays NaN.
std::uint16_t to_bfloat16(float value) {
  auto bits = read<std::uint32_t>(reinterpret_cast<const std::byte*>(&value));
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double round_to(double value, DType dtype) {
  switch (dtype) {
    case DType::float16: return static_cast<double>(static_cast<_Float16>(static_cast<float>(value)));
    case DType::bfloat16: return from_bfloat16(to_bfloat16(static_cast<float>(value)));
    case DType::float32: return static_cast<float>(value);
    default: return value;
  }
}

std::int64_t wrap_to(std::int64_t value, DType dtype) {
  switch (dtype) {
    case DType::uint8: return static_cast<std::uint8_t>(value);
    case DType::int8: return static_cast<std::int8_t>(value);
    case DType::int16: return static_cast<std::int16_t>(value);
    case DType::int32: return static_cast<std::int32_t>(value);
    case DType::bool_: return value != 0;
    default: return value;
  }
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

double python_remainder(double a, double b) {
  double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double propagate_nan(double a, double b, double chosen) {
  return std::isnan(a) ? a : std::isnan(b) ? b : chosen;
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
  std::uint64_t result = 1, factor = static_cast<std::uint64_t>(base);
  for (; exponent > 0; exponent >>= 1, factor *= factor) {
    if (exponent & 1) result *= factor;
  }
  return static_cast<std::int64_t>(result);
}

using RealUnary = double (*)(double);
const std::unordered_map<std::string_view, RealUnary>& real_unary() {
  static const std::unordered_map<std::string_view, RealUnary> table = {
      {"neg", [](double x) { return -x; }},
      {"abs", [](double x) { return std::fabs(x); }},
      {"sign", [](double x) { return std::isnan(x) ? x : double((x > 0) - (x < 0)); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"trunc", [](double x) { return std::trunc(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"reciprocal", [](double x) { return 1 / x; }},
      {"exp", [](double x) { return std::exp(x); }},
      {"exp2", [](double x) { return std::exp2(x); }},
      {"expm1", [](double x) { return std::expm1(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"log2", [](double x) { return std::log2(x); }},
      {"log10", [](double x) { return std::log10(x); }},
      {"log1p", [](double x) { return std::log1p(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"tan", [](double x) { return std::tan(x); }},
      {"asin", [](double x) { return std::asin(x); }},
      {"acos", [](double x) { return std::acos(x); }},
      {"atan", [](double x) { return std::atan(x); }},
      {"sinh", [](double x) { return std::sinh(x); }},
      {"cosh", [](double x) { return std::cosh(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"erfc", [](double x) { return std::erfc(x); }},
  };
  return table;
}

using RealBinary = double (*)(double, double);
const std::unordered_map<std::string_view, RealBinary>& real_binary() {
  static const std::unordered_map<std::string_view, RealBinary> table = {
      {"add", [](double a, double b) { return a + b; }},
      {"sub", [](double a, double b) { return a - b; }},
      {"mul", [](double a, double b) { return a * b; }},
      {"div", [](double a, double b) { return a / b; }},
      {"floordiv", [](double a, double b) { return std::floor(a / b); }},
      {"fmod", [](double a, double b) { return std::fmod(a, b); }},
      {"remainder", python_remainder},
      {"pow", [](double a, double b) { return std::pow(a, b); }},
      {"atan2", [](double a, double b) { return std::atan2(a, b); }},
      {"maximum", [](double a, double b) { return propagate_nan(a, b, std::max(a, b)); }},
      {"minimum", [](double a, double b) { return propagate_nan(a, b, std::min(a, b)); }},
      {"fmax", [](double a, double b) { return std::fmax(a, b); }},
      {"fmin", [](double a, double b) { return std::fmin(a, b); }},
  };
  return table;
}

using IntegerBinary = std::int64_t (*)(std::int64_t, std::int64_t);
const std::unordered_map<std::string_view, IntegerBinary>& integer_binary() {
  using I = std::int64_t;
  using U = std::uint64_t;
  static const std::unordered_map<std::string_view, IntegerBinary> table = {
      {"add", [](I a, I b) { return static_cast<I>(static_cast<U>(a) + static_cast<U>(b)); }},
      {"sub", [](I a, I b) { return static_cast<I>(static_cast<U>(a) - static_cast<U>(b)); }},
      {"mul", [](I a, I b) { return static_cast<I>(static_cast<U>(a) * static_cast<U>(b)); }},
      {"div", [](I a, I b) { return b == 0 ? I{0} : a / b; }},
      {"floordiv", floor_divide},
      {"fmod", [](I a, I b) { return b == 0 ? I{0} : a % b; }},
      {"remainder", [](I a, I b) { return b == 0 ? I{0} : a - floor_divide(a, b) * b; }},
      {"pow", integer_power},
      {"maximum", [](I a, I b) { return std::max(a, b); }},
      {"minimum", [](I a, I b) { return std::min(a, b); }},
      {"fmax", [](I a, I b) { return std::max(a, b); }},
      {"fmin", [](I a, I b) { return std::min(a, b); }},
      {"and", [](I a, I b) { return a & b; }},
      {"or", [](I a, I b) { return a | b; }},
      {"xor", [](I a, I b) { return a ^ b; }},
      {"shl", [](I a, I b) { return b < 0 || b > 63 ? I{0} : static_cast<I>(static_cast<U>(a) << b); }},
      {"shr", [](I a, I b) { return a >> std::clamp<I>(b, 0, 63); }},
  };
  return table;
}

template <class T>
bool compare(std::string_view op, T a, T b) {
  if (op == "eq") return a == b;
  if (op == "ne") return a != b;
  if (op == "lt") return a < b;
  if (op == "le") return a <= b;
  if (op == "gt") return a > b;
  return a >= b;
}

bool is_comparison(std::string_view op) {
  return op == "eq" || op == "ne" || op == "lt" || op == "le" || op == "gt" || op == "ge";
}

HostNumber integer_unary(std::string_view op, DType dtype, std::int64_t x) {
  if (op == "neg") return {0, -x};
  if (op == "abs") return {0, x < 0 ? -x : x};
  if (op == "sign") return {0, (x > 0) - (x < 0)};
  if (op == "not") return {0, is_boolean(dtype) ? !x : ~x};
  if (op == "isnan") return {0, 0};
  if (op == "isfinite") return {0, 1};
  return {0, x};  // floor, ceil, round, trunc
}

}  // namespace

HostNumber load_number(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::uint8: return {0, read<std::uint8_t>(at)};
    case DType::int8: return {0, read<std::int8_t>(at)};
    case DType::int16: return {0, read<std::int16_t>(at)};
    case DType::int32: return {0, read<std::int32_t>(at)};
    case DType::int64: return {0, read<std::int64_t>(at)};
    case DType::bool_: return {0, read<std::uint8_t>(at) != 0};
    case DType::float16: return {static_cast<double>(static_cast<float>(read<_Float16>(at))), 0};
    case DType::bfloat16: return {from_bfloat16(read<std::uint16_t>(at)), 0};
    case DType::float32: return {read<float>(at), 0};
    default: return {read<double>(at), 0};
  }
}

void store_number(DType dtype, std::byte* at, const HostNumber& number) {
  switch (dtype) {
    case DType::uint8:
    case DType::int8: return write(at, static_cast<std::uint8_t>(number.integer));
    case DType::bool_: return write(at, static_cast<std::uint8_t>(number.integer != 0));
    case DType::int16: return write(at, static_cast<std::int16_t>(number.integer));
    case DType::int32: return write(at, static_cast<std::int32_t>(number.integer));
    case DType::int64: return write(at, number.integer);
    case DType::float16: return write(at, static_cast<_Float16>(static_cast<float>(number.real)));
    case DType::bfloat16: return write(at, to_bfloat16(static_cast<float>(number.real)));
    case DType::float32: return write(at, static_cast<float>(number.real));
    default: return write(at, number.real);
  }
}

HostNumber number_of(const Argument& argument, DType dtype) {
  double real = 0;
  std::int64_t integer = 0;
  if (const auto* value = argument.as<double>()) {
    real = *value;
    integer = std::isfinite(*value) ? static_cast<std::int64_t>(*value) : 0;
  } else if (const auto* value = argument.as<std::int64_t>()) {
    real = static_cast<double>(*value);
    integer = *value;
  } else if (const auto* value = argument.as<bool>()) {
    real = *value;
    integer = *value;
  }
  return is_floating(dtype) ? HostNumber{round_to(real, dtype), 0} : HostNumber{0, wrap_to(integer, dtype)};
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
  bool real = is_floating(dtype);
  if (operands.size() == 1 && !real) {
    return {0, wrap_to(integer_unary(op, dtype, operands[0].integer).integer, result)};
  }
  if (operands.size() == 1) {
    if (op == "isnan") return {0, std::isnan(operands[0].real)};
    if (op == "isfinite") return {0, std::isfinite(operands[0].real)};
    auto found = real_unary().find(op);
    return {found == real_unary().end() ? operands[0].real : round_to(found->second(operands[0].real), result), 0};
  }
  if (is_comparison(op)) {
    return {0, real ? compare(op, operands[0].real, operands[1].real)
                    : compare(op, operands[0].integer, operands[1].integer)};
  }
  if (op == "fma") {
    return real ? HostNumber{round_to(std::fma(operands[0].real, operands[1].real, operands[2].real), result), 0}
                : HostNumber{0, wrap_to(operands[0].integer * operands[1].integer + operands[2].integer, result)};
  }
  if (real) {
    auto found = real_binary().find(op);
    return {found == real_binary().end()
                ? 0
                : round_to(found->second(operands[0].real, operands[1].real), result), 0};
  }
  auto found = integer_binary().find(op);
  return {0, found == integer_binary().end()
                 ? 0
                 : wrap_to(found->second(operands[0].integer, operands[1].integer), result)};
}

HostAccumulator::HostAccumulator(std::string_view op, DType dtype) : op_(op), dtype_(dtype) {
  bool real = is_floating(dtype);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (op == "prod") total_ = {1, 1};
  if (op == "all") total_ = {0, 1};
  if (op == "amax" || op == "argmax") total_ = {-kInfinity, real ? 0 : INT64_MIN};
  if (op == "amin" || op == "argmin") total_ = {kInfinity, real ? 0 : INT64_MAX};
}

void HostAccumulator::add(const HostNumber& value, std::int64_t position) {
  bool real = is_floating(dtype_);
  ++count_;
  if (op_ == "welford") {
    double delta = value.real - mean_;
    mean_ += delta / static_cast<double>(count_);
    m2_ += delta * (value.real - mean_);
  } else if (op_ == "argmax" || op_ == "argmin") {
    bool better = real ? (op_ == "argmax" ? value.real > total_.real : value.real < total_.real)
                       : (op_ == "argmax" ? value.integer > total_.integer : value.integer < total_.integer);
    bool first_nan = real && std::isnan(value.real) && !std::isnan(total_.real);
    if (count_ > 1 && !first_nan && (!better || (real && std::isnan(total_.real)))) return;
    total_ = value;
    position_ = position;
  } else if (op_ == "sum") {
    total_ = {total_.real + value.real, total_.integer + value.integer};  // rounded once, at the end
  } else {
    std::string_view op = op_ == "prod"   ? "mul"
                          : op_ == "amax" ? "maximum"
                          : op_ == "amin" ? "minimum"
                          : op_ == "any"  ? "or"
                                          : "and";
    total_ = apply(op, dtype_, dtype_, {total_, value});
  }
}

std::vector<HostNumber> HostAccumulator::results() const {
  if (op_ == "welford") {
    return {{round_to(mean_, dtype_), 0}, {round_to(m2_, dtype_), 0}, {static_cast<double>(count_), count_}};
  }
  if (op_ == "argmax" || op_ == "argmin") return {{0, position_}};
  return {{round_to(total_.real, dtype_), wrap_to(total_.integer, dtype_)}};
}

}  // namespace penstock::fusion
