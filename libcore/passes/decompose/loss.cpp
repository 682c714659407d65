// Losses.
#include <cmath>
#include <limits>

#include "ir/float_format.h"
#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

enum Reduction { kNoReduction = 0, kMean = 1, kSum = 2 };

ValueId divide_by(Decomposition& d, ValueId x, const SymExpr& n) {
  if (auto plain = n.constant())
    return d.binary("div", value_argument(x), static_cast<double>(*plain));
  return d.binary("div", value_argument(x), n);
}

/// max(log, -100): what keeps binary cross entropy finite at 0.
ValueId bounded(Decomposition& d, ValueId log) {
  return d.binary("maximum", value_argument(log), -100.0);
}

/// Of 16 bits, ATen's kernels round every step of the one loss in bfloat16, of the other in
/// float16, and compute the rest in float32.
ValueId huber(Decomposition& d, const Operands& x, ValueId difference, const Argument& given,
              bool smooth) {
  const bool steps = x.promoted == (smooth ? DType::float16 : DType::bfloat16);
  const auto held = [&](ValueId value) { return steps ? rounded(d, value, x) : value; };
  const auto number = [&](const Argument& value) {
    const Argument term = d.beside(difference, value);
    const auto* constant = term.as<double>();
    if (!steps) return term;
    return constant != nullptr ? Argument(round_to(*constant, x.promoted))
                               : value_argument(held(d.tensor_of(term)));
  };
  const auto with = [&](const char* prim, ValueId value, Argument other) {
    return held(d.binary(prim, value_argument(value), std::move(other)));
  };
  const Argument width = number(given);
  const bool divides = smooth && !(width == Argument(1.0));
  const ValueId size = d.unary("abs", held(difference));
  ValueId square = with("mul", with("mul", size, 0.5), value_argument(size));
  if (divides) square = with("div", square, width);
  ValueId linear = with("sub", size, number(d.number_of("mul", 0.5, given)));
  if (!smooth) linear = with("mul", linear, width);
  ValueId inside = d.binary(smooth ? "lt" : "le", value_argument(size), width);
  return d.where(inside, value_argument(square), value_argument(linear));
}

ValueId weighted(Decomposition& d, ValueId losses) {
  if (!d.has("weight")) return losses;
  return d.binary_broadcast("mul", losses, d.convert(d.value("weight"), d.dtype_of(losses)));
}

}  // namespace

std::vector<std::int64_t> all_dims(Decomposition& d, ValueId x) {
  std::vector<std::int64_t> dims(d.rank(x));
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<std::int64_t>(i);
  return dims;
}

void finish_reduced(Decomposition& d, ValueId losses, DType dtype) {
  if (d.failed()) return;
  std::int64_t reduction = d.constant("reduction", kMean);
  SymExpr count = element_count(d.sizes(losses));
  if (reduction != kNoReduction) losses = d.reduce("sum", losses, all_dims(d, losses), false);
  if (reduction == kMean) losses = divide_by(d, losses, count);
  d.finish(losses, dtype);
}

void difference_loss(Decomposition& d) {
  Operands x = d.operands({"self", "target"}, Promotion::same);
  if (d.failed()) return;
  ValueId difference = d.binary("sub", x.terms[0], x.terms[1]), losses = difference;
  if (d.detail() == "mse") {
    difference = rounded(d, difference, x);
    losses = d.binary("mul", value_argument(difference), value_argument(difference));
  }
  if (d.detail() == "l1" || (d.detail() == "smooth_l1" && d.has("beta") && !d.differs("beta", 0)))
    losses = d.unary("abs", difference);
  else if (d.detail() == "smooth_l1")
    losses = huber(d, x, difference, d.real_or_input("beta", 1), true);
  else if (d.detail() == "huber")
    losses = huber(d, x, difference, d.real_or_input("delta", 1), false);
  finish_reduced(d, rounded(d, losses, x), x.promoted);
}

