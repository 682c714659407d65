#pragma once

#include "passes/decompose/decomposition.h"

namespace penstock::passes {

// The functions that the table names; a name that no file of this folder defines does not link.
#define PS_DECOMPOSITION(id, function, detail) void function(Decomposition&);
#include "passes/decompose/decompositions.def"
#undef PS_DECOMPOSITION

// Parts that several families use.

/// x != 0, or x itself when it is bool.
ValueId to_bool(Decomposition& d, ValueId x);
/// The main diagonal of two dims, as a last dim.
ValueId main_diagonal(Decomposition& d, ValueId x, std::int64_t rows, std::int64_t columns);
/// Softmax or its logarithm over one dim, in x's dtype.
ValueId softmax_over(Decomposition& d, ValueId x, std::int64_t dim, bool logarithm);

}  // namespace penstock::passes
