#pragma once

#include <string>

#include "diag/budget.h"
#include "fusion/loop_program.h"

namespace penstock {

/// Checks what holds at level loops: buffers well formed, instructions that exist with the right
/// operands, scalars made before their use and in scope, known symbols, indices inside their
/// buffers where that can be proven wrong, arena places that overlap only for temporaries that
/// never live together. PS0205 names the first rule that is broken; PS0709 where the budget is
/// spent.
Result<void> verify_contract(const LoopProgram& program, Budget* budget = nullptr);

/// The program as pseudo code: buffers, then steps, an instruction a line.
std::string to_text(const LoopProgram& program);
std::string to_text(const LoopKernel& kernel, const LoopProgram& program);

}  // namespace penstock
