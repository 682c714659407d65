#pragma once

#include <functional>
#include <vector>

#include "record/objects/torch_call.h"
#include "record/walk.h"

// What the models of torch's control flow share (control_flow.cpp).

namespace penstock::record {

// torch's operators, and what the Python code that stands for them calls.
std::optional<bool> model_cond(Walk& walk, FrameShadow& frame, Operand function,
                               const std::vector<Operand>& positional, const Keywords& keywords,
                               int pops);
std::optional<bool> model_while_loop(Walk& walk, FrameShadow& frame, Operand function,
                                     const std::vector<Operand>& positional,
                                     const Keywords& keywords, int pops);
std::optional<bool> model_loop_inputs(Walk& walk, FrameShadow& frame, Operand function,
                                      const std::vector<Operand>& positional,
                                      const Keywords& keywords, int pops);
std::optional<bool> model_begin_subgraph(Walk& walk, FrameShadow& frame, Operand function,
                                         const std::vector<Operand>& positional,
                                         const Keywords& keywords, int pops);
std::optional<bool> model_end_subgraph(Walk& walk, FrameShadow& frame, Operand function,
                                       const std::vector<Operand>& positional,
                                       const Keywords& keywords, int pops);
std::optional<bool> model_join_branches(Walk& walk, FrameShadow& frame, Operand function,
                                        const std::vector<Operand>& positional,
                                        const Keywords& keywords, int pops);
std::optional<bool> model_join_while_loop(Walk& walk, FrameShadow& frame, Operand function,
                                          const std::vector<Operand>& positional,
                                          const Keywords& keywords, int pops);
std::optional<bool> model_join_scan(Walk& walk, FrameShadow& frame, Operand function,
                                    const std::vector<Operand>& positional,
                                    const Keywords& keywords, int pops);
// torch.autograd.Function.apply, and what the Python code that stands for it calls
// (custom_vjp.cpp).
std::optional<bool> model_apply(Walk& walk, FrameShadow& frame, Operand function,
                                const std::vector<Operand>& positional, const Keywords& keywords,
                                int pops);
/// Whether the frame is that of the Python code that stands for apply(), and calls it.
bool stands_for_apply(const FrameShadow& frame);
std::optional<bool> model_function_context(Walk& walk, FrameShadow& frame, Operand function,
                                           const std::vector<Operand>& positional,
                                           const Keywords& keywords, int pops);
std::optional<bool> model_function_tangents(Walk& walk, FrameShadow& frame, Operand function,
                                            const std::vector<Operand>& positional,
                                            const Keywords& keywords, int pops);
std::optional<bool> model_join_function(Walk& walk, FrameShadow& frame, Operand function,
                                        const std::vector<Operand>& positional,
                                        const Keywords& keywords, int pops);
/// Whether the op may be in what control flow runs, which is recorded once however often it runs;
/// else the walk broke.
bool may_be_in_subgraph(Walk& walk, const std::vector<PlannedNode>& nodes);

/// True for a tuple or list of tensors.
bool holds_tensors(const Walk& walk, PyObject* object);
/// True for a tensor that requires grad and whose elements are its memory.
bool requires_grad(const Walk& walk, PyObject* object);
/// The values of the graph that a tensor is, or a tuple or list of them; nothing for anything else.
std::optional<std::vector<ValueId>> values_in(Walk& walk, Operand result);
/// Whether both are of one dtype and device, of the same sizes, and lie alike.
bool lies_alike(const TensorType& one, const TensorType& other);
std::vector<TensorType> types_of(const Recorder& recorder, const std::vector<ValueId>& values);

/// Whether gradients are recorded of what the innermost operator gives, as they are of any tensor
/// that it takes: `operands`, or what its subgraphs use besides.
bool wants_gradients(const Recorder& recorder, const std::vector<ValueId>& operands);
/// Why torch's gradients of the innermost operator, with these operands, are not those of its
/// subgraphs; empty: they are, or none are recorded.
std::string obstacle_to_gradients(const Recorder& recorder, const std::vector<ValueId>& operands);

/// The call runs natively, and leaves what `finish` pushes.
bool natively(FrameShadow& frame, Operand function,
              std::function<void(Walk&, FrameShadow&)> finish);
/// The call runs natively; its result, a tensor or a tuple or list of them, is what the node gives
/// that `join` appends behind the last call.
bool joins(FrameShadow& frame, Operand function, int pops,
           std::function<std::vector<ValueId>(Walk&)> join);

}  // namespace penstock::record
