// Dropout as ATen computes it on the CPU (native/Dropout.cpp): noise drawn by bernoulli_(1 - p)
// into memory that lies as the input does, divided by 1 - p, times the input. The same draws, so
// that a program has the numbers that it has in plain Python; kept as booleans, of which backward
// makes the noise again. On a GPU torch draws, and says what it kept.
#include "passes/decompose/dropout.h"

#include <cmath>

#include "passes/core_passes.h"

namespace penstock::passes {

namespace {

/// The quotient of two numbers in the dtype that torch divides elements of `dtype` in.
double quotient(double a, double b, DType dtype) {
  if (dtype == DType::float64) return a / b;
  return static_cast<float>(a) / static_cast<float>(b);
}

/// What is drawn for whole channels: of the input's first two sizes.
TensorType channel_type(const TensorType& input) {
  TensorType type = input;
  for (std::size_t i = 2; i < type.sizes.size(); ++i) type.sizes[i] = SymExpr(1);
  type.strides = contiguous_strides(type.sizes);
  return type;
}

ValueId scaled(Decomposition& d, ValueId mask, DType dtype, double by, double otherwise) {
  const ValueId other = d.full(d.sizes(mask), otherwise, dtype);
  return d.where(mask, by, value_argument(other));
}

/// Dropout that keeps mean and variance of what SELU gives (Klambauer et al. 2017): a * x + b with
/// two values of b, one for what stays.
ValueId alpha_dropout(Decomposition& d, ValueId self, ValueId mask, double p) {
  constexpr double kAlpha = 1.7580993408473766;
  const DType dtype = d.dtype_of(self);
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  const auto rounded = [&](double x) {
    return dtype == DType::float64 ? x : static_cast<double>(static_cast<float>(x));
  };
  const double shift = rounded(kAlpha * a * p);
  const double dropped = rounded(rounded(-rounded(kAlpha * a)) + shift);
  const ValueId noise = scaled(d, mask, dtype, a, 0.0);
  const ValueId product = d.apply("mul", value_argument(self), value_argument(noise));
  return d.apply("add", value_argument(product),
                 value_argument(scaled(d, mask, dtype, shift, dropped)));
}

}  // namespace

ValueId drawn(Decomposition& d, const TensorType& type, double probability) {
  const auto order = dense_order(type);
  if (!order) return kNoValue;
  std::vector<SymExpr> sizes;
  std::vector<std::int64_t> back(order->size());
  for (std::size_t i = 0; i < order->size(); ++i) {
    sizes.push_back(type.sizes[(*order)[i]]);
    back[(*order)[i]] = static_cast<std::int64_t>(i);
  }
  const ValueId row = d.emit("prim.bernoulli",
                             {arg("length", Decomposition::integer_argument(element_count(sizes))),
                              arg("probability", probability)});
  return d.permute(d.reshape(row, sizes), back);
}

ValueId dropout_noise(Decomposition& d, const TensorType& type, double p, DType dtype) {
  const ValueId mask = drawn(d, type, 1 - p);
  if (mask == kNoValue) return kNoValue;
  return d.binary("mul", value_argument(d.convert(mask, dtype)), quotient(1, 1 - p, dtype));
}

void drop_out(Decomposition& d) {
  const std::string_view name = d.has("self") ? "self" : "input";
  const ValueId self = d.value(name);
  const double p = d.real("p", 0.5);
  if (d.failed()) return;
  if (!d.boolean("train", false) || p == 0) return d.result(self);
  const bool alpha = d.detail().find("alpha") != std::string_view::npos;
  const bool channels = d.detail().find("channels") != std::string_view::npos;
  const TensorType type = d.type(self);
  if (!is_floating(type.dtype) || (channels && type.rank() < 2)) return d.keep();
  if (d.device() != "cpu" && (alpha || channels)) return d.keep();
  if (p == 1) return d.result(d.apply("mul", value_argument(self), 0.0));
  const std::vector<TensorType> results = d.inferred_or_keep();
  if (results.empty()) return;
  if (d.device() != "cpu") {
    return d.result(d.apply("aten.native_dropout.default",
                            {arg("input", value_argument(self)), arg("p", p), arg("train", true)}));
  }
  const TensorType lies = channels ? channel_type(type) : results.front();
  if (alpha) {
    const ValueId mask = drawn(d, lies, 1 - p);
    return mask == kNoValue ? d.keep() : d.result(alpha_dropout(d, self, mask, p));
  }
  const ValueId noise = dropout_noise(d, lies, p, type.dtype);
  if (noise == kNoValue) return d.keep();
  d.result(d.apply("mul", value_argument(self), value_argument(noise)));
}

void drop_out_with_mask(Decomposition& d) {
  const ValueId self = d.value("input");
  const double p = d.real("p", 0.5);
  if (d.failed()) return;
  if (!d.boolean("train", true)) {
    d.result(d.unary("clone", self));
    return d.result(d.full(d.sizes(self), true, DType::bool_));
  }
  if (d.device() != "cpu") return d.keep();
  const std::vector<TensorType> results = d.inferred_or_keep();
  if (results.empty()) return;
  const ValueId mask = drawn(d, results.front(), 1 - p);
  if (mask == kNoValue) return d.keep();
  const ValueId kept = d.apply("mul", value_argument(self), value_argument(mask));
  d.result(d.apply("mul", value_argument(kept), p == 1 ? 0.0 : 1 / (1 - p)));
  d.result(mask);
}

}  // namespace penstock::passes
