#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/dtype.h"

namespace penstock::pt2 {

/// By the rows of numbers.def.
std::optional<DType> dtype_of(std::int64_t number);
std::int64_t number_of(DType dtype);
std::optional<std::string_view> memory_format_of(std::int64_t number);
std::optional<std::int64_t> number_of_memory_format(std::string_view name);

/// The one layout that tensors have here.
inline constexpr std::int64_t kStrided = 7;

}  // namespace penstock::pt2
