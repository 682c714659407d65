// Images sampled at places that a tensor gives: places as torch computes them, and a gather for
// each corner.
#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

ValueId with(Decomposition& d, const char* prim, ValueId x, Argument other) {
  return d.binary(prim, value_argument(x), std::move(other));
}

enum class Padding : std::uint8_t { zeros, border, reflection };

/// How a grid's numbers become places along one dim of an image.
struct Placing {
  double size;
  Padding padding;
  bool align_corners;
};

ValueId reflected(Decomposition& d, ValueId place, const Placing& p) {
  const double half = p.align_corners ? 0 : 0.5, span = p.size - 1 + 2 * half;
  if (span == 0) return d.full(d.sizes(place), 0.0, d.dtype_of(place));
  ValueId away = d.unary("abs", with(d, "add", place, half));
  ValueId turns = d.unary("trunc", with(d, "div", away, 2 * span));
  ValueId rest = with(d, "sub", away, value_argument(with(d, "mul", turns, 2 * span)));
  ValueId back = d.binary("sub", 2 * span, value_argument(rest));
  return with(d, "sub", with(d, "minimum", rest, value_argument(back)), half);
}

ValueId place_of(Decomposition& d, ValueId coordinate, const Placing& p) {
  const double scale = (p.align_corners ? p.size - 1 : p.size) / 2;
  ValueId place = with(d, "mul", with(d, "add", coordinate, 1.0), scale);
  if (!p.align_corners) place = with(d, "sub", place, 0.5);
  if (p.padding == Padding::zeros) return place;
  if (p.padding == Padding::reflection) place = reflected(d, place, p);
  // NaN is the first element.
  place = d.where(d.unary("isnan", place), 0.0, value_argument(place));
  return with(d, "minimum", with(d, "maximum", place, 0.0), p.size - 1);
}

/// Along one dim: the places of the elements to take, their weights (none where there is one), and
/// whether they are.
struct Tap {
  ValueId place, weight, inside;
};

Tap tap_at(Decomposition& d, ValueId place, ValueId weight, double size) {
  ValueId inside = d.binary("and", value_argument(with(d, "ge", place, 0.0)),
                            value_argument(with(d, "le", place, size - 1)));
  ValueId kept = with(d, "minimum", with(d, "maximum", place, 0.0), size - 1);
  ValueId whole =
      with(d, "maximum", d.convert(kept, DType::int64), std::int64_t{0});  // NaN has none
  return {whole, weight, inside};
}

std::vector<Tap> taps_of(Decomposition& d, ValueId place, bool nearest, double size) {
  if (nearest) return {tap_at(d, d.unary("round", place), kNoValue, size)};
  ValueId first = d.unary("floor", place), behind = with(d, "sub", place, value_argument(first));
  ValueId before = d.binary("sub", 1.0, value_argument(behind));
  return {tap_at(d, first, before, size), tap_at(d, with(d, "add", first, 1.0), behind, size)};
}

struct Sampling {
  ValueId image;                            ///< [N, C, elements]
  std::vector<SymExpr> image_sizes, sizes;  ///< of the image's spatial dims; [N, C, samples]
  bool zeros;
};

/// The elements at one corner, weighed.
ValueId corner(Decomposition& d, const Sampling& s, const std::vector<Tap>& taps) {
  ValueId place = taps.front().place, weight = taps.front().weight, inside = taps.front().inside;
  for (std::size_t i = 1; i < taps.size(); ++i) {
    place = d.binary(
        "add",
        value_argument(with(d, "mul", place, Decomposition::integer_argument(s.image_sizes[i]))),
        value_argument(taps[i].place));
    if (weight != kNoValue)
      weight = d.binary("mul", value_argument(weight), value_argument(taps[i].weight));
    inside = d.binary("and", value_argument(inside), value_argument(taps[i].inside));
  }
  auto for_channels = [&](ValueId x) { return d.broadcast(x, s.sizes, {0, 2}); };
  ValueId picked = d.emit("prim.gather", {arg("self", value_argument(s.image)),
                                          arg("index", value_argument(for_channels(place))),
                                          arg("dim", std::int64_t{2})});
  auto masked = [&](ValueId x) {
    return s.zeros ? d.where(for_channels(inside), value_argument(x), 0.0) : x;
  };
  auto weighed = [&](ValueId x) {
    return weight == kNoValue
               ? x
               : d.binary("mul", value_argument(x), value_argument(for_channels(weight)));
  };
  // Over two dims torch weighs the zeros too, which shows where a weight is NaN.
  return taps.size() == 2 ? weighed(masked(picked)) : masked(weighed(picked));
}

