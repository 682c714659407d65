#include "interchange/mlir/text.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "ir/float_format.h"

namespace penstock::mlir {

namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";
constexpr std::string_view kAlignment = "40000000";  ///< 64, little-endian

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The element type of the builtin dialect ("i8"), or with its sign, as torch's dialect has it.
std::string element_type(DType dtype, bool sign) {
  switch (dtype) {
    case DType::bool_:
      return "i1";
    case DType::bfloat16:
      return "bf16";
    case DType::complex64:
      return "complex<f32>";
    case DType::complex128:
      return "complex<f64>";
    default:
      break;
  }
  const int bits = 8 * facts(dtype).size;
  if (is_floating(dtype)) return fmt::format("f{}", bits);
  return fmt::format("{}i{}", !sign ? "" : dtype == DType::uint8 ? "u" : "s", bits);
}

void add_nested(std::string& text, std::string_view bytes, const std::vector<std::int64_t>& sizes,
                std::size_t dim, std::size_t& at) {
  if (dim == sizes.size()) {
    text += bytes[at++] != 0 ? "true" : "false";
    return;
  }
  text += '[';
  for (std::int64_t i = 0; i < sizes[dim]; ++i) {
    if (i > 0) text += ", ";
    add_nested(text, bytes, sizes, dim + 1, at);
  }
  text += ']';
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f && c != '"' && c != '\\')
      made += c;
    else
      made += fmt::format("\\{:02X}", byte);
  }
  return made + '"';
}

std::string value_name(std::string_view name) {
  std::string made;
  if (name.empty() || is_digit(name.front())) made = "v";
  for (const char c : name) made += is_letter(c) || is_digit(c) || c == '.' ? c : '_';
  return made;
}

std::string real_literal(double value) {
  if (!std::isfinite(value)) return fmt::format("0x{:016X}", std::bit_cast<std::uint64_t>(value));
  std::string text = fmt::format("{}", value);
  if (text.find('.') != std::string::npos) return text;
  const auto exponent = text.find('e');
  return exponent == std::string::npos ? text + ".0" : text.insert(exponent, ".0");
}

std::string element_literal(double value, DType dtype) {
  if (is_boolean(dtype)) return value != 0 ? "true" : "false";
  if (std::isfinite(value)) return real_literal(round_to(value, dtype));
  switch (dtype) {
    case DType::float16:
      return fmt::format("0x{:04X}", to_float16(value));
    case DType::bfloat16:
      return fmt::format("0x{:04X}", to_bfloat16(value));
    case DType::float32:
      return fmt::format("0x{:08X}", std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    default:
      return real_literal(value);
  }
}

std::string tensor_type(const TensorType& type) {
  std::string sizes;
  for (const SymExpr& size : type.sizes) {
    if (!sizes.empty()) sizes += ',';
    const auto number = size.constant();
    sizes += number ? fmt::format("{}", *number) : "?";
  }
  return fmt::format("!torch.vtensor<[{}],{}>", sizes, element_type(type.dtype, true));
}

std::string builtin_type(DType dtype, const std::vector<std::int64_t>& sizes, bool sign) {
  std::string text;
  for (const std::int64_t size : sizes) text += fmt::format("{}x", size);
  return fmt::format("tensor<{}{}>", text, element_type(dtype, sign));
}

std::string nested_bools(std::string_view bytes, const std::vector<std::int64_t>& sizes) {
  std::string text;
  std::size_t at = 0;
  add_nested(text, bytes, sizes, 0, at);
  return text;
}

std::string hexadecimal(std::string_view bytes) {
  std::string text = "\"0x";
  text.reserve(bytes.size() * 2 + 16);
  text += kAlignment;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text + '"';
}

}  // namespace penstock::mlir
