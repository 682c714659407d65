// torch.einsum by its definition: over all places of the common order the sum of the operands'
// products.
#include "ops/einsum.h"

#include "ops/reference/reference.h"

namespace penstock::ops::reference {

namespace {

/// Where an operand's elements lie, by place of the common order; a dim of size 1 is repeated.
Shape strides_of(const Array& operand, const std::vector<std::int64_t>& places, Shape& sizes) {
  Shape strides(sizes.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t dim = operand.rank(); dim-- > 0;) {
    const std::int64_t size = operand.sizes[dim], place = places[dim];
    if (size != 1) {
      strides[place] += stride;
      sizes[place] = size;
    }
    stride *= size;
  }
  return strides;
}

}  // namespace

void einsum(Evaluation& e) {
  std::vector<Array> operands;
  std::vector<std::size_t> ranks;
  for (ValueId value : e.values("tensors")) {
    operands.push_back(e.array(value));
    ranks.push_back(operands.back().rank());
  }
  EinsumEquation equation = parse_einsum(e, e.text("equation", ""), ranks);
  if (e.failed()) return;
  Shape sizes(equation.rank, 1);
  std::vector<Shape> strides;
  for (std::size_t i = 0; i < operands.size(); ++i)
    strides.push_back(strides_of(operands[i], equation.places[i], sizes));
  Shape out_sizes(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(equation.out_rank));
  Array result = filled(out_sizes, 0);
  const std::int64_t summed =
      product({sizes.begin() + static_cast<std::ptrdiff_t>(equation.out_rank), sizes.end()});
  for (std::int64_t i = 0; i < product(sizes); ++i) {
    double term = 1;
    for (std::size_t n = 0; n < operands.size(); ++n) {
      std::int64_t rest = i, at = 0;
      for (std::size_t dim = sizes.size(); dim-- > 0; rest /= sizes[dim])
        at += rest % sizes[dim] * strides[n][dim];
      term *= operands[n].values[at];
    }
    result.values[i / summed] += term;
  }
  e.store(result);
}

}  // namespace penstock::ops::reference
