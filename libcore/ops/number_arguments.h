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

/// True where `parameter` of `op` says how large something is, or where it lies, though its schema
/// takes it for any number: it may be an expression of symbolic sizes, as a parameter of type
/// SymInt may.
bool takes_size(std::string_view op, std::string_view parameter);

}  // namespace penstock::ops
