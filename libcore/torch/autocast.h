#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "ir/dtype.h"
#include "torch/state.h"

// torch.autocast on the CPU: inside of it, a thread's calls of some ops convert their arguments
// first (ATen/autocast_mode.cpp).
namespace penstock::torch {

/// The dtype that this thread's ops are cast to, where autocasting on the CPU is all that keeps
/// them from running plainly (torch/state.h): bfloat16 or float16. Nothing otherwise. A few
/// nanoseconds where ops run plainly. Needs the GIL, and torch imported.
std::optional<DType> autocast_dtype();

/// While it lives, ops of this thread do what their names say, though autocasting is on: what a
/// graph runs has its conversions in it. Does nothing where it is off.
class WithoutAutocast {
 public:
  WithoutAutocast() : was_on_(turn_autocast_off()) {}
  ~WithoutAutocast() {
    if (was_on_) turn_autocast_on();
  }
  WithoutAutocast(const WithoutAutocast&) = delete;
  WithoutAutocast& operator=(const WithoutAutocast&) = delete;

 private:
  bool was_on_;
};

/// What autocasting does to the floating arguments of an op; those of float64 stay as they are.
enum class CastPolicy : std::uint8_t {
  none,     ///< nothing
  lower,    ///< to the dtype of the region
  float32,  ///< to float32
  promote,  ///< to float32 if one of them is, else to the dtype of the region
  unknown,  ///< the op is made of others, of which some may convert
};

/// The policies of this torch's ops, by the kernels that it has registered. Needs the GIL.
class CastPolicies {
 public:
  /// `op` as torch's dispatcher spells it: "aten::add.Tensor".
  CastPolicy of(const std::string& op);

 private:
  std::unordered_map<std::string, CastPolicy> known_;
};

}  // namespace penstock::torch
