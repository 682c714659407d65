#pragma once

#include <string>
#include <vector>

#include "ir/declared_sizes.h"
#include "ir/interface.h"

namespace penstock {

/// Whether the caller of an exported graph passes the input: an argument's tensor, and none that
/// the module or the program's globals keep.
bool is_argument(const Interface& interface, const Input& input);

/// Why a graph is not what was declared, all reasons: PS0806 for a size that is no symbol of its
/// name, with the line that made it a number, or that a guard makes equal to something. What stays
/// of the guards on sizes holds for a range of them: `run` asks it of every call.
std::vector<Diagnostic> broken_declarations(const Interface& interface,
                                            const std::vector<DeclaredSize>& declared);

/// Takes out what only the program's own process needs: guards but for those on sizes, what is put
/// back into Python objects, and the tensors that the call was recorded with, which are not its
/// weights.
void leave_program(Interface& interface);

}  // namespace penstock
