// Reductions, scans, softmax, normalisation, losses.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "ir/float_format.h"
#include "ops/reference/reference.h"

namespace penstock::ops::reference {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Row = std::vector<double>;

std::vector<std::int64_t> reduced_dims(Evaluation& e, std::size_t rank) {
  return e.dims(e.op().is_prim() ? "dims" : "dim", rank);
}

/// Gives every row of the reduced dims to `f` and stores what it returns, in result `i`.
template <class F>
void reduce(Evaluation& e, const F& f, std::size_t i = 0, std::string_view name = "self") {
  Array x = e.array(name);
  if (e.failed()) return;
  bool none = e.op().is_prim() && e.constants("dims").empty() && e.op().result == PrimResult::same;
  Array table = none ? with_sizes(x,
                                  [&] {
                                    Shape s = x.sizes;
                                    s.push_back(1);
                                    return s;
                                  }())
                     : rows(x, reduced_dims(e, x.rank()));
  std::int64_t length = table.sizes.back();
  Shape kept(table.sizes.begin(), table.sizes.end() - 1);
  Array result = filled(kept, 0);
  for (std::int64_t r = 0; r < result.count(); ++r) {
    result.values[r] =
        f(Row(table.values.begin() + r * length, table.values.begin() + (r + 1) * length));
  }
  e.store(with_sizes(result, e.result(i).sizes), i);
}

/// Sums go through long double, so that their error is below what any float32 sum shows.
double total(const Row& row) {
  long double sum = 0;
  for (double x : row) sum += x;
  return static_cast<double>(sum);
}

double greatest(const Row& row) {
  double best = -kInfinity;
  for (double x : row) best = scalar::maximum_.real(best, x);
  return best;
}

double least(const Row& row) {
  double best = kInfinity;
  for (double x : row) best = scalar::minimum_.real(best, x);
  return best;
}

/// The first extreme; NaN is extreme.
double position(const Row& row, int sign) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (std::isnan(row[best])) break;
    if (std::isnan(row[i]) || sign * row[i] > sign * row[best]) best = i;
  }
  return static_cast<double>(best);
}

double mean_of(const Row& row) {
  return total(row) / static_cast<double>(row.size());
}

double deviations(const Row& row) {
  double mean = mean_of(row), sum = 0;
  for (double x : row) sum += (x - mean) * (x - mean);
  return sum;
}

/// Sums of integers are exact beyond 2^53 as well.
void sum_integers(Evaluation& e) {
  HostTensor exact = e.host("self");
  Array places = {exact.sizes, {}};
  for (std::int64_t place : exact.places()) places.values.push_back(static_cast<double>(place));
  Array table = rows(places, reduced_dims(e, places.rank()));
  std::int64_t length = table.sizes.back();
  std::vector<std::int64_t> sums(static_cast<std::size_t>(e.result().count()), 0);
  for (std::size_t r = 0; r < sums.size(); ++r) {
    for (std::int64_t i = 0; i < length; ++i) {
      sums[r] += exact.integer_at(static_cast<std::int64_t>(table.values[r * length + i]));
    }
  }
  e.result().assign(sums);
}

}  // namespace

void sum(Evaluation& e) {
  if (!is_floating(e.host("self").dtype) && !is_floating(e.result().dtype) &&
      e.host("self").count() > 0)
    return sum_integers(e);
  reduce(e, total);
}
void mean(Evaluation& e) {
  reduce(e, mean_of);
}
void prod(Evaluation& e) {
  reduce(e, [](const Row& row) {
    double result = 1;
    for (double x : row) result *= x;
    return result;
  });
}
void amax(Evaluation& e) {
  reduce(e, greatest);
}
void amin(Evaluation& e) {
  reduce(e, least);
}
void argmax(Evaluation& e) {
  reduce(e, [](const Row& row) { return position(row, 1); });
}
void argmin(Evaluation& e) {
  reduce(e, [](const Row& row) { return position(row, -1); });
}
void max_dim(Evaluation& e) {
  reduce(e, greatest);
  reduce(
      e, [](const Row& row) { return position(row, 1); }, 1);
}
void min_dim(Evaluation& e) {
  reduce(e, least);
  reduce(
      e, [](const Row& row) { return position(row, -1); }, 1);
}
void any(Evaluation& e) {
  reduce(e, [](const Row& row) {
    for (double x : row)
      if (x != 0) return 1.0;
    return 0.0;
  });
}
void all(Evaluation& e) {
  reduce(e, [](const Row& row) {
    for (double x : row)
      if (x == 0) return 0.0;
    return 1.0;
  });
}
void count_nonzero(Evaluation& e) {
  reduce(e, [](const Row& row) {
    double count = 0;
    for (double x : row) count += x != 0;
    return count;
  });
}
void prim_welford(Evaluation& e) {
  reduce(e, mean_of);
  reduce(e, deviations, 1);
}

