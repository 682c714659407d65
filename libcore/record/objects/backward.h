#pragma once

// backward() and `.grad` (backward.cpp), torch.autograd.grad (engine_gradients.cpp), and what a
// segment makes that gradients go to (made_leaf.cpp).

#include <functional>

#include "record/walk.h"

namespace penstock::record {

/// torch.Tensor.backward and torch.autograd.backward of one tensor.
std::optional<bool> model_backward(Walk& walk, FrameShadow& frame, Operand function,
                                   const std::vector<Operand>& positional,
                                   const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                   int pops);
/// torch.autograd.graph._engine_run_backward, by which torch.autograd.grad calls torch's engine.
std::optional<bool> model_engine_gradients(
    Walk& walk, FrameShadow& frame, Operand function, const std::vector<Operand>& positional,
    const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);

/// Why the graph is none that gradients are made within; empty: it is.
std::string obstacle_to_backward(const Walk& walk);
/// Whether another op of the program than those that are recorded here made an input through which
/// gradients go.
bool comes_from_outside(const Walk& walk);
/// Whether nothing happens in backward to the tensor, input `id`, but that its gradient comes to
/// it. Needs: no obstacle.
bool is_plain_leaf(const Walk& walk, PyObject* tensor, ValueId id);
/// What a gradient of value `of` is, one that requires none itself.
TensorType type_of_gradient(const Recorder& recorder, ValueId of);

/// Whether requires_grad_ may make a leaf of the tensor: an op of the segment made it, and
/// gradients of it can be computed in the graph.
bool can_become_leaf(const Walk& walk, Operand tensor);
/// The instruction makes that leaf, and leaves `result`.
bool makes_leaf(FrameShadow& frame, Operand tensor, int pops, std::optional<Shadow> result);
/// `call` records a call with these keywords, which may make a tensor: a leaf where requires_grad
/// says so.
bool makes_tensor(Walk& walk, FrameShadow& frame,
                  const std::vector<std::pair<PyObject*, Operand>>& keywords,
                  const std::function<bool()>& call);

/// `tensor.grad`, of a tensor that was there before the segment or a leaf that it made; nothing
/// where a graph does not know of it.
std::optional<Shadow> gradient_attribute(Walk& walk, Operand tensor);
/// `tensor.grad = value`.
bool store_gradient(Walk& walk, FrameShadow& frame, Operand tensor, Operand value, int pops,
                    bool call);

}  // namespace penstock::record
