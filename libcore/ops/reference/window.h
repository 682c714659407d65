#pragma once

#include <string_view>
#include <vector>

#include "ops/reference/reference.h"

// Images of one to three spatial dims, and windows that move over them. Sizes are N, C, depth,
// height, width, so that one loop nest serves all.
namespace penstock::ops::reference {

/// The argument with one entry for each dim; one entry stands for all, none for `otherwise`.
std::vector<std::int64_t> per_dim(Evaluation& e, std::string_view name, std::size_t dims,
                                  std::int64_t otherwise);

/// `sizes` with a batch and with three spatial dims.
Shape five(Shape sizes, std::size_t spatial);
/// `values` with `fill` for the spatial dims that lack.
std::vector<std::int64_t> three(std::vector<std::int64_t> values, std::int64_t fill);

/// Calls visit(k0, k1, k2) for every tap of a window.
template <class Visit>
void for_each_tap(const Shape& window, const Visit& visit) {
  for (std::int64_t a = 0; a < window[0]; ++a) {
    for (std::int64_t b = 0; b < window[1]; ++b) {
      for (std::int64_t c = 0; c < window[2]; ++c) visit(Shape{a, b, c});
    }
  }
}

/// Position of tap `tap` for output `out`, per dim; false when it lies outside the image.
bool tap_place(const Shape& out, const Shape& tap, const Shape& stride, const Shape& padding,
               const Shape& dilation, const Shape& image, Shape& place);

/// The place of an element of a channel's image.
std::int64_t image_place(const Shape& image, std::int64_t batch, std::int64_t channel,
                         const Shape& at);

/// Coordinates of a flat index of N, C, D, H, W.
struct Pixel {
  std::int64_t batch, channel;
  Shape at;
};
Pixel pixel_of(const Shape& image, std::int64_t flat);

}  // namespace penstock::ops::reference
