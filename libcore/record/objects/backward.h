#pragma once

// backward() and `.grad` (backward.cpp).

#include "record/walk.h"

namespace penstock::record {

/// torch.Tensor.backward and torch.autograd.backward of one tensor.
std::optional<bool> model_backward(Walk& walk, FrameShadow& frame, Operand function,
                                   const std::vector<Operand>& positional,
                                   const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                   int pops);
/// torch.autograd.grad (asked_gradients.cpp).
std::optional<bool> model_grad(Walk& walk, FrameShadow& frame, Operand function,
                               const std::vector<Operand>& positional,
                               const std::vector<std::pair<PyObject*, Operand>>& keywords,
                               int pops);
/// Why the graph is none that gradients are made within; empty: it is.
std::string obstacle_to_going_back(const Walk& walk);
/// Whether another op of the program than those that are recorded here made an input through which
/// gradients go.
bool comes_from_outside(const Walk& walk);
/// Whether another input lies in the same memory as input `id`: no guard tells those apart.
bool shares_memory(const Recorder& recorder, ValueId id);
/// Whether torch starts from a tensor of that type when it is not told with what.
bool is_one_number(const TensorType& type);
/// `tensor.grad`, of a tensor that was there before the segment; nothing where a graph does not
/// know of it.
std::optional<Shadow> gradient_attribute(Walk& walk, Operand tensor);
/// `tensor.grad = value`.
bool store_gradient(Walk& walk, FrameShadow& frame, Operand tensor, Operand value, int pops,
                    bool call);

}  // namespace penstock::record
