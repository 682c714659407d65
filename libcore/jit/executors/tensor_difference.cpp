#include "jit/executors/tensor_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/host_tensor.h"
#include "ops/promotion.h"

namespace penstock::jit {
namespace {

using ops::HostTensor;
using torch::TensorView;

/// The error of a result is max|a-b| / (max|b| + 1e-6), as `run --check` has it.
constexpr double kTolerance = 1e-3;
/// Units in the last place that fused arithmetic may be off by, where these are coarser than the
/// tolerance.
constexpr double kHalfTolerance = 2e-3, kBrainTolerance = 1.6e-2;

double tolerance_of(DType dtype) {
  if (dtype == DType::bfloat16) return kBrainTolerance;
  return dtype == DType::float16 ? kHalfTolerance : kTolerance;
}

bool same_strides(const TensorView& a, const TensorView& b) {
  if (std::ranges::find(a.sizes, 0) != a.sizes.end()) return true;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    if (a.sizes[i] != 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

/// A tensor's elements in memory of their own, one behind the other. A complex number is two real
/// ones.
HostTensor copy(const TensorView& view, DType dtype) {
  std::vector<std::int64_t> sizes(view.sizes.begin(), view.sizes.end());
  const auto element = static_cast<std::size_t>(facts(dtype).size);
  if (is_complex(dtype)) sizes.push_back(2);
  HostTensor result = HostTensor::contiguous(ops::real_dtype(dtype), std::move(sizes));
  std::byte* to = result.memory->data();
  std::vector<std::int64_t> index(view.sizes.size());
  const bool empty = std::ranges::find(view.sizes, 0) != view.sizes.end();
  for (bool more = !empty; more;) {
    std::int64_t place = 0;
    for (std::size_t dim = 0; dim < index.size(); ++dim) place += index[dim] * view.strides[dim];
    const auto* from =
        static_cast<const std::byte*>(view.data) + place * static_cast<std::int64_t>(element);
    std::memcpy(to, from, element);
    to += element;
    more = false;
    for (std::size_t dim = index.size(); dim-- > 0 && !more;) {
      more = ++index[dim] < view.sizes[dim];
      if (!more) index[dim] = 0;
    }
  }
  return result;
}

std::optional<std::string> real_difference(const HostTensor& ours, const HostTensor& expected,
                                           double tolerance) {
  const std::vector<double> a = ours.reals(), b = expected.reals();
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool special = !std::isfinite(a[i]) || !std::isfinite(b[i]);
    if (special) {
      const bool same = std::isnan(a[i]) ? std::isnan(b[i]) : a[i] == b[i];
      if (!same) return fmt::format("element {} is {}, not {}", i, a[i], b[i]);
      continue;
    }
    worst = std::max(worst, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  const double error = worst / (largest + 1e-6);
  if (error <= tolerance) return std::nullopt;
  return fmt::format("its elements are off by {:.3g} of the largest one", error);
}

}  // namespace

std::optional<std::string> layout_difference(const TensorView& ours, const TensorView& expected) {
  const auto dtype = dtype_from_torch(ours.dtype), other = dtype_from_torch(expected.dtype);
  if (!dtype || !other || dtype != other) return std::string("it has another dtype");
  if (!std::ranges::equal(ours.sizes, expected.sizes)) {
    return fmt::format("its sizes are [{}], not [{}]", fmt::join(ours.sizes, ", "),
                       fmt::join(expected.sizes, ", "));
  }
  if (!same_strides(ours, expected)) {
    return fmt::format("its strides are [{}], not [{}]", fmt::join(ours.strides, ", "),
                       fmt::join(expected.strides, ", "));
  }
  return std::nullopt;
}

std::optional<std::string> difference(const TensorView& ours, const TensorView& expected) {
  if (auto how = layout_difference(ours, expected)) return how;
  const auto dtype = dtype_from_torch(ours.dtype);
  const HostTensor a = copy(ours, *dtype), b = copy(expected, *dtype);
  if (is_floating(a.dtype)) return real_difference(a, b, tolerance_of(*dtype));
  const std::vector<std::int64_t> x = a.integers(), y = b.integers();
  const auto [at, wanted] = std::ranges::mismatch(x, y);
  if (at == x.end()) return std::nullopt;
  return fmt::format("element {} is {}, not {}", at - x.begin(), *at, *wanted);
}

}  // namespace penstock::jit
