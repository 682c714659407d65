#pragma once

// Rules of numbers that are followed and of sizes (number.cpp, size.cpp); Sizes says what is known
// of them.

#include "record/walk.h"

namespace penstock::record {

/// True for a tensor that stands for a number (record/grid_values.h), whose dims must not be seen:
/// the walk broke.
bool is_of_grid(Walk& walk, Operand tensor);
/// The tuple of all sizes.
bool tensor_shape(Walk& walk, FrameShadow& frame, Operand tensor, int pops, bool method);
bool tell_size(Walk& walk, FrameShadow& frame, std::string_view fact,
               const std::vector<Operand>& positional, int pops, std::optional<bool>& done);
bool tensor_length(Walk& walk, FrameShadow& frame, Operand tensor, int pops);
/// Tensor.item(), int(): of an input that holds one integer, a number that is read before each run
/// and whose value decides nothing. Nothing for other tensors.
std::optional<bool> element_number(Walk& walk, FrameShadow& frame, Operand tensor, int pops);
/// The instruction computes a number of others (`right` may be null). Nothing when none of them is
/// followed or the result cannot be: then it is made of constants.
std::optional<bool> number_operation(Walk& walk, FrameShadow& frame, NumberOp op, Operand left,
                                     const Operand* right, int pops);

/// How the call's op takes a number as that argument.
ops::NumberTaken number_taken(const torch::ResolvedCall& call, std::string_view argument);

}  // namespace penstock::record
