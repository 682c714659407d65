#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock {

/// Element type of a tensor; the rows are in ir/dtypes.def.
enum class DType : std::uint8_t {
#define PS_DTYPE(name, size, category, torch, safetensors) name,
#include "ir/dtypes.def"
#undef PS_DTYPE
};

/// What type promotion compares: a higher category wins over any size of a lower one.
enum class DTypeCategory : std::uint8_t { boolean, integral, floating, complex };

/// The facts of one row of dtypes.def.
struct DTypeFacts {
  DType dtype;
  std::string_view name;  ///< "float32"; bool_ is "bool"
  int size;               ///< bytes per element
  DTypeCategory category;
  int torch_scalar_type;  ///< c10::ScalarType
  std::string_view safetensors;
};

const DTypeFacts& facts(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);
std::optional<DType> dtype_from_torch(int scalar_type);
std::optional<DType> dtype_from_safetensors(std::string_view name);

inline bool is_floating(DType t) {
  return facts(t).category == DTypeCategory::floating;
}
inline bool is_integral(DType t) {
  return facts(t).category == DTypeCategory::integral;
}
inline bool is_boolean(DType t) {
  return t == DType::bool_;
}
inline bool is_complex(DType t) {
  return facts(t).category == DTypeCategory::complex;
}

}  // namespace penstock