/// As torch computes them; of 16 bits, every step is rounded.
void binary_cross_entropy(Decomposition& d) {
  Operands x = d.operands({"self", "target"}, Promotion::same);
  if (d.failed()) return;
  const auto held = [&](ValueId value) { return rounded(d, value, x); };
  const auto with = [&](const char* prim, ValueId value, Argument other) {
    return held(d.binary(prim, value_argument(value), std::move(other)));
  };
  ValueId p = d.materialize(x.terms[0], x), target = d.materialize(x.terms[1], x), losses;
  if (d.detail() == "logits") {
    // (1 - t) * x + w * (log1p(exp(-|x|)) + max(-x, 0)) with w = 1 + (pos_weight - 1) * t
    ValueId tail = d.unary("log1p", d.unary("exp", d.unary("neg", d.unary("abs", p))));
    tail = with("add", tail,
                value_argument(d.binary("maximum", value_argument(d.unary("neg", p)), 0.0)));
    if (d.has("pos_weight")) {
      const ValueId extra = with("sub", d.convert(d.value("pos_weight"), x.compute), 1.0);
      const ValueId factor = with("add", held(d.binary_broadcast("mul", target, extra)), 1.0);
      tail = with("mul", tail, value_argument(factor));
    }
    const ValueId rest = held(d.binary("sub", 1.0, value_argument(target)));
    losses = with("add", with("mul", rest, value_argument(p)), value_argument(tail));
  } else {
    const ValueId hit = bounded(d, held(d.unary("log", p))),
                  miss = bounded(d, held(d.unary("log1p", d.unary("neg", p))));
    losses = with("sub", with("mul", with("sub", target, 1.0), value_argument(miss)),
                  value_argument(with("mul", target, value_argument(hit))));
  }
  finish_reduced(d, held(weighted(d, losses)), x.promoted);
}

namespace {

/// Losses of class indices, given log-probabilities with classes in dim `dim`.
struct Picked {
  ValueId losses, weights;  ///< one per target; weights 0 where the target is ignored
};

Picked pick_classes(Decomposition& d, ValueId logs, ValueId target, std::int64_t dim) {
  std::vector<SymExpr> sizes = d.sizes(target), lifted = sizes;
  lifted.insert(lifted.begin() + dim, SymExpr(1));
  std::int64_t ignored = d.constant("ignore_index", -100);
  target = d.convert(target, DType::int64);
  ValueId counted = d.binary("ne", value_argument(target), ignored);
  ValueId safe = d.where(counted, value_argument(target), std::int64_t{0});
  ValueId chosen = d.emit("prim.gather",
                          {arg("self", value_argument(logs)),
                           arg("index", value_argument(d.reshape(safe, lifted))), arg("dim", dim)});
  ValueId losses = d.unary("neg", d.reshape(chosen, sizes));
  ValueId weights = d.convert(counted, d.dtype_of(logs));
  if (d.has("weight")) {
    ValueId table = d.convert(d.value("weight"), d.dtype_of(logs));
    ValueId flat = d.reshape(safe, {element_count(sizes)});
    ValueId each = d.emit("prim.index_select",
                          {arg("self", value_argument(table)), arg("index", value_argument(flat)),
                           arg("dim", std::int64_t{0})});
    weights = d.binary("mul", value_argument(weights), value_argument(d.reshape(each, sizes)));
  }
  // Where the target is ignored the loss is 0 whatever was picked, infinities too.
  ValueId product = d.binary("mul", value_argument(losses), value_argument(weights));
  return {d.where(counted, value_argument(product), 0.0), weights};
}

/// A number for each class, in the dims of `logs`.
ValueId along_classes(Decomposition& d, ValueId numbers, ValueId logs, std::int64_t dim) {
  std::vector<SymExpr> sizes(d.rank(logs), SymExpr(1));
  sizes[dim] = d.sizes(logs)[dim];
  return d.reshape(d.convert(numbers, d.dtype_of(logs)), sizes);
}

void finish_picked(Decomposition& d, Picked picked, DType dtype) {
  if (d.failed()) return;
  std::int64_t reduction = d.constant("reduction", kMean);
  ValueId result = picked.losses;
  if (reduction != kNoReduction) result = d.reduce("sum", result, all_dims(d, result), false);
  if (reduction == kMean) {
    ValueId total = d.reduce("sum", picked.weights, all_dims(d, picked.weights), false);
    result = d.binary("div", value_argument(result), value_argument(total));
  }
  d.finish(result, dtype);
}

}  // namespace

void nll_loss(Decomposition& d) {
  ValueId self = d.value("self"), target = d.value("target");
  if (d.failed()) return;
  DType dtype = d.dtype_of(self);
  ValueId logs = d.convert(self, ops::compute_dtype(dtype));
  finish_picked(d, pick_classes(d, logs, target, d.rank(self) == 1 ? 0 : 1), dtype);
}

