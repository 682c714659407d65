// Reductions of a GPU's graph in stages
//
// Problem. A column sum, the statistics of a channel, the gradient of a bias: few results, each of
// many elements that lie far apart. A thread a result leaves the GPU idle; torch's kernels are
// general, read what an op in front has written to memory first, and are slow where channels lie
// innermost.
//
// Idea. Partial results first, of as many pieces as there are threads: as one reduction of dims
// along which memory does not lie, of a tensor that is looked at in the order of its memory.
// Threads beside each other take neighbouring columns. What is computed for it is computed in the
// same loop. The partial results, a fraction of the elements, are reduced in turn, by a block a
// result (where columns are few, fusion/schedule_device.cpp). Sums, products and extremes of
// partial results are what they are of; of partial means, of equally many elements, the mean is the
// whole's, and
//
//   deviations = sum of the pieces' deviations + count * (deviations of the pieces' means)
#include "passes/stage_reductions.h"

#include <algorithm>
#include <numeric>

#include "passes/decompose/decomposition.h"

namespace penstock::passes {

namespace {

/// Results of the first stage that keep a GPU busy, and elements that are worth one: where a thread
/// makes each, and where memory lies along what is reduced, so that a block does.
struct Piece {
  std::int64_t busy, least;
};
constexpr Piece kOfThread = {std::int64_t{1} << 17, 16}, kOfBlock = {2048, 512};
constexpr std::string_view kOfItself[] = {"prim.sum",  "prim.prod", "prim.amax",
                                          "prim.amin", "prim.any",  "prim.all"};

/// A dim, in the order of memory.
struct Axis {
  std::int64_t size, stride;
  bool reduced;
  bool first = false;  ///< the first stage reduces it
};

std::optional<std::vector<Axis>> axes_of(const TensorType& type,
                                         const std::vector<std::int64_t>& dims,
                                         std::vector<std::int64_t>& order) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const auto size = type.sizes[i].constant(), stride = type.strides[i].constant();
    if (!size || !stride || *size == 0) return std::nullopt;
    const bool reduced = std::ranges::find(dims, static_cast<std::int64_t>(i)) != dims.end();
    axes.push_back({*size, *stride, reduced});
  }
  order.resize(axes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    const Axis &one = axes[static_cast<std::size_t>(a)], &other = axes[static_cast<std::size_t>(b)];
    return one.size != 1 && other.size != 1 && one.stride > other.stride;
  });
  std::vector<Axis> ordered;
  for (const std::int64_t dim : order) ordered.push_back(axes[static_cast<std::size_t>(dim)]);
  return ordered;
}

/// The largest divisor of `size` up to `most`.
std::int64_t divisor_of(std::int64_t size, std::int64_t most) {
  for (std::int64_t divisor = std::min(size, most); divisor > 1; --divisor) {
    if (size % divisor == 0) return divisor;
  }
  return 1;
}

/// Marks what the first stage reduces: the fastest of the reduced axes and those around it, as long
/// as what is left keeps the device busy; at least the inner part of one.
void choose_first(std::vector<Axis>& axes) {
  std::int64_t results = 1;
  for (const Axis& axis : axes) results *= axis.size;
  const auto last =
      std::find_if(axes.rbegin(), axes.rend(), [](const Axis& axis) { return axis.size != 1; });
  const auto [busy, least] = last != axes.rend() && last->reduced ? kOfBlock : kOfThread;
  bool chosen = false;
  for (std::size_t i = axes.size(); i-- > 0;) {
    Axis& axis = axes[i];
    if (!axis.reduced || axis.size == 1) continue;
    results /= axis.size;
    if (chosen && results < busy) return;
    axis.first = chosen = true;
    if (results >= busy) continue;
    const std::int64_t pieces = divisor_of(
        axis.size, std::min(std::max<std::int64_t>(busy / results, 1), axis.size / least));
    if (pieces == 1) return;
    const Axis outer{pieces, axis.stride * (axis.size / pieces), true};
    axis.size /= pieces;
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(i), outer);
    return;
  }
}

}  // namespace

