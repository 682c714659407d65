// torch.einsum: dtype, sizes and strides of what its parts give.
#include "ops/einsum.h"

#include <array>

#include "ops/promotion.h"
#include "ops/rules/rules.h"

namespace penstock::ops::rules {

namespace {

/// The steps of an einsum on types.
struct TypeAlgebra {
  struct Tensor {
    TensorType type;
    bool is_view = true;  ///< lies in the operand's memory
  };
  Inference& in;

  const std::vector<SymExpr>& sizes(const Tensor& t) const { return t.type.sizes; }

  Tensor diagonal(Tensor t, std::int64_t first, std::int64_t second) const {
    t.type.strides[first] += t.type.strides[second];
    t.type = without_dim(std::move(t.type), second);
    return t;
  }

  Tensor permute(Tensor t, const std::vector<std::int64_t>& dims) const {
    t.type = permuted(t.type, dims);
    return t;
  }

  Tensor append_dim(Tensor t) const {
    auto end = static_cast<std::int64_t>(t.type.rank());
    t.type = with_dim(std::move(t.type), end, 1, 1);
    return t;
  }

  Tensor reshape(Tensor t, const std::vector<SymExpr>& sizes) const {
    auto strides = view_strides(in, t.type, sizes);
    if (!strides) return made(t.type.dtype, sizes, t);
    t.type.sizes = sizes;
    t.type.strides = std::move(*strides);
    return t;
  }

  Tensor sum(const Tensor& t, const std::vector<std::int64_t>& dims, bool keep) const {
    const bool whole = !is_floating(t.type.dtype) && !is_complex(t.type.dtype);
    return made(whole ? DType::int64 : t.type.dtype, reduced_sizes(t.type.sizes, dims, keep), t);
  }

  Tensor mul(const Tensor& a, const Tensor& b) const {
    const TensorType* both[] = {&a.type, &b.type};
    return {elementwise_type(in, both, promote(a.type.dtype, b.type.dtype)), false};
  }

  Tensor bmm(const Tensor& a, const Tensor& b) const {
    if (a.type.dtype != b.type.dtype) in.fail("expects one dtype");
    return made(a.type.dtype, {a.type.sizes[0], a.type.sizes[1], b.type.sizes[2]}, a);
  }

  static Tensor made(DType dtype, std::vector<SymExpr> sizes, const Tensor& like) {
    return {contiguous_type(dtype, std::move(sizes), like.type), false};
  }
};

}  // namespace

void einsum(Inference& in) {
  std::vector<TypeAlgebra::Tensor> operands;
  std::vector<std::size_t> ranks;
  std::vector<ValueId> values = in.values("tensors");
  for (ValueId value : values) {
    operands.push_back({in.type(value)});
    ranks.push_back(operands.back().type.rank());
  }
  EinsumEquation equation = parse_einsum(in, in.text("equation", ""), ranks);
  if (in.failed() || operands.empty())
    return in.fail("einsum(): must provide at least one operand");
  auto result = Einsum<TypeAlgebra>(in, {in}).run(equation, operands, in.constants("path"));
  if (in.failed()) return;
  if (operands.size() == 1 && result.is_view)
    in.add_view(std::move(result.type), values.front());
  else
    in.add(std::move(result.type));
}

}  // namespace penstock::ops::rules
