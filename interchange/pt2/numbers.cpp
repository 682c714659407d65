#include "interchange/pt2/numbers.h"

namespace penstock::pt2 {

namespace {

struct DTypeRow {
  std::int64_t number;
  DType dtype;
};
constexpr DTypeRow kDTypes[] = {
#define PS_PT2_DTYPE(number, dtype) {number, DType::dtype},
#include "interchange/pt2/numbers.def"
#undef PS_PT2_DTYPE
};
constexpr std::size_t kKnown = 0
#define PS_DTYPE(name, size, category, torch, safetensors) +1
#include "ir/dtypes.def"
#undef PS_DTYPE
    ;
static_assert(sizeof(kDTypes) / sizeof(DTypeRow) == kKnown, "every dtype has a number");

struct FormatRow {
  std::int64_t number;
  std::string_view name;
};
constexpr FormatRow kFormats[] = {
#define PS_PT2_FORMAT(number, name) {number, #name},
#include "interchange/pt2/numbers.def"
#undef PS_PT2_FORMAT
};

}  // namespace

std::optional<DType> dtype_of(std::int64_t number) {
  for (const DTypeRow& row : kDTypes) {
    if (row.number == number) return row.dtype;
  }
  return std::nullopt;
}

std::int64_t number_of(DType dtype) {
  for (const DTypeRow& row : kDTypes) {
    if (row.dtype == dtype) return row.number;
  }
  return 0;
}

std::optional<std::string_view> memory_format_of(std::int64_t number) {
  for (const FormatRow& row : kFormats) {
    if (row.number == number) return row.name;
  }
  return std::nullopt;
}

std::optional<std::int64_t> number_of_memory_format(std::string_view name) {
  for (const FormatRow& row : kFormats) {
    if (row.name == name) return row.number;
  }
  return std::nullopt;
}

}  // namespace penstock::pt2
