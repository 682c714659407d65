#pragma once

#include "diag/budget.h"
#include "fusion/loop_program.h"
#include "shape/prover.h"

namespace penstock::fusion {

/// Checks one kernel of a program whose buffers are well formed: instructions that exist, with
/// operands of the dtypes that they take; scalars made before their use and in scope; symbols that
/// are known, and integers where an index uses a scalar; indices that are proved to lie inside
/// their buffers. PS0205 names the first rule that is broken. `sizes` is what the program knows of
/// its symbols; `budget` is charged for each statement, and what is spent ends the check (null: no
/// limit).
Result<void> verify_kernel(const LoopProgram& program, const LoopKernel& kernel,
                           const RangeFacts& sizes, Budget* budget);

}  // namespace penstock::fusion