/// The coordinates of a dim of images of `size`, from -1 to 1, as torch spaces them.
ValueId spaced(Decomposition& d, std::int64_t size, bool align_corners, DType dtype) {
  if (size <= 1) return d.full({SymExpr(size)}, 0.0, dtype);
  const double step = 2.0 / static_cast<double>(size - 1);
  ValueId index = d.iota(SymExpr(size));
  auto real = [&](ValueId x) { return d.convert(x, dtype); };
  ValueId ascending = with(d, "add", with(d, "mul", real(index), step), -1.0);
  ValueId from_end = d.binary("sub", size - 1, value_argument(index));
  ValueId descending = d.binary("sub", 1.0, value_argument(with(d, "mul", real(from_end), step)));
  ValueId all = d.where(with(d, "lt", index, size / 2), value_argument(ascending),
                        value_argument(descending));
  if (align_corners) return all;
  return with(d, "div", with(d, "mul", all, static_cast<double>(size - 1)),
              static_cast<double>(size));
}

}  // namespace

void grid_sample(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty()) return;
  ValueId image = d.value("input"), grid = d.value("grid");
  const std::vector<SymExpr> sizes = d.sizes(image), result = types.front().sizes;
  const std::size_t dims = sizes.size() - 2;
  const auto padding = static_cast<Padding>(d.constant("padding_mode", 0));
  const bool nearest = d.constant("interpolation_mode", 0) == 1,
             align = d.boolean("align_corners", false);
  Sampling s{kNoValue,
             {sizes.begin() + 2, sizes.end()},
             {result[0], result[1], element_count({result.begin() + 2, result.end()})},
             padding == Padding::zeros};
  for (const SymExpr& size : s.image_sizes) {
    if (!size.constant()) return d.keep();
  }
  s.image = d.reshape(image, {sizes[0], sizes[1], element_count(s.image_sizes)});
  grid = d.reshape(grid, {result[0], s.sizes[2], SymExpr(static_cast<std::int64_t>(dims))});
  std::vector<std::vector<Tap>> taps;
  for (std::size_t i = 0; i < dims && !d.failed(); ++i) {
    const auto size = static_cast<double>(*s.image_sizes[i].constant());
    ValueId own =
        d.slice(grid, 2, SymExpr(static_cast<std::int64_t>(dims - 1 - i)), SymExpr(1), SymExpr(1));
    taps.push_back(
        taps_of(d, place_of(d, d.reshape(own, {result[0], s.sizes[2]}), {size, padding, align}),
                nearest, size));
  }
  ValueId sum = kNoValue;
  const std::size_t corners = nearest ? 1 : std::size_t{1} << dims;
  for (std::size_t c = 0; c < corners && !d.failed(); ++c) {
    std::vector<Tap> at;
    for (std::size_t i = 0; i < dims; ++i) at.push_back(taps[i][c >> (dims - 1 - i) & 1]);
    ValueId term = corner(d, s, at);
    sum = sum == kNoValue ? term : d.binary("add", value_argument(sum), value_argument(term));
  }
  if (!d.failed()) d.result(d.unary("clone", d.reshape(sum, result)));
}

void affine_grid(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty()) return;
  const std::vector<SymExpr> sizes = types.front().sizes;
  const std::size_t dims = sizes.size() - 2;
  ValueId theta = d.value("theta"), sum = kNoValue;
  const DType dtype = types.front().dtype;
  for (std::size_t i = 0; i < dims; ++i) {
    if (!sizes[1 + i].constant()) return d.keep();
  }
  auto column = [&](std::size_t i) {
    ValueId own = d.slice(theta, 2, SymExpr(static_cast<std::int64_t>(i)), SymExpr(1), SymExpr(1));
    return d.broadcast(d.reshape(own, {sizes[0], sizes.back()}), sizes,
                       {0, static_cast<std::int64_t>(dims) + 1});
  };
  for (std::size_t i = 0; i < dims && !d.failed(); ++i) {
    const std::size_t dim = dims - i;  // the last dim's coordinate is the first number
    ValueId at = spaced(d, *sizes[dim].constant(), d.boolean("align_corners", false), dtype);
    ValueId term = with(d, "mul", column(i),
                        value_argument(d.broadcast(at, sizes, {static_cast<std::int64_t>(dim)})));
    sum = sum == kNoValue ? term : d.binary("add", value_argument(sum), value_argument(term));
  }
  if (!d.failed()) d.result(d.binary("add", value_argument(sum), value_argument(column(dims))));
}

void max_unpool(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty()) return;
  const auto dims = static_cast<std::ptrdiff_t>(ops::spatial_dims(d.op().name));
  ValueId self = d.value("self"), indices = d.value("indices");
  const std::vector<SymExpr> own = d.sizes(self), sizes = types.front().sizes;
  auto flat = [&](const std::vector<SymExpr>& all) {
    return std::vector<SymExpr>{element_count({all.begin(), all.end() - dims}),
                                element_count({all.end() - dims, all.end()})};
  };
  ValueId zeros = d.full(flat(sizes), 0.0, types.front().dtype);
  ValueId placed =
      d.emit("prim.scatter",
             {arg("self", value_argument(zeros)),
              arg("index", value_argument(d.reshape(indices, flat(own)))),
              arg("src", value_argument(d.reshape(self, flat(own)))), arg("dim", std::int64_t{1})});
  if (!d.failed()) d.result(d.unary("clone", d.reshape(placed, sizes)));
}

}  // namespace penstock::passes
