#pragma once

// backward() and `.grad` (backward.cpp).

#include "record/walk.h"

namespace penstock::record {

/// torch.Tensor.backward and torch.autograd.backward of one tensor.
std::optional<bool> model_backward(Walk& walk, FrameShadow& frame, Operand function,
                                   const std::vector<Operand>& positional,
                                   const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                   int pops);
/// `tensor.grad`, of a tensor that was there before the segment; nothing where a graph does not
/// know of it.
std::optional<Shadow> gradient_attribute(Walk& walk, Operand tensor);
/// `tensor.grad = value`.
bool store_gradient(Walk& walk, FrameShadow& frame, Operand tensor, Operand value, int pops,
                    bool call);

}  // namespace penstock::record
