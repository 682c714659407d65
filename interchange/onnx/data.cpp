#include "interchange/onnx/data.h"

#include <cstring>

#include "ir/float_format.h"

namespace penstock::onnx {

namespace {

template <class T>
void append(std::string& out, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  out.append(raw, sizeof raw);
}

void append_real(std::string& out, DType dtype, double value) {
  switch (dtype) {
    case DType::float64:
      return append(out, value);
    case DType::float32:
      return append(out, static_cast<float>(value));
    case DType::float16:
      return append(out, to_float16(value));
    default:
      return append(out, to_bfloat16(value));
  }
}

void append_integer(std::string& out, DType dtype, std::int64_t value) {
  if (is_boolean(dtype)) value = value != 0;
  // The low bytes, as the machine is little-endian.
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  out.append(raw, static_cast<std::size_t>(facts(dtype).size));
}

}  // namespace

std::string elements(DType dtype, const std::vector<double>& values) {
  std::string out;
  for (double value : values) {
    if (is_floating(dtype))
      append_real(out, dtype, value);
    else
      append_integer(out, dtype,
                     value >= -0x1p63 && value < 0x1p63 ? static_cast<std::int64_t>(value) : 0);
  }
  return out;
}

std::string elements(DType dtype, const std::vector<std::int64_t>& values) {
  std::string out;
  for (std::int64_t value : values) {
    if (is_floating(dtype))
      append_real(out, dtype, static_cast<double>(value));
    else
      append_integer(out, dtype, value);
  }
  return out;
}

}  // namespace penstock::onnx