void variance(Evaluation& e) {
  double correction = e.has("correction")           ? e.real("correction", 1)
                      : e.boolean("unbiased", true) ? 1
                                                    : 0;
  bool root = e.base_name().starts_with("std");
  reduce(e, [&](const Row& row) {
    double value = deviations(row) / std::fmax(static_cast<double>(row.size()) - correction, 0);
    return root ? std::sqrt(value) : value;
  });
  if (e.results().size() > 1) reduce(e, mean_of, 1);
}

void vector_norm(Evaluation& e) {
  double order = e.real(e.has("ord") ? "ord" : "p", 2);
  reduce(e, [&](Row row) {
    for (double& x : row) x = std::fabs(x);
    if (std::isinf(order)) return order > 0 ? (row.empty() ? 0 : greatest(row)) : least(row);
    for (double& x : row) x = order == 0 ? x != 0 : std::pow(x, order);
    return order == 0 ? total(row) : std::pow(total(row), 1 / order);
  });
}

void logsumexp(Evaluation& e) {
  reduce(e, [](const Row& row) {
    double top = greatest(row), shift = std::isinf(top) ? 0 : top, sum = 0;
    for (double x : row) sum += std::exp(x - shift);
    return std::log(sum) + shift;
  });
}

namespace {

/// Replaces every strip along dim by what `f` makes of it, in place.
template <class F>
void along(Evaluation& e, std::string_view name, const F& f) {
  Array x = e.array(name);
  if (e.failed()) return;
  Strip strip = strip_of(x.sizes, e.dim("dim", -1, x.rank()));
  Row row(static_cast<std::size_t>(strip.size));
  for (std::int64_t o = 0; o < strip.outer; ++o) {
    for (std::int64_t r = 0; r < strip.inner; ++r) {
      double* first = x.values.data() + o * strip.size * strip.inner + r;
      for (std::int64_t i = 0; i < strip.size; ++i) row[i] = first[i * strip.inner];
      f(row);
      for (std::int64_t i = 0; i < strip.size; ++i) first[i * strip.inner] = row[i];
    }
  }
  e.store(x);
}

void soften(Row& row, bool logarithm) {
  double top = greatest(row), sum = 0;
  for (double& x : row) {
    x -= top;
    sum += std::exp(x);
  }
  for (double& x : row) x = logarithm ? x - std::log(sum) : std::exp(x) / sum;
}

}  // namespace

void cumsum(Evaluation& e) {
  along(e, "self", [](Row& row) {
    for (std::size_t i = 1; i < row.size(); ++i) row[i] += row[i - 1];
  });
}
void cumprod(Evaluation& e) {
  along(e, "self", [](Row& row) {
    for (std::size_t i = 1; i < row.size(); ++i) row[i] *= row[i - 1];
  });
}

void softmax(Evaluation& e) {
  bool logarithm = e.op().name.find("log") != std::string_view::npos;
  along(e, "self", [&](Row& row) { soften(row, logarithm); });
}

