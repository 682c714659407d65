#include "ir/dtype.h"

namespace penstock {

namespace {

constexpr std::string_view plain_name(std::string_view name) {
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

constexpr DTypeFacts kRows[] = {
#define PS_DTYPE(name, size, category, torch, safetensors) \
  {DType::name, plain_name(#name), size, DTypeCategory::category, torch, safetensors},
#include "ir/dtypes.def"
#undef PS_DTYPE
};

template <class Same>
std::optional<DType> find(Same same) {
  for (const DTypeFacts& row : kRows) {
    if (same(row)) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace

const DTypeFacts& facts(DType dtype) {
  return kRows[static_cast<int>(dtype)];
}

std::optional<DType> dtype_from_name(std::string_view name) {
  return find([&](const DTypeFacts& row) { return row.name == name; });
}

std::optional<DType> dtype_from_torch(int scalar_type) {
  return find([&](const DTypeFacts& row) { return row.torch_scalar_type == scalar_type; });
}

std::optional<DType> dtype_from_safetensors(std::string_view name) {
  return find([&](const DTypeFacts& row) { return row.safetensors == name; });
}

}  // namespace penstock
