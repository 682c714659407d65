#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "ir/dtype.h"
#include "torch/state.h"

// torch.autocast: inside of it, a thread's calls of some ops convert their arguments on one device
// first (ATen/autocast_mode.cpp).
namespace penstock::torch {

/// What a thread's ops are cast to, and where.
struct Autocast {
  DType dtype;  ///< bfloat16 or float16
  CastDevice device;
  bool operator==(const Autocast&) const = default;
};

/// How this thread's ops are cast, where that is all that keeps them from running plainly
/// (torch/state.h). Nothing otherwise. A few nanoseconds where ops run plainly. Needs the GIL, and
/// torch imported.
std::optional<Autocast> autocast_state();

/// While it lives, ops of this thread do what their names say, though autocasting is on: what a
/// graph runs has its conversions in it. Does nothing where it is off.
class WithoutAutocast {
 public:
  WithoutAutocast() : were_on_(turn_autocast_off()) {}
  ~WithoutAutocast() {
    if (were_on_ != 0) turn_autocast_on(were_on_);
  }
  WithoutAutocast(const WithoutAutocast&) = delete;
  WithoutAutocast& operator=(const WithoutAutocast&) = delete;

 private:
  unsigned were_on_;  ///< devices
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
  CastPolicy of(const std::string& op, CastDevice device);

 private:
  std::array<std::unordered_map<std::string, CastPolicy>, 2> known_;  ///< by device
};

}  // namespace penstock::torch