namespace {

/// What normalisation by rows needs; `period` elements share one weight after `row`-wise
/// statistics.
struct Normalization {
  std::int64_t rows, length;
  double eps;
};

/// Normalises rows in place; means and inverse deviations go to the results behind the first.
void normalize_rows(Evaluation& e, Array& x, const Normalization& n) {
  Array means = filled({n.rows}, 0), inverses = filled({n.rows}, 0);
  for (std::int64_t r = 0; r < n.rows; ++r) {
    auto first = x.values.begin() + r * n.length;
    Row row(first, first + n.length);
    double mean = mean_of(row),
           inverse = 1 / std::sqrt(deviations(row) / static_cast<double>(n.length) + n.eps);
    for (std::int64_t i = 0; i < n.length; ++i) first[i] = (row[i] - mean) * inverse;
    means.values[r] = mean;
    inverses.values[r] = inverse;
  }
  if (e.results().size() < 3) return;
  e.store(with_sizes(means, e.result(1).sizes), 1);
  e.store(with_sizes(inverses, e.result(2).sizes), 2);
}

void scale_and_shift(Evaluation& e, Array& x, const Shape& shape) {
  if (e.has("weight")) x = zip(x, with_sizes(e.array("weight"), shape), scalar::mul_.real);
  if (e.has("bias")) x = zip(x, with_sizes(e.array("bias"), shape), scalar::add_.real);
}

Shape channel_shape(const Array& x) {
  Shape shape(x.rank(), 1);
  shape[1] = x.sizes[1];
  return shape;
}

}  // namespace

void layer_norm(Evaluation& e) {
  Array x = e.array("input");
  std::vector<std::int64_t> shape = e.constants("normalized_shape");
  std::int64_t length = product(shape);
  normalize_rows(e, x, {length ? x.count() / length : 0, length, e.real("eps", 1e-5)});
  scale_and_shift(e, x, shape);
  e.store(x);
}
void native_layer_norm(Evaluation& e) {
  layer_norm(e);
}

void group_norm(Evaluation& e) {
  Array x = e.array("input");
  std::int64_t groups = e.constant(e.has("group") ? "group" : "num_groups", 1),
               rows = x.sizes[0] * groups;
  normalize_rows(e, x, {rows, rows ? x.count() / rows : 0, e.real("eps", 1e-5)});
  scale_and_shift(e, x, channel_shape(x));
  e.store(x);
}
void native_group_norm(Evaluation& e) {
  group_norm(e);
}

void rms_norm(Evaluation& e) {
  Array x = e.array("input");
  std::vector<std::int64_t> shape = e.constants("normalized_shape");
  std::int64_t length = product(shape);
  double eps = e.real("eps", epsilon(compute_dtype(e.host("input").dtype)));
  for (std::int64_t r = 0; length && r < x.count() / length; ++r) {
    double sum = 0;
    auto first = x.values.begin() + r * length;
    for (std::int64_t i = 0; i < length; ++i) sum += first[i] * first[i];
    double inverse = 1 / std::sqrt(sum / static_cast<double>(length) + eps);
    for (std::int64_t i = 0; i < length; ++i) first[i] *= inverse;
  }
  scale_and_shift(e, x, shape);
  e.store(x);
}

