#include "ops/interpolation.h"

#include <cmath>

namespace penstock::ops {

Interpolation interpolation_of(std::string_view op, bool align_corners) {
  auto has = [&](std::string_view word) { return op.find(word) != std::string_view::npos; };
  return {has("nearest"), has("exact"), has("cubic"), align_corners};
}

double source_step(const Interpolation& kind, std::int64_t from, std::int64_t to, double scale) {
  if (kind.align_corners)
    return to > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0;
  return scale > 0 ? 1 / scale : static_cast<double>(from) / static_cast<double>(to);
}

double cubic_weight(double distance) {
  constexpr double a = -0.75;
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

std::vector<double> scale_factors(Arguments& arguments) {
  std::vector<double> scales;
  const Argument* given = arguments.find("scale_factors");
  const auto* list = given ? given->as<Argument::Sequence>() : nullptr;
  for (const Argument& item : list ? list->items : std::vector<Argument>{}) {
    if (const auto* real = item.as<double>())
      scales.push_back(*real);
    else if (const auto* whole = item.as<std::int64_t>())
      scales.push_back(static_cast<double>(*whole));
    else
      arguments.fail("scale_factors must be plain numbers");
  }
  return scales;
}

}  // namespace penstock::ops
