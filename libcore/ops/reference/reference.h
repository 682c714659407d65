#pragma once

#include "ops/reference/evaluation.h"
#include "ops/reference/scalars.h"

namespace penstock::ops::reference {

/// An elementwise function of one tensor, computed in the result's dtype or, for predicates, in the
/// operand's.
void apply_unary(Evaluation&, const UnaryScalar&);
template <const UnaryScalar& scalar>
void unary(Evaluation& e) {
  apply_unary(e, scalar);
}

/// The same of two operands, promoted and broadcast.
void apply_binary(Evaluation&, const BinaryScalar&);
template <const BinaryScalar& scalar>
void binary(Evaluation& e) {
  apply_binary(e, scalar);
}

// The other functions of column `reference` in ops.def, and those of prims (prim_ in front).
#define PS_REFERENCE(name) void name(Evaluation&);
#include "ops/reference/reference.def"
#undef PS_REFERENCE

}  // namespace penstock::ops::reference
