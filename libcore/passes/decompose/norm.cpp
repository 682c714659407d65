// Normalisation: statistics by one Welford reduction, then scale and shift.
#include <algorithm>
#include <numeric>

#include "ir/float_format.h"
#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

std::vector<std::int64_t> range(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> dims(static_cast<std::size_t>(std::max<std::int64_t>(last - first, 0)));
  std::iota(dims.begin(), dims.end(), first);
  return dims;
}

/// x / n for a count n, which may be symbolic.
ValueId divide_by(Decomposition& d, ValueId x, const SymExpr& n) {
  if (auto plain = n.constant())
    return d.binary("div", value_argument(x), static_cast<double>(*plain));
  return d.binary("div", value_argument(x), n);
}

struct Statistics {
  ValueId mean, deviations;  ///< with the reduced dims kept as ones; the sum of squared deviations
};

Statistics statistics(Decomposition& d, ValueId x, const std::vector<std::int64_t>& dims) {
  std::vector<ValueId> both =
      d.emit_all("prim.welford", {arg("self", value_argument(x)), arg("dims", list_of(dims))});
  if (d.failed()) return {x, x};
  std::vector<SymExpr> kept = ops::reduced_sizes(d.sizes(x), dims, true);
  return {d.reshape(both[0], kept), d.reshape(both[1], kept)};
}

struct Normalized {
  ValueId value, mean, inverse;  ///< inverse: 1 / sqrt(variance + eps)
};

/// (x - mean) / sqrt(variance + eps) over `dims`.
Normalized normalize(Decomposition& d, ValueId x, const std::vector<std::int64_t>& dims,
                     const Argument& eps) {
  if (d.failed()) return {x, x, x};
  auto [mean, deviations] = statistics(d, x, dims);
  if (d.failed()) return {x, x, x};
  ValueId variance = divide_by(d, deviations, d.count(d.sizes(x), dims));
  ValueId inverse =
      d.unary("rsqrt", d.binary("add", value_argument(variance), d.beside(variance, eps)));
  ValueId centred = d.binary_broadcast("sub", x, mean);
  return {d.binary_broadcast("mul", centred, inverse), mean, inverse};
}

/// x * weight + bias, where both are optional and have `shape` for broadcasting.
ValueId scale_and_shift(Decomposition& d, ValueId x, const std::vector<SymExpr>& shape) {
  for (auto [name, prim] : {std::pair("weight", "mul"), std::pair("bias", "add")}) {
    if (!d.has(name)) continue;
    ValueId parameter = d.convert(d.value(name), d.dtype_of(x));
    x = d.binary_broadcast(prim, x, d.reshape(parameter, shape));
  }
  return x;
}

/// The input in the dtype that is computed in.
ValueId computed_input(Decomposition& d) {
  ValueId input = d.value("input");
  return d.failed() ? 0 : d.convert(input, ops::compute_dtype(d.dtype_of(input)));
}

}  // namespace

void layer_norm(Decomposition& d) {
  ValueId x = computed_input(d);
  std::vector<SymExpr> row = d.integers("normalized_shape");
  if (d.failed()) return;
  DType dtype = d.dtype_of(d.value("input"));
  auto rank = static_cast<std::int64_t>(d.rank(x));
  auto dims = range(rank - static_cast<std::int64_t>(row.size()), rank);
  Normalized n = normalize(d, x, dims, d.real_or_input("eps", 1e-5));
  d.finish(scale_and_shift(d, n.value, row), dtype);
  if (d.detail() != "native") return;
  d.finish(n.mean, dtype);
  d.finish(n.inverse, dtype);
}

void group_norm(Decomposition& d) {
  ValueId x = computed_input(d);
  bool native = d.detail() == "native";
  SymExpr groups = d.integer(native ? "group" : "num_groups");
  if (d.failed() || d.rank(x) < 2) return d.fail("group norm needs dims N, C, …");
  DType dtype = d.dtype_of(d.value("input"));
  std::vector<SymExpr> sizes = d.sizes(x), channel(sizes.size(), SymExpr(1));
  channel[1] = sizes[1];
  std::vector<SymExpr> grouped = {sizes[0], groups, floordiv(sizes[1], groups)};
  grouped.insert(grouped.end(), sizes.begin() + 2, sizes.end());
  auto dims = range(2, static_cast<std::int64_t>(grouped.size()));
  Normalized n = normalize(d, d.reshape(x, grouped), dims, d.real_or_input("eps", 1e-5));
  d.finish(scale_and_shift(d, d.reshape(n.value, sizes), channel), dtype);
  if (!native) return;
  d.finish(d.reshape(n.mean, {sizes[0], groups}), dtype);
  d.finish(d.reshape(n.inverse, {sizes[0], groups}), dtype);
}

