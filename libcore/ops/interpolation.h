#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/arguments.h"

namespace penstock::ops {

/// How an upsampling op finds elements between elements.
struct Interpolation {
  bool nearest = false, exact = false, cubic = false, align_corners = false;
};
Interpolation interpolation_of(std::string_view op, bool align_corners);

/// How many elements of `from` one of `to` steps over; `scale` is the factor that was given, or 0.
double source_step(const Interpolation& kind, std::int64_t from, std::int64_t to, double scale);

/// The weight of an element at `distance` in cubic interpolation (a = -0.75, as torch has it).
double cubic_weight(double distance);

/// The argument `scale_factors`; empty when it is absent.
std::vector<double> scale_factors(Arguments& arguments);

}  // namespace penstock::ops