void batch_norm(Evaluation& e) {
  Array x = e.array("input");
  Shape shape = channel_shape(x);
  double eps = e.real("eps", 1e-5);
  Array mean, variance;
  if (e.boolean("training", false)) {
    Array table = rows(x, [&] {
      std::vector<std::int64_t> dims = {0};
      for (std::size_t i = 2; i < x.rank(); ++i) dims.push_back(static_cast<std::int64_t>(i));
      return dims;
    }());
    mean = variance = filled({x.sizes[1]}, 0);
    std::int64_t length = table.sizes.back();
    for (std::int64_t c = 0; c < x.sizes[1]; ++c) {
      Row row(table.values.begin() + c * length, table.values.begin() + (c + 1) * length);
      mean.values[c] = mean_of(row);
      variance.values[c] = deviations(row) / static_cast<double>(length);
    }
    double momentum = e.real("momentum", 0.1),
           unbias = static_cast<double>(length) / static_cast<double>(length - 1);
    for (auto [name, batch, factor] :
         {std::tuple("running_mean", &mean, 1.0), std::tuple("running_var", &variance, unbias)}) {
      if (!e.has(name)) continue;
      Array running = zip(e.array(name), *batch, [&](double old, double now) {
        return (1 - momentum) * old + momentum * now * factor;
      });
      e.host(name).assign(running.values);
    }
  } else {
    mean = e.array("running_mean");
    variance = e.array("running_var");
  }
  x = zip(x, with_sizes(mean, shape), scalar::sub_.real);
  x = zip(x, with_sizes(variance, shape),
          [&](double a, double v) { return a / std::sqrt(v + eps); });
  scale_and_shift(e, x, shape);
  e.store(x);
}
void instance_norm(Evaluation& e) {
  Array x = e.array("input");
  if (e.failed()) return;
  const Shape shape = channel_shape(x);
  const std::int64_t channels = x.sizes[1], images = x.sizes[0] * channels,
                     length = x.count() / std::max<std::int64_t>(images, 1);
  const double eps = e.real("eps", 1e-5), momentum = e.real("momentum", 0.1),
               batch = static_cast<double>(x.sizes[0]);
  const bool own = e.boolean("use_input_stats", true);
  Array given_mean = e.array_or("running_mean", 0), given_variance = e.array_or("running_var", 1);
  std::vector<double> means(channels, 0), variances(channels, 0);
  for (std::int64_t i = 0; i < images; ++i) {
    const std::int64_t c = i % channels;
    Row row(x.values.begin() + i * length, x.values.begin() + (i + 1) * length);
    const double mean = own ? mean_of(row) : given_mean.values[c];
    const double variance =
        own ? deviations(row) / static_cast<double>(length) : given_variance.values[c];
    means[c] += mean / batch;
    variances[c] +=
        variance * static_cast<double>(length) / static_cast<double>(length - 1) / batch;
    for (std::int64_t k = 0; k < length; ++k) {
      double& value = x.values[i * length + k];
      value = (value - mean) / std::sqrt(variance + eps);
    }
  }
  for (auto [name, old, now] : {std::tuple("running_mean", &given_mean, &means),
                                std::tuple("running_var", &given_variance, &variances)}) {
    if (!own || !e.has(name)) continue;
    for (std::int64_t c = 0; c < channels; ++c)
      old->values[c] = (1 - momentum) * old->values[c] + momentum * (*now)[c];
    e.host(name).assign(old->values);
  }
  scale_and_shift(e, x, shape);
  e.store(x);
}

void native_batch_norm(Evaluation& e) {
  batch_norm(e);
}

namespace {

/// The schema's `reduction` applied to losses; `weight` is what a mean divides by.
void store_reduced(Evaluation& e, const Array& losses, double weight) {
  std::int64_t reduction = e.constant("reduction", 1);
  if (reduction == 0) return e.store(losses);
  double sum = total(losses.values);
  e.store({{}, {reduction == 1 ? sum / weight : sum}});
}

double pair_loss(std::string_view name, double a, double b, double width) {
  double d = std::fabs(a - b);
  if (name == "mse_loss") return d * d;
  if (name == "smooth_l1_loss" && width > 0)
    return d < width ? 0.5 * d * d / width : d - 0.5 * width;
  if (name == "huber_loss") return d <= width ? 0.5 * d * d : width * (d - 0.5 * width);
  if (name == "binary_cross_entropy")
    return -(b * std::fmax(std::log(a), -100) + (1 - b) * std::fmax(std::log(1 - a), -100));
  return d;
}

}  // namespace

void pairwise_loss(Evaluation& e) {
  Array a = e.array("self"), b = e.array("target");
  Shape sizes = a.rank() >= b.rank() ? a.sizes : b.sizes;
  if (a.rank() == b.rank())
    for (std::size_t i = 0; i < sizes.size(); ++i)
      sizes[i] = a.sizes[i] == 1 ? b.sizes[i] : a.sizes[i];
  double width = e.real(e.has("delta") ? "delta" : "beta", 1);
  std::string_view name = e.base_name();
  Array losses;
  if (name == "binary_cross_entropy_with_logits") {
    Array positive = broadcast(e.array_or("pos_weight", 1), sizes);
    a = broadcast(a, sizes);
    b = broadcast(b, sizes);
    for (std::size_t i = 0; i < a.values.size(); ++i) {
      double x = a.values[i], t = b.values[i], w = 1 + (positive.values[i] - 1) * t;
      a.values[i] = (1 - t) * x + w * (std::log1p(std::exp(-std::fabs(x))) + std::fmax(-x, 0));
    }
    losses = a;
  } else {
    losses = zip(broadcast(a, sizes), b,
                 [&](double x, double y) { return pair_loss(name, x, y, width); });
  }
  if (e.has("weight")) losses = zip(losses, e.array("weight"), scalar::mul_.real);
  store_reduced(e, losses, static_cast<double>(losses.count()));
}