void rms_norm(Decomposition& d) {
  ValueId x = computed_input(d);
  std::vector<SymExpr> row = d.integers("normalized_shape");
  if (d.failed()) return;
  DType dtype = d.dtype_of(d.value("input"));
  auto rank = static_cast<std::int64_t>(d.rank(x));
  auto dims = range(rank - static_cast<std::int64_t>(row.size()), rank);
  ValueId squares = d.binary("mul", value_argument(x), value_argument(x));
  ValueId mean = divide_by(d, d.reduce("sum", squares, dims, true), d.count(d.sizes(x), dims));
  const Argument eps = d.real_or_input("eps", epsilon(d.dtype_of(x)));
  ValueId inverse = d.unary("rsqrt", d.binary("add", value_argument(mean), d.beside(mean, eps)));
  ValueId result = scale_and_shift(d, d.binary_broadcast("mul", x, inverse), row);
  if (d.has("weight")) dtype = ops::promote(dtype, d.dtype_of(d.value("weight")));
  d.finish(result, dtype);
}

namespace {

/// Writes momentum's mixture of the batch's statistic into a running one.
void update_running(Decomposition& d, const char* name, ValueId batch, const Argument& momentum) {
  if (!d.has(name)) return;
  ValueId running = d.value(name);
  DType dtype = d.dtype_of(running);
  batch = d.without_gradient(batch);
  const ValueId before = d.convert(running, d.dtype_of(batch));
  ValueId old =
      d.binary("mul", value_argument(before), d.beside(before, d.number_of("sub", 1.0, momentum)));
  ValueId share = d.binary("mul", value_argument(batch), d.beside(batch, momentum));
  ValueId mixed = d.convert(d.binary("add", value_argument(old), value_argument(share)), dtype);
  d.write(running, mixed);
}

/// Those of whole channels. On a GPU torch's kernel computes them where loops would leave it idle
/// and nothing behind does them in stages; the op as a whole may not stay torch's, which would
/// write the running ones unseen.
Statistics channel_statistics(Decomposition& d, ValueId x, const std::vector<std::int64_t>& dims,
                              const SymExpr& count) {
  if (!d.leaves_to_torch(x, dims)) return statistics(d, x, dims);
  const std::vector<ValueId> both = d.apply_all(
      "aten.var_mean.correction", {arg("self", value_argument(x)), arg("dim", list_of(dims)),
                                   arg("correction", std::int64_t{0}), arg("keepdim", true)});
  if (d.failed()) return {x, x};
  const auto plain = count.constant();
  const Argument number = plain ? Argument(static_cast<double>(*plain)) : Argument(count);
  return {both[1], d.binary("mul", value_argument(both[0]), number)};
}

void train_batch_norm(Decomposition& d, ValueId x, const std::vector<SymExpr>& channel) {
  DType dtype = d.dtype_of(d.value("input"));
  // torch returns before it looks at the statistics (at::_batch_norm_impl_index).
  if (element_count(d.sizes(x)) == SymExpr(0))
    return d.finish(scale_and_shift(d, x, channel), dtype);
  auto dims = range(2, static_cast<std::int64_t>(d.rank(x)));
  dims.insert(dims.begin(), 0);
  SymExpr count = d.count(d.sizes(x), dims), channels = d.sizes(x)[1];
  const Argument momentum = d.real_or_input("momentum", 0.1), eps = d.real_or_input("eps", 1e-5);
  auto [mean, deviations] = channel_statistics(d, x, dims, count);
  if (d.failed()) return;
  ValueId variance = divide_by(d, deviations, count);
  ValueId inverse =
      d.unary("rsqrt", d.binary("add", value_argument(variance), d.beside(variance, eps)));
  ValueId value = d.binary_broadcast("mul", d.binary_broadcast("sub", x, mean), inverse);
  d.finish(scale_and_shift(d, value, channel), dtype);
  update_running(d, "running_mean", d.reshape(mean, {channels}), momentum);
  ValueId unbiased = divide_by(d, d.reshape(deviations, {channels}), count - SymExpr(1));
  update_running(d, "running_var", unbiased, momentum);
  if (d.detail() != "native") return;
  d.result(d.reshape(mean, {channels}));
  d.result(d.reshape(inverse, {channels}));
}

}  // namespace

