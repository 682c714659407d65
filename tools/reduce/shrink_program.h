#pragma once

#include <functional>
#include <string>

#include "tools/reduce/outline.h"

namespace penstock::tools {

/// Whether a program still shows what is looked for.
using InterestingProgram = std::function<bool(const std::string& program)>;

/// A short program for which `interesting` is true, made from `program`, for which it is:
/// statements are left out, blocks take the place of what is around them, operands that of
/// expressions, and numbers get smaller, until nothing of that leaves it interesting. Only programs
/// that Python reads are asked about, none twice. PS0106 when Python cannot be asked.
Result<std::string> shrink_program(const Outliner& outliner, std::string program,
                                   const InterestingProgram& interesting);

}  // namespace penstock::tools
