#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/arguments.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "ops/shape_context.h"

namespace penstock::ops {

/// What a shape rule works on: the arguments, questions about sizes, and where results go.
class Inference : public Arguments {
 public:
  Inference(const OpFacts& op, const Node& node, const Graph& graph, ShapeContext& shapes)
      : Arguments(node, graph), op_(op), shapes_(shapes) {}

  const OpFacts& op() const { return op_; }
  const TensorType& type(ValueId id) const { return graph().values[id].type; }

  /// Comparisons of sizes. An undecided one is an error, but for `otherwise`, which settles it.
  bool equal(const SymExpr& a, const SymExpr& b);
  bool equal(const SymExpr& a, const SymExpr& b, bool otherwise);
  bool less(const SymExpr& a, const SymExpr& b);
  bool is_one(const SymExpr& size) { return equal(size, 1); }
  bool is_zero(const SymExpr& size) { return equal(size, 0); }

  /// A result with memory of its own.
  void add(TensorType type) { results_.push_back({std::move(type), kNoValue}); }
  /// A result that shares the memory of `base`.
  void add_view(TensorType type, ValueId base) { results_.push_back({std::move(type), base}); }
  /// A contiguous result on the device of `like`.
  void add(DType dtype, std::vector<SymExpr> sizes, const TensorType& like);

  ShapeContext& shapes() { return shapes_; }
  std::vector<InferredResult> take() { return std::move(results_); }

 private:
  std::optional<bool> decide(Condition condition);
  const OpFacts& op_;
  ShapeContext& shapes_;
  std::vector<InferredResult> results_;
};

/// A contiguous tensor type on the device of `like`.
TensorType contiguous_type(DType dtype, std::vector<SymExpr> sizes, const TensorType& like);

/// The sizes that tensors broadcast to; an error in `in` when they do not.
std::vector<SymExpr> broadcast_sizes(Inference& in, std::span<const TensorType* const> tensors);

/// The strides of an elementwise op's result, as TensorIterator chooses them: the stride order of
/// the first operand that has one. `same_shape_only` false: also a number stood among the operands.
std::vector<SymExpr> elementwise_strides(Inference& in, std::span<const TensorType* const> tensors,
                                         const std::vector<SymExpr>& sizes, bool with_number);

/// Result of an elementwise op over `tensors`, broadcast.
TensorType elementwise_type(Inference& in, std::span<const TensorType* const> tensors, DType dtype,
                            bool with_number = false);

/// True when no two elements share memory and none is left out.
bool is_dense(Inference& in, const TensorType& type);

/// True when torch suggests channels_last for the tensor (rank 4 or, channels_last_3d, 5; strides
/// in that order).
bool suggests_channels_last(Inference& in, const TensorType& type);
/// True when `format` is the memory format with the channels last for tensors of this rank.
bool asks_channels_last(const TensorType& type, std::string_view format);
std::vector<SymExpr> channels_last_strides(const std::vector<SymExpr>& sizes);

/// The strides that `sizes` takes on the memory of `type` without a copy; nothing: it needs one.
std::optional<std::vector<SymExpr>> view_strides(Inference& in, const TensorType& type,
                                                 const std::vector<SymExpr>& sizes);

/// `sizes` with a -1 replaced by what makes the element count that of `type`.
std::vector<SymExpr> complete_sizes(Inference& in, const TensorType& type,
                                    std::vector<SymExpr> sizes);

/// Sizes after reducing `dims` (sorted), with ones left in place if `keep`.
std::vector<SymExpr> reduced_sizes(const std::vector<SymExpr>& sizes,
                                   const std::vector<std::int64_t>& dims, bool keep);

/// Named views of a type, shared by rules and decompositions. All keep the dtype and the memory.
TensorType permuted(const TensorType& type, const std::vector<std::int64_t>& dims);
TensorType without_dim(TensorType type, std::int64_t dim);
TensorType with_dim(TensorType type, std::int64_t dim, SymExpr size, SymExpr stride);
TensorType sliced(TensorType type, std::int64_t dim, const SymExpr& start, const SymExpr& length,
                  const SymExpr& step);

/// For permute, transpose, t, T, mT, swapaxes and movedim: which dim of `self` each result dim is.
std::vector<std::int64_t> view_permutation(Inference& in);

/// start, stop of a slice as Python clamps them for a dim of `size`.
struct SliceBounds {
  SymExpr start, stop, length;
};
SliceBounds clamp_slice(Inference& in, const SymExpr& size, const Argument* start,
                        const Argument* stop, const SymExpr& step);

}  // namespace penstock::ops