void batch_norm(Decomposition& d) {
  ValueId x = computed_input(d);
  if (d.failed() || d.rank(x) < 2) return d.fail("batch norm needs dims N, C, …");
  DType dtype = d.dtype_of(d.value("input"));
  std::vector<SymExpr> channel(d.rank(x), SymExpr(1));
  channel[1] = d.sizes(x)[1];
  if (d.boolean("training", false)) return train_batch_norm(d, x, channel);
  auto statistic = [&](const char* name) {
    return d.reshape(d.convert(d.value(name), d.dtype_of(x)), channel);
  };
  const ValueId running = statistic("running_var");
  ValueId variance =
      d.binary("add", value_argument(running), d.beside(running, d.real_or_input("eps", 1e-5)));
  ValueId centred = d.binary_broadcast("sub", x, statistic("running_mean"));
  ValueId value = d.binary_broadcast("mul", centred, d.unary("rsqrt", variance));
  d.finish(scale_and_shift(d, value, channel), dtype);
  if (d.detail() != "native") return;
  d.result(d.full({SymExpr(0)}, 0.0, dtype));
  d.result(d.full({SymExpr(0)}, 0.0, dtype));
}

/// Also the batch's statistics, which only 32 bits and more keep in the input's dtype.
void native_batch_norm(Decomposition& d) {
  const ValueId input = d.value("input");
  if (d.failed() || d.dtype_of(input) != ops::compute_dtype(d.dtype_of(input))) return d.keep();
  if (element_count(d.sizes(input)) == SymExpr(0)) return d.keep();
  batch_norm(d);
}

/// Every image's channel has statistics of its own; the running ones take their mean over the
/// batch.
void instance_norm(Decomposition& d) {
  std::vector<TensorType> types = d.inferred_or_keep();
  if (types.empty()) return;
  ValueId x = computed_input(d);
  const DType dtype = types.front().dtype;
  const std::vector<SymExpr> sizes = d.sizes(x);
  if (sizes[0] == SymExpr(0)) return d.result(d.full(sizes, 0.0, dtype));
  std::vector<SymExpr> channel(sizes.size(), SymExpr(1));
  channel[1] = sizes[1];
  const Argument eps = d.real_or_input("eps", 1e-5), momentum = d.real_or_input("momentum", 0.1);
  const auto plus_eps = [&](ValueId of) {
    return d.binary("add", value_argument(of), d.beside(of, eps));
  };
  if (!d.boolean("use_input_stats", true)) {
    auto statistic = [&](const char* name) {
      return d.reshape(d.convert(d.value(name), d.dtype_of(x)), channel);
    };
    ValueId variance = plus_eps(statistic("running_var"));
    ValueId centred = d.binary_broadcast("sub", x, statistic("running_mean"));
    return d.finish(
        scale_and_shift(d, d.binary_broadcast("mul", centred, d.unary("rsqrt", variance)), channel),
        dtype);
  }
  const auto dims = range(2, static_cast<std::int64_t>(sizes.size()));
  const SymExpr count = d.count(sizes, dims);
  auto [mean, deviations] = statistics(d, x, dims);
  if (d.failed()) return;
  ValueId variance = plus_eps(divide_by(d, deviations, count));
  ValueId value =
      d.binary_broadcast("mul", d.binary_broadcast("sub", x, mean), d.unary("rsqrt", variance));
  d.finish(scale_and_shift(d, value, channel), dtype);
  auto over_batch = [&](ValueId statistic) {
    return divide_by(d, d.reduce("sum", d.reshape(statistic, {sizes[0], sizes[1]}), {0}, false),
                     sizes[0]);
  };
  if (d.has("running_mean")) update_running(d, "running_mean", over_batch(mean), momentum);
  if (d.has("running_var"))
    update_running(d, "running_var", divide_by(d, over_batch(deviations), count - SymExpr(1)),
                   momentum);
}

}  // namespace penstock::passes
