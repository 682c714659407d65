#pragma once

namespace penstock::fusion {

/// Whether a GPU's reduction along columns, in which memory lies from column to column, has too few
/// of them to give each one thread: a block's threads share each, and wait for memory that lies
/// apart. It is made for what is left of a reduction in stages.
inline bool are_few_columns(double columns, double length) {
  constexpr double kFew = 8192, kLong = 128;
  return columns <= kFew && length >= kLong;
}

}  // namespace penstock::fusion
