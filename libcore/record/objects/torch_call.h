#pragma once

// Calls of torch that become calls of the graph (torch_call.cpp, whole_call.cpp,
// torch_operator.cpp, autograd_function.cpp, map.cpp).

#include "record/walk.h"

namespace penstock::record {

using Keywords = std::vector<std::pair<PyObject*, Operand>>;

/// The call of a function or method that becomes a call of the graph.
bool call_op(Walk& walk, FrameShadow& frame, const policy::KnownFunction& function,
             PyObject* object, std::vector<Operand>& positional, Keywords& keywords, int pops);
/// torch.ops.aten.NAME and torch.ops.aten.NAME.OVERLOAD; nothing for other callables.
std::optional<bool> call_operator(Walk& walk, FrameShadow& frame, Operand callable,
                                  const std::vector<Operand>& positional, const Keywords& keywords,
                                  int pops);
bool torch_call(Walk& walk, FrameShadow& frame, const TorchTarget& target,
                std::span<const Operand> positional,
                std::span<const std::pair<PyObject*, Operand>> keywords, int pops);
/// One call of a graph that a backend of the program's own gets, whatever torch does in it
/// (objects/whole_call.cpp). Nothing where an argument cannot be in a graph.
std::optional<bool> whole_call(Walk& walk, FrameShadow& frame, const TorchTarget& target,
                               std::span<const Operand> positional,
                               std::span<const std::pair<PyObject*, Operand>> keywords, int pops);
/// A call of Python code that such a graph has as one.
std::optional<bool> call_whole_function(Walk& walk, FrameShadow& frame, Operand function,
                                        const std::vector<Operand>& positional,
                                        const Keywords& keywords, int pops);
bool tensor_method(Walk& walk, FrameShadow& frame, const std::string& name,
                   std::vector<Operand>& positional, Keywords& keywords, int pops);
/// The methods of objects/torch_conversion.cpp; nothing: it is another one.
std::optional<bool> tensor_conversion(Walk& walk, FrameShadow& frame, const std::string& name,
                                      const std::vector<Operand>& positional,
                                      const Keywords& keywords, int pops);
/// torch.Tensor(2, 3), torch.LongTensor([1, 2]) and their like (objects/torch_conversion.cpp);
/// nothing: it is another class, or a call that is not followed.
std::optional<bool> call_tensor_class(Walk& walk, FrameShadow& frame, Operand type,
                                      const std::vector<Operand>& positional,
                                      const Keywords& keywords, int pops);
/// Whether a graph can hold a write by `who` of what a view of type `shown` shows of the value
/// `id`; else the walk broke.
bool may_write(Walk& walk, const std::string& who, ValueId id, const TensorType& shown);
/// Puts what a question about a tensor names in its place; false for names that are none of these.
bool place_keywords(const Keywords& keywords, std::vector<Operand>& positional);
bool tell_fact(Walk& walk, FrameShadow& frame, std::string_view fact,
               const std::vector<Operand>& positional, int pops);
bool pass_number(Walk& walk, Operand number, std::size_t position, bool method, Argument& argument,
                 torch::ResolvedCall& call);
bool record(Walk& walk, FrameShadow& frame, Call call, std::vector<PlannedNode> nodes,
            const std::vector<Operand>& operands, int pops, PyObject* callable = nullptr);
void add_planned(Walk& walk, FrameShadow& frame, Call call, python::PyRef callable,
                 std::vector<PlannedNode> nodes, int pops);
Shadow whole_result(Walk& walk, std::int32_t call, PlannedNode node, PyObject* result);
Shadow result_shadow(Walk& walk, PlannedNode& node, PyObject* result,
                     std::vector<Argument>& values);
/// Appends a node that gives `tensor`, which torch's code made by itself, as the result of `call`.
Shadow planned_result(Walk& walk, std::int32_t call, PlannedNode node, PyObject* tensor);
/// Of a tensor that is a value of the graph.
std::optional<ValueId> value_of(Walk& walk, Shadow tensor);
std::optional<Argument> argument(Walk& walk, Operand operand);
std::optional<Argument> size_or_argument(Walk& walk, Operand item);
/// The C code of torch.autograd.Function.apply, for the class `type`.
bool apply_function(Walk& walk, FrameShadow& frame, Operand type,
                    const std::vector<Operand>& arguments, int pops);
Shadow function_result(Walk& walk, PyObject* result, Shadow given,
                       const std::vector<Operand>& arguments);
Shadow function_output(Walk& walk, PyObject* tensor, Shadow given,
                       const std::vector<Operand>& arguments);
/// What torch's own code binds to the parameters of a forward.
std::optional<bool> model_bind_defaults(Walk& walk, FrameShadow& frame, Operand function,
                                        const std::vector<Operand>& positional,
                                        const Keywords& keywords, int pops);

}  // namespace penstock::record
