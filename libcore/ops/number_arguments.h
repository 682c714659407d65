#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/number.h"

namespace penstock::ops {

/// How an op takes a graph input that stands for a Python number (InputKind::scalar).
enum class NumberArgument : std::uint8_t {
  refused,   ///< not at all: the number must be a literal
  wrapped,   ///< as a tensor without dims that promotes as a number, or as a C++ double
  divisor,   ///< as `wrapped`, but the division of integers by 0 is torch's error
  checked,   ///< likewise, but torch refuses a number that the tensor's dtype cannot hold
  promoted,  ///< likewise, but it is the dtype that comes of the tensor and the number
  exponent,  ///< as `promoted`, but the power of integers below 0 is torch's error
};

/// What must hold of the number wherever an entry runs: beyond it torch raises, or computes
/// something else.
struct NumberBound {
  NumberOp comparison;
  double than;
};

struct NumberTaken {
  NumberArgument how = NumberArgument::refused;
  std::array<std::optional<NumberBound>, 2> bounds = {};
};

/// Of `parameter`, which the schema says is of `type` ("Scalar?"), of `op` ("aten.add_.Tensor").
/// An op takes any parameter that is a number so, unless a row says otherwise: one that is not
/// taken apart for such inputs is torch's call in the graph.
NumberTaken number_argument(std::string_view op, std::string_view parameter, std::string_view type);

/// True where `parameter` of `op` says how large something is, or where it lies, though its schema
/// takes it for any number: it may be an expression of symbolic sizes, as a parameter of type
/// SymInt may.
bool takes_size(std::string_view op, std::string_view parameter);

}  // namespace penstock::ops