namespace {

/// What all classes lose at once, which smoothing gives a share of: one for each target.
ValueId losses_of_all_classes(Decomposition& d, ValueId logs, std::int64_t dim) {
  if (d.has("weight"))
    logs = d.binary_broadcast("mul", logs, along_classes(d, d.value("weight"), logs, dim));
  return d.unary("neg", d.reduce("sum", logs, {dim}, false));
}

/// The losses of class indices, smoothed: `share` of them is that of all classes.
void finish_smoothed(Decomposition& d, ValueId logs, ValueId target, std::int64_t dim,
                     const Argument& share, DType dtype) {
  const std::int64_t ignored = d.constant("ignore_index", -100);
  Picked picked = pick_classes(d, logs, target, dim);
  const ValueId counted = d.binary("ne", value_argument(d.convert(target, DType::int64)), ignored);
  const ValueId all = d.where(counted, value_argument(losses_of_all_classes(d, logs, dim)), 0.0);
  if (d.failed()) return;
  const ValueId losses = picked.losses;
  const auto times = [&](ValueId x, const Argument& factor) {
    return value_argument(d.binary("mul", value_argument(x), d.beside(losses, factor)));
  };
  const double classes = static_cast<double>(*d.sizes(logs)[dim].constant());
  picked.losses = d.binary("add", times(losses, d.number_of("sub", 1.0, share)),
                           times(all, d.number_of("div", share, classes)));
  finish_picked(d, picked, dtype);
}

}  // namespace

void cross_entropy(Decomposition& d) {
  ValueId self = d.value("self"), target = d.value("target");
  if (d.failed()) return;
  const bool smooths = d.differs("label_smoothing", 0);
  const Argument share = d.real_or_input("label_smoothing", 0);
  DType dtype = d.dtype_of(self);
  std::int64_t dim = d.rank(self) == 1 ? 0 : 1;
  const auto classes = d.sizes(self)[dim].constant();
  if (smooths && (!classes || *classes == 0)) return d.keep();
  ValueId logs = softmax_over(d, d.convert(self, ops::compute_dtype(dtype)), dim, true);
  // torch's log_softmax rounds to the dtype before the loss looks.
  logs = d.convert(d.convert(logs, dtype), ops::compute_dtype(dtype));
  if (!is_floating(d.dtype_of(target))) {
    if (smooths) return finish_smoothed(d, logs, target, dim, share, dtype);
    return finish_picked(d, pick_classes(d, logs, target, dim), dtype);
  }
  ValueId shares = d.convert(target, d.dtype_of(logs));
  if (smooths) {
    const Argument rest = d.number_of("sub", 1.0, share),
                   each = d.number_of("div", share, static_cast<double>(*classes));
    const ValueId own = d.binary("mul", value_argument(shares), d.beside(shares, rest));
    shares = d.binary("add", value_argument(own), d.beside(own, each));
  }
  if (d.has("weight"))
    shares = d.binary_broadcast("mul", shares, along_classes(d, d.value("weight"), logs, dim));
  ValueId losses = d.unary(
      "neg",
      d.reduce("sum", d.binary("mul", value_argument(logs), value_argument(shares)), {dim}, false));
  finish_reduced(d, losses, dtype);
}

void cosine_similarity(Decomposition& d) {
  Operands x = d.operands({"x1", "x2"}, Promotion::same);
  if (d.failed()) return;
  std::int64_t dim = d.dim("dim", 1, x.sizes.size());
  const Argument eps = d.real_or_input("eps", 1e-8);
  auto dot = [&](const Argument& a, const Argument& b) {
    return d.reduce("sum", d.binary("mul", a, b), {dim}, false);
  };
  auto norm = [&](const Argument& a) {
    if (!d.before_derivatives()) {
      const ValueId own = d.unary("sqrt", dot(a, a));
      return d.binary("maximum", value_argument(own), d.beside(own, eps));
    }
    // torch raises a small norm to eps behind the back of derivatives.
    const ValueId own = norm_over(d, d.materialize(a, x), {dim}, false, 2);
    const ValueId raised = d.binary("maximum", value_argument(own), d.beside(own, eps));
    const ValueId more = d.binary("sub", value_argument(raised), value_argument(own));
    return d.binary("add", value_argument(own), value_argument(d.without_gradient(more)));
  };
  ValueId product =
      d.binary("mul", value_argument(norm(x.terms[0])), value_argument(norm(x.terms[1])));
  d.finish(d.binary("div", value_argument(dot(x.terms[0], x.terms[1])), value_argument(product)),
           x.promoted);
}

}  // namespace penstock::passes
