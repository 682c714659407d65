#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

#include <string_view>

#include "diag/diagnostic.h"
#include "ir/dtype.h"

namespace penstock::codegen {

/// What an accumulator carries through a loop: one value; argmax and argmin: the extreme and its
/// position (i64); welford: mean, M2, count. All scalars or all vectors of one length.
using AccumulatorState = llvm::SmallVector<llvm::Value*, 3>;

/// One row per kind of accumulator: how it starts, takes a value, and joins two partial results.
struct AccumulatorKind {
  std::string_view name;
  int components;
  AccumulatorState (*identity)(llvm::IRBuilder<>&, DType, int lanes);
  /// Joins a and b; the order of positions and of roundings is that of (a, b).
  AccumulatorState (*combine)(llvm::IRBuilder<>&, DType, const AccumulatorState& a,
                              const AccumulatorState& b);
  /// The state of one value alone at `position`.
  AccumulatorState (*single)(llvm::IRBuilder<>&, DType, llvm::Value* value, llvm::Value* position);
};

/// The row of `name`; PS0702 when there is none.
Result<const AccumulatorKind*> find_accumulator(std::string_view name);

/// One more value for a state.
struct AccumulatorStep {
  llvm::Value* value;
  llvm::Value* position;  ///< the loop's variable, i64
  llvm::Value* mask;      ///< i1s: false leaves a lane as it was; null: all take part
  /// welford: how many values the state holds afterwards and its inverse, where every lane and copy
  /// holds as many; else null.
  llvm::Value* count;
  llvm::Value* inverse_count;
};
AccumulatorState accumulate(llvm::IRBuilder<>& builder, const AccumulatorKind& kind, DType dtype,
                            const AccumulatorState& state, const AccumulatorStep& step);

/// Joins the lanes of a vector state: halves with halves, a fixed tree.
AccumulatorState reduce_lanes(llvm::IRBuilder<>& builder, const AccumulatorKind& kind, DType dtype,
                              AccumulatorState state);

/// Joins several states pairwise, neighbours first.
AccumulatorState reduce_copies(llvm::IRBuilder<>& builder, const AccumulatorKind& kind, DType dtype,
                               llvm::SmallVector<AccumulatorState, 4> states);

/// The states of one accumulator, copy by copy, cut out of what a loop carried from `place` on.
llvm::SmallVector<AccumulatorState, 4> take_states(llvm::ArrayRef<llvm::Value*> carried,
                                                   std::size_t& place, int components, int copies);

/// The first component that a program sees as a result: of argmax the position alone.
inline std::size_t first_result(std::string_view op) {
  return op.starts_with("arg") ? 1 : 0;
}

}  // namespace penstock::codegen
