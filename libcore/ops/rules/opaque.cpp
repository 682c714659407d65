// Ops that torch alone computes: Fourier transforms, complex elements and their parts, selection
// along a dim, factorisations and solutions of matrices, recurrent networks over sequences.
#include "ops/rules/opaque.h"

#include <algorithm>
#include <array>

#include "ops/promotion.h"
#include "ops/rules/inference.h"

namespace penstock::ops {

namespace {

DType complex_of(DType dtype) {
  if (is_complex(dtype)) return dtype;
  return dtype == DType::float64 ? DType::complex128 : DType::complex64;
}

/// The dim that a transform goes along, and how many elements it takes of it: `n`, or all.
struct Along {
  std::int64_t dim = 0;
  SymExpr count = 0;
};

std::optional<Along> along(Inference& in, const TensorType& self) {
  const std::int64_t dim = in.dim("dim", -1, self.rank());
  if (in.failed() || self.rank() == 0) {
    in.fail("a transform goes along a dim");
    return std::nullopt;
  }
  return Along{dim, in.integer("n", self.sizes[dim])};
}

void spectrum(Inference& in) {
  const TensorType& self = in.tensor("self");
  const auto way = along(in, self);
  if (!way) return;
  std::vector<SymExpr> sizes = self.sizes;
  sizes[way->dim] = way->count;
  in.add(complex_of(self.dtype), std::move(sizes), self);
}

void spectrum_of_dims(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (in.failed() || in.has("s")) return in.refuse("sizes are given");
  in.add(complex_of(self.dtype), self.sizes, self);
}

void half_spectrum(Inference& in) {
  const TensorType& self = in.tensor("self");
  const auto way = along(in, self);
  if (!way) return;
  std::vector<SymExpr> sizes = self.sizes;
  sizes[way->dim] = floordiv(way->count, SymExpr(2)) + SymExpr(1);
  in.add(complex_of(self.dtype), std::move(sizes), self);
}

void from_half_spectrum(Inference& in) {
  const TensorType& self = in.tensor("self");
  const auto way = along(in, self);
  if (!way) return;
  std::vector<SymExpr> sizes = self.sizes;
  sizes[way->dim] = in.has("n") ? way->count : (way->count - SymExpr(1)) * SymExpr(2);
  in.add(real_dtype(complex_of(self.dtype)), std::move(sizes), self);
}

void complex_of_parts(Inference& in) {
  const bool polar = in.has("abs");
  const TensorType &real = in.tensor(polar ? "abs" : "real"),
                   &imaginary = in.tensor(polar ? "angle" : "imag");
  if (in.failed()) return;
  in.add(elementwise_type(in, std::array<const TensorType*, 2>{&real, &imaginary},
                          complex_of(real.dtype)));
}

/// The real parts of complex elements, as a view of their memory.
TensorType real_parts(Inference& in) {
  TensorType type = in.tensor("self");
  if (in.failed() || !is_complex(type.dtype)) in.fail("self has no complex elements");
  type.dtype = real_dtype(type.dtype);
  for (SymExpr& stride : type.strides) stride *= SymExpr(2);
  type.storage_offset *= SymExpr(2);
  return type;
}

void parts_of_complex(Inference& in) {
  TensorType type = real_parts(in);
  if (in.failed()) return;
  type.sizes.emplace_back(2);
  type.strides.emplace_back(1);
  in.add_view(std::move(type), in.value("self"));
}

void complex_of_pairs(Inference& in) {
  TensorType type = in.tensor("self");
  if (in.failed() || type.rank() == 0) return in.fail("self has no pairs");
  type.dtype = complex_of(type.dtype);
  type.sizes.pop_back();
  type.strides.pop_back();
  for (SymExpr& stride : type.strides) stride = floordiv(stride, SymExpr(2));
  type.storage_offset = floordiv(type.storage_offset, SymExpr(2));
  in.add_view(std::move(type), in.value("self"));
}

void part_of_complex(Inference& in) {
  TensorType type = real_parts(in);
  if (in.failed()) return;
  if (in.node().op == "aten.imag.default") type.storage_offset += SymExpr(1);
  in.add_view(std::move(type), in.value("self"));
}

void selected_along(Inference& in) {
  const TensorType& self = in.tensor("self");
  const std::int64_t dim = in.dim("dim", -1, self.rank());
  const bool keep = in.boolean("keepdim", false);
  if (in.failed()) return;
  const std::vector<SymExpr> sizes =
      self.rank() == 0 ? self.sizes : reduced_sizes(self.sizes, {dim}, keep);
  in.add(self.dtype, sizes, self);
  in.add(DType::int64, sizes, self);
}

void positions(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (in.failed()) return;
  in.add(in.boolean("out_int32", false) ? DType::int32 : DType::int64, self.sizes, self);
}

/// The argument whose last two dims are a matrix.
const TensorType* matrix(Inference& in) {
  const TensorType& given = in.tensor(in.has("A") ? "A" : "self");
  if (!in.failed() && given.rank() < 2) in.fail("a matrix has two dims");
  return in.failed() ? nullptr : &given;
}

/// A matrix for each one of a batch, which the library leaves column after column.
TensorType columns(const TensorType& like, const std::vector<SymExpr>& sizes) {
  TensorType type = contiguous_type(like.dtype, sizes, like);
  const std::size_t rank = sizes.size();
  std::swap(type.sizes[rank - 1], type.sizes[rank - 2]);
  type.strides = contiguous_strides(type.sizes);
  std::swap(type.sizes[rank - 1], type.sizes[rank - 2]);
  std::swap(type.strides[rank - 1], type.strides[rank - 2]);
  return type;
}

void matrix_of_columns(Inference& in) {
  if (const TensorType* given = matrix(in)) in.add(columns(*given, given->sizes));
}

std::vector<SymExpr> batch(const TensorType& matrices, std::size_t dims) {
  return {matrices.sizes.begin(), matrices.sizes.end() - static_cast<std::ptrdiff_t>(dims)};
}

void number_of_matrix(Inference& in) {
  if (const TensorType* given = matrix(in)) in.add(given->dtype, batch(*given, 2), *given);
}

void numbers_of_matrix(Inference& in) {
  number_of_matrix(in);
  if (!in.failed()) number_of_matrix(in);
}

void row_of_matrix(Inference& in) {
  const TensorType* given = matrix(in);
  if (given == nullptr) return;
  std::vector<SymExpr> sizes = batch(*given, 2);
  const SymExpr &rows = given->sizes[given->rank() - 2], &width = given->sizes.back();
  sizes.push_back(in.less(rows, width) ? rows : width);
  if (!in.failed()) in.add(given->dtype, std::move(sizes), *given);
}

void row_and_columns(Inference& in) {
  row_of_matrix(in);
  if (!in.failed()) matrix_of_columns(in);
}

/// Of a right side that is a matrix; one that is a row for each matrix has its layout.
void solution(Inference& in) {
  const TensorType& given = in.tensor("A");
  const TensorType& right = in.tensor("B");
  if (in.failed() || given.rank() != right.rank() || right.rank() < 2)
    return in.fail("the right side is no matrix for each one");
  in.add(columns(right, right.sizes));
}

void like_self(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (!in.failed()) in.add(self.dtype, self.sizes, self);
}

/// A recurrent network over sequences (ATen: RNN.cpp): what its last layer gives at each place, and
/// the states behind the last. Places come first in memory, whatever dim is the batch's.
void sequences(Inference& in) {
  const bool packed = in.has("data");
  const TensorType& input = in.tensor(packed ? "data" : "input");
  const bool cells = in.node().op.starts_with("aten.lstm.");
  const std::vector<ValueId> states =
      cells ? in.values("hx") : std::vector<ValueId>{in.value("hx")};
  const bool batch_first = in.boolean("batch_first", false),
             both_ways = in.boolean("bidirectional", false);
  const std::size_t rank = packed ? 2 : 3;
  if (in.failed() || states.empty() || input.rank() != rank || in.type(states[0]).rank() != 3)
    return in.refuse("it takes no sequences");
  TensorType made = contiguous_type(input.dtype, input.sizes, input);
  made.sizes.back() = in.type(states[0]).sizes[2] * SymExpr(both_ways ? 2 : 1);
  if (batch_first) std::swap(made.sizes[0], made.sizes[1]);
  made.strides = contiguous_strides(made.sizes);
  if (batch_first) {
    std::swap(made.sizes[0], made.sizes[1]);
    std::swap(made.strides[0], made.strides[1]);
  }
  in.add(std::move(made));
  for (ValueId state : states) in.add(input.dtype, in.type(state).sizes, input);
}

struct Row {
  std::string_view name;
  void (*rule)(Inference&);
  OpFacts facts;
};

constexpr Row row(std::string_view name, void (*rule)(Inference&)) {
  return {
      name,
      rule,
      {OpId::count, name, OpFamily::effect, kOpaque, PrimGroup::none, PrimResult::same, {}, {}}};
}

constexpr Row kRows[] = {
#define PS_OPAQUE(name, rule) row(name, rule),
#include "ops/rules/opaque.def"
#undef PS_OPAQUE
};

}  // namespace

Result<std::vector<InferredResult>> infer_opaque(const Node& node, const Graph& graph,
                                                 ShapeContext& shapes) {
  const auto* found = std::ranges::find(kRows, node.op, &Row::name);
  if (found == std::end(kRows)) return failure(Code::PS0602, node.op + " has no shape rule");
  Inference inference(found->facts, node, graph, shapes);
  found->rule(inference);
  if (inference.failed()) return tl::unexpected(*inference.error());
  return inference.take();
}

}  // namespace penstock::ops
