#pragma once

#include "record/objects/call.h"

// torch.utils.checkpoint.checkpoint, and what the Python code that stands for it calls
// (checkpoint.cpp).

namespace penstock::record {

std::optional<bool> model_checkpoint(Walk& walk, FrameShadow& frame, Operand function,
                                     const std::vector<Operand>& positional,
                                     const Keywords& keywords, int pops);
std::optional<bool> model_begin_checkpoint(Walk& walk, FrameShadow& frame, Operand function,
                                           const std::vector<Operand>& positional,
                                           const Keywords& keywords, int pops);
std::optional<bool> model_end_checkpoint(Walk& walk, FrameShadow& frame, Operand function,
                                         const std::vector<Operand>& positional,
                                         const Keywords& keywords, int pops);

}  // namespace penstock::record