namespace {

void class_losses(Evaluation& e, Array logs) {
  Array target = e.array("target"), weights = e.array_or("weight", 1);
  Strip strip = strip_of(logs.sizes, logs.rank() == 1 ? 0 : 1);
  std::int64_t ignored = e.constant("ignore_index", -100);
  Array losses = filled(target.sizes, 0);
  double weight = 0;
  for (std::int64_t i = 0; i < target.count(); ++i) {
    auto label = static_cast<std::int64_t>(target.values[i]);
    if (label == ignored) continue;
    double w = weights.count() == 1 && !e.has("weight") ? 1 : weights.values[label];
    std::int64_t outer = i / strip.inner, inner = i % strip.inner;
    losses.values[i] = -w * logs.values[(outer * strip.size + label) * strip.inner + inner];
    weight += w;
  }
  store_reduced(e, losses, weight);
}

}  // namespace

void nll_loss(Evaluation& e) {
  class_losses(e, e.array("self"));
}

void cross_entropy(Evaluation& e) {
  Array x = e.array("self");
  if (e.real("label_smoothing", 0) != 0) return e.fail("label smoothing has no reference");
  Strip strip = strip_of(x.sizes, x.rank() == 1 ? 0 : 1);
  Row row(static_cast<std::size_t>(strip.size));
  for (std::int64_t o = 0; o < strip.outer * strip.inner; ++o) {
    double* first = x.values.data() + o / strip.inner * strip.size * strip.inner + o % strip.inner;
    for (std::int64_t i = 0; i < strip.size; ++i) row[i] = first[i * strip.inner];
    soften(row, true);
    for (std::int64_t i = 0; i < strip.size; ++i) first[i * strip.inner] = row[i];
  }
  DType dtype = e.host("self").dtype;  // torch's log_softmax rounds to it before the loss looks
  x = map(std::move(x), [&](double v) { return round_to(v, dtype); });
  if (!is_floating(e.host("target").dtype)) return class_losses(e, std::move(x));
  if (e.has("weight")) return e.fail("weighted probabilities have no reference");
  Array products = zip(x, e.array("target"), [](double a, double t) { return -a * t; });
  Array table = rows(products, {x.rank() == 1 ? 0 : 1});
  Array losses = filled(Shape(table.sizes.begin(), table.sizes.end() - 1), 0);
  std::int64_t length = table.sizes.back();
  for (std::int64_t r = 0; r < losses.count(); ++r) {
    losses.values[r] =
        total(Row(table.values.begin() + r * length, table.values.begin() + (r + 1) * length));
  }
  store_reduced(e, losses, static_cast<double>(losses.count()));
}

void cosine_similarity(Evaluation& e) {
  Array a = e.array("x1"), b = e.array("x2");
  std::size_t rank = std::max(a.rank(), b.rank());
  Shape sizes(rank, 1);
  for (const Array* x : {&a, &b}) {
    for (std::size_t i = 0; i < x->rank(); ++i)
      sizes[rank - x->rank() + i] = std::max(sizes[rank - x->rank() + i], x->sizes[i]);
  }
  std::int64_t dim = e.dim("dim", 1, rank);
  Array left = rows(broadcast(a, sizes), {dim}), right = rows(broadcast(b, sizes), {dim});
  double eps = e.real("eps", 1e-8);
  std::int64_t length = left.sizes.back();
  Array result = filled(e.result().sizes, 0);
  for (std::int64_t r = 0; r < result.count(); ++r) {
    double dot = 0, aa = 0, bb = 0;
    for (std::int64_t i = r * length; i < (r + 1) * length; ++i) {
      dot += left.values[i] * right.values[i];
      aa += left.values[i] * left.values[i];
      bb += right.values[i] * right.values[i];
    }
    result.values[r] = dot / (std::fmax(std::sqrt(aa), eps) * std::fmax(std::sqrt(bb), eps));
  }
  e.store(result);
}

}  // namespace penstock::ops::reference