std::optional<ReductionStages> stages_of(const TensorType& type,
                                         const std::vector<std::int64_t>& dims) {
  ReductionStages stages;
  auto axes = axes_of(type, dims, stages.order);
  if (!axes) return std::nullopt;
  std::vector<std::int64_t> kept;  // in the order of memory
  for (std::size_t i = 0; i < axes->size(); ++i) {
    if (!(*axes)[i].reduced) kept.push_back(stages.order[i]);
  }
  stages.back.resize(kept.size());
  std::iota(stages.back.begin(), stages.back.end(), 0);
  std::ranges::sort(stages.back, {},
                    [&](std::int64_t at) { return kept[static_cast<std::size_t>(at)]; });
  choose_first(*axes);
  bool joins = false;  // the axis before is left to the second stage, beside this one
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const Axis& axis = (*axes)[i];
    stages.sizes.emplace_back(axis.size);
    if (axis.first) {
      stages.first.push_back(static_cast<std::int64_t>(i));
      stages.count *= axis.size;
      continue;
    }
    if (axis.reduced && joins) {
      stages.merged.back() *= SymExpr(axis.size);
      continue;
    }
    if (axis.reduced) stages.second.push_back(static_cast<std::int64_t>(stages.merged.size()));
    stages.merged.emplace_back(axis.size);
    joins = axis.reduced;
  }
  if (stages.first.empty() || stages.second.empty()) return std::nullopt;
  return stages;
}

namespace {

class Staging {
 public:
  Staging(Rewrite& rewrite, const ReductionStages& stages) : rewrite_(rewrite), stages_(stages) {}

  /// The tensor as the first stage reduces it.
  ValueId lay_out(ValueId self) { return reshape(permute(self, stages_.order), stages_.sizes); }
  ValueId permute(ValueId self, const std::vector<std::int64_t>& dims) {
    if (std::ranges::is_sorted(dims)) return self;
    return emit("prim.permute", {arg("self", value_argument(self)), arg("dims", list_of(dims))});
  }
  ValueId reshape(ValueId self, const std::vector<SymExpr>& sizes) {
    if (rewrite_.type(self).sizes == sizes) return self;
    return emit("prim.reshape", {arg("self", value_argument(self)), arg("size", list_of(sizes))});
  }
  std::vector<ValueId> reduce(std::string_view op, ValueId self,
                              const std::vector<std::int64_t>& dims) {
    return rewrite_.emit(op, {arg("self", value_argument(self)), arg("dims", list_of(dims))});
  }
  ValueId second(std::string_view op, ValueId partial) {
    return reduce(op, reshape(partial, stages_.merged), stages_.second).front();
  }
  ValueId emit(std::string_view op, std::vector<NamedArgument> args) {
    return rewrite_.emit_one(op, std::move(args));
  }
  std::vector<ValueId> moments(ValueId self) {
    const std::vector<ValueId> pieces = reduce("prim.welford", self, stages_.first);
    const std::vector<ValueId> means =
        reduce("prim.welford", reshape(pieces[0], stages_.merged), stages_.second);
    const ValueId between =
        emit("prim.mul", {arg("self", value_argument(means[1])),
                          arg("other", Argument(static_cast<double>(stages_.count)))});
    const ValueId inside = second("prim.sum", pieces[1]);
    return {means[0], emit("prim.add", {arg("self", value_argument(inside)),
                                        arg("other", value_argument(between))})};
  }

 private:
  Rewrite& rewrite_;
  const ReductionStages& stages_;
};

}  // namespace

bool reduce_in_stages(Rewrite& rewrite, const Node& node, const std::vector<std::int64_t>& dims) {
  const bool moments = node.op == "prim.welford";
  if (!moments && std::ranges::find(kOfItself, node.op) == std::end(kOfItself)) return false;
  const ValueId self = operand_value(node, "self");
  const auto stages = stages_of(rewrite.type(self), dims);
  if (!stages) return false;
  Staging staging(rewrite, *stages);
  const ValueId laid_out = staging.lay_out(self);
  const std::vector<ValueId> made =
      moments ? staging.moments(laid_out)
              : std::vector{staging.second(
                    node.op, staging.reduce(node.op, laid_out, stages->first).front())};
  for (std::size_t i = 0; i < made.size(); ++i)
    rewrite.replace(node.results[i], staging.permute(made[i], stages->back));
  return true;
}

}  // namespace penstock::passes
