// torch.einsum: permutations, sums and matrix products in ATen's order.
#include "ops/einsum.h"

#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

/// The steps of an einsum on values.
struct ValueAlgebra {
  using Tensor = ValueId;
  using Dims = std::vector<std::int64_t>;
  Decomposition& d;

  std::vector<SymExpr> sizes(ValueId x) const { return d.sizes(x); }

  ValueId diagonal(ValueId x, std::int64_t first, std::int64_t second) const {
    ValueId moved = main_diagonal(d, x, first, second);
    if (d.failed()) return x;
    auto last = static_cast<std::int64_t>(d.rank(moved)) - 1;
    Dims order;
    for (std::int64_t dim = 0; dim < last; ++dim) {
      if (dim == first) order.push_back(last);
      order.push_back(dim);
    }
    if (first == last) order.push_back(last);
    return d.permute(moved, order);
  }

  ValueId permute(ValueId x, const Dims& dims) const { return d.permute(x, dims); }
  ValueId reshape(ValueId x, const std::vector<SymExpr>& sizes) const {
    return d.reshape(x, sizes);
  }

  ValueId append_dim(ValueId x) const {
    std::vector<SymExpr> sizes = d.sizes(x);
    sizes.push_back(1);
    return d.reshape(x, sizes);
  }

  ValueId sum(ValueId x, const Dims& dims, bool keep) const {
    const DType own = d.dtype_of(x), dtype = is_floating(own) ? own : DType::int64;
    x = d.convert(x, ops::compute_dtype(dtype));
    return d.convert(d.reduce("sum", x, dims, keep), dtype);
  }

  ValueId mul(ValueId a, ValueId b) const {
    const TensorType types[] = {d.type(a), d.type(b)};
    const TensorType* both[] = {&types[0], &types[1]};
    const DType dtype = ops::promote(types[0].dtype, types[1].dtype),
                compute = ops::compute_dtype(dtype);
    const std::vector<SymExpr> sizes = ops::broadcast_sizes(d, both);
    auto term = [&](ValueId x) {
      return value_argument(d.broadcast(d.convert(d.convert(x, dtype), compute), sizes));
    };
    return d.convert(d.binary("mul", term(a), term(b)), dtype);
  }

  ValueId bmm(ValueId a, ValueId b) const {
    if (d.failed()) return a;
    std::vector<SymExpr> left = d.sizes(a), right = d.sizes(b);
    if (left[0] != SymExpr(1))
      return d.product("aten.bmm.default",
                       {arg("self", value_argument(a)), arg("mat2", value_argument(b))});
    // A batch of one is one product, for which a library keeps constant operands packed.
    a = d.reshape(a, {left[1], left[2]});
    b = d.reshape(b, {right[1], right[2]});
    ValueId made = d.product("aten.mm.default",
                             {arg("self", value_argument(a)), arg("mat2", value_argument(b))});
    return d.reshape(made, {SymExpr(1), left[1], right[2]});
  }
};

}  // namespace

void einsum(Decomposition& d) {
  std::vector<ValueId> operands = d.values("tensors");
  std::vector<std::size_t> ranks;
  for (ValueId operand : operands) ranks.push_back(d.rank(operand));
  ops::EinsumEquation equation = ops::parse_einsum(d, d.text("equation", ""), ranks);
  if (d.failed() || operands.empty()) return d.fail("einsum(): must provide at least one operand");
  d.result(ops::Einsum<ValueAlgebra>(d, {d}).run(equation, operands, d.constants("path")));
}

}  // namespace penstock::passes
