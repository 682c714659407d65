// Convolution: every overload is aten.convolution, which a library computes, with a batch and plain padding.
#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

/// What a convolution does beside its tensors; one entry for each spatial dim.
struct Geometry {
  std::vector<SymExpr> stride, padding, dilation, more;
};

std::vector<SymExpr> per_dim(Decomposition& d, std::string_view name, std::size_t dims, std::int64_t otherwise) {
  std::vector<SymExpr> values = d.integers(name);
  if (values.empty()) values = {SymExpr(otherwise)};
  if (values.size() == 1) values.assign(dims, values.front());
  return values;
}

/// Padding that keeps the sizes. Where it is odd, the input itself gets one more element behind.
std::vector<SymExpr> keep_sizes(Decomposition& d, ValueId& input, const std::vector<SymExpr>& window,
                                const std::vector<SymExpr>& dilation) {
  std::vector<SymExpr> front, low(d.rank(input), SymExpr(0)), high = low;
  for (std::size_t i = 0; i < window.size(); ++i) {
    SymExpr both = dilation[i] * (window[i] - SymExpr(1));
    front.push_back(floordiv(both, SymExpr(2)));
    high[high.size() - window.size() + i] = both - SymExpr(2) * front.back();
  }
  bool real = is_floating(d.dtype_of(input));
  input = d.pad(input, low, high, real ? Argument(0.0) : Argument(std::int64_t{0}));
  return front;
}

Geometry geometry_of(Decomposition& d, ValueId& input, ValueId weight, std::size_t dims) {
  Geometry g{per_dim(d, "stride", dims, 1), {}, per_dim(d, "dilation", dims, 1), per_dim(d, "output_padding", dims, 0)};
  const Argument* padding = d.find("padding");
  const auto* name = padding ? padding->as<std::string>() : nullptr;
  if (!name) {
    g.padding = per_dim(d, "padding", dims, 0);
  } else if (*name == "same") {
    std::vector<SymExpr> sizes = d.sizes(weight);
    g.padding = keep_sizes(d, input, {sizes.begin() + 2, sizes.end()}, g.dilation);
  } else {
    g.padding.assign(dims, SymExpr(0));
  }
  return g;
}

}  // namespace

void convolution(Decomposition& d) {
  ValueId input = d.value("input"), weight = d.value("weight");
  if (d.failed()) return;
  std::size_t dims = d.rank(weight) - 2;
  bool batched = d.rank(input) == dims + 2;
  std::vector<SymExpr> sizes = d.sizes(input);
  if (!batched) {
    sizes.insert(sizes.begin(), SymExpr(1));
    input = d.reshape(input, sizes);
  }
  const Geometry g = geometry_of(d, input, weight, dims);
  ValueId result = d.emit("aten.convolution.default",
                          {arg("input", value_argument(input)), arg("weight", value_argument(weight)),
                           arg("bias", d.has("bias") ? value_argument(d.value("bias")) : Argument()),
                           arg("stride", list_of(g.stride)), arg("padding", list_of(g.padding)),
                           arg("dilation", list_of(g.dilation)), arg("transposed", d.detail() == "transposed"),
                           arg("output_padding", list_of(g.more)),
                           arg("groups", Decomposition::integer_argument(d.integer("groups", 1)))});
  if (d.failed()) return;
  std::vector<SymExpr> result_sizes = d.sizes(result);
  if (!batched) result_sizes.erase(result_sizes.begin());
  d.result(d.reshape(result, result_sizes));
}

}  // namespace penstock::passes
