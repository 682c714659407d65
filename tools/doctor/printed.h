#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::tools {

/// How what two runs printed compares.
struct PrintedDifference {
  enum class Kind : std::uint8_t {
    same,     ///< byte for byte
    rounded,  ///< but for the last digits of numbers
    differs,
  };
  Kind kind = Kind::same;
  int lines = 0;              ///< of the first
  int line = 0;               ///< differs: the first line that does, from 1
  std::string first, second;  ///< it, in both
};

/// Compares two texts. Numbers with a point or an exponent are the same where they differ by at
/// most a thousandth, or by 1e-5: sums in another order are rounded otherwise.
PrintedDifference compare_printed(std::string_view first, std::string_view second);

}  // namespace penstock::tools
