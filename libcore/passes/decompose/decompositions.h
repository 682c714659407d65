#pragma once

#include "passes/decompose/decomposition.h"

namespace penstock::passes {

// The functions that the table names; a name that no file of this folder defines does not link.
#define PS_DECOMPOSITION(id, function, detail) void function(Decomposition&);
#include "passes/decompose/decompositions.def"
#undef PS_DECOMPOSITION

/// One row of decompositions.def.
struct DecompositionRow {
  void (*function)(Decomposition&) = nullptr;  ///< null: the op stays whole
  std::string_view detail;
  bool exists = false;  ///< sanitizers make no constant of `function != nullptr`
};

/// The row of an op of ops.def.
const DecompositionRow& decomposition_row(ops::OpId id);

/// Copies the results that are views of what there was before, where torch gives memory of its own:
/// who writes such a result does not write the operand, and views behind count on strides without
/// repeated elements.
void give_own_memory(Rewrite& rewrite, const Rewrite::Mark& before,
                     const std::vector<ops::InferredResult>& inferred,
                     std::vector<ValueId>& results);

/// Prims and library calls take what memory they are told to take: that indices are in it is looked
/// at before.
void check_indices(Rewrite& rewrite, const ops::OpFacts& op, const Node& node);

/// Whether torch runs the op on a device: where elements choose along a dim, but for rows that are
/// read or a single one that is written; and attention, which has
/// kernels that keep no scores.
bool stays_whole_on_device(Rewrite& rewrite, const ops::OpFacts& op, const Node& node);

// Parts that several families use.

/// A tensor whose elements are all the number argument `name`, as `dtype` holds it.
ValueId number_in(Decomposition& d, const char* name, const std::vector<SymExpr>& sizes,
                  DType dtype);
/// x != 0, or x itself when it is bool.
ValueId to_bool(Decomposition& d, ValueId x);
/// The main diagonal of two dims, as a last dim.
ValueId main_diagonal(Decomposition& d, ValueId x, std::int64_t rows, std::int64_t columns);
/// Softmax or its logarithm over one dim, in x's dtype.
ValueId softmax_over(Decomposition& d, ValueId x, std::int64_t dim, bool logarithm);
/// The norm of an order over dims, in x's dtype.
ValueId norm_over(Decomposition& d, ValueId x, const std::vector<std::int64_t>& dims, bool keep,
                  double order);
/// What the tensors' own dtype holds of a value that is computed in a wider one.
ValueId rounded(Decomposition& d, ValueId value, const Operands& x);
/// base to the exponent, with the exponents that torch's kernels for `dtype` know taken apart.
ValueId power_of(Decomposition& d, const Argument& base, const Argument& exponent, DType dtype);
/// The dims of x from the first on.
std::vector<std::int64_t> all_dims(Decomposition& d, ValueId x);

}  // namespace penstock::passes
