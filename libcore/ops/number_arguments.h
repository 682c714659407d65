#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::ops {

/// How an op takes a graph input that stands for a Python number (InputKind::scalar).
enum class NumberArgument : std::uint8_t {
  refused,  ///< not at all: the number must be a literal
  wrapped,  ///< as a tensor without dims that promotes as a number
  checked,  ///< likewise, but torch refuses a number that the tensor's dtype cannot hold
};

/// Of `parameter` of `op` ("aten.add_.Tensor").
NumberArgument number_argument(std::string_view op, std::string_view parameter);

}  // namespace penstock::ops
