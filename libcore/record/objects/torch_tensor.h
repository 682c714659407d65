#pragma once

// Rules of tensors: operators, attributes, subscripts, and what makes them of data
// (torch_tensor.cpp, tensor_attribute.cpp, torch_index.cpp, torch_data.cpp).

#include "record/walk.h"

namespace penstock::record {

using Keywords = std::vector<std::pair<PyObject*, Operand>>;

struct Index;
struct IndexChain;

/// The truth of a tensor of one bool that a few ops computed of one input, guarded by asking the
/// same again (objects/element_question.cpp); nothing where it is anything else.
std::optional<bool> ask_elements(Walk& walk, Operand tensor);

/// What torch makes of floats that are given without a dtype, which is guarded; nothing: the walk
/// broke, or it is a dtype that graphs have no word for (objects/torch_data.cpp).
std::optional<DType> default_dtype(Walk& walk);
/// The numbers that a tensor is made of (objects/torch_data.cpp); nothing when it is other data, or
/// more than a graph should hold.
std::optional<PythonData> python_data(Walk& walk, Operand data);
/// Appends the nodes that make the tensor; the last one gives it. `dtype` may be left to torch only
/// where the data is uniform.
bool plan_data(Walk& walk, PythonData& data, std::optional<DType> dtype,
               std::vector<PlannedNode>& nodes);
/// torch.tensor and torch.as_tensor.
bool make_tensor(Walk& walk, FrameShadow& frame, std::string_view function,
                 const std::vector<Operand>& positional, const Keywords& keywords, int pops);
std::optional<Argument> shown(Walk& walk, Operand key);
bool consume_tensor_type(Walk& walk, Operand tensor);
bool is_tensor_method(Walk& walk, PyObject* name);
/// Whether it is torch's is asked at every call (torch/exchanged_members.h); where it is the
/// program's, nothing of the class may change.
void guard_tensor_method(Walk& walk, Operand tensor, PyObject* name);
bool tensor_attribute(Walk& walk, FrameShadow& frame, Operand tensor, PyObject* name,
                      const AttributeUse& use);
/// Attributes that the program keeps in a tensor's dict; `value` without an object: it is deleted.
bool own_tensor_attribute(Walk& walk, FrameShadow& frame, Operand tensor, PyObject* name,
                          const AttributeUse& use);
bool store_tensor_attribute(Walk& walk, FrameShadow& frame, Operand tensor, PyObject* name,
                            Operand value, int pops, bool call);
/// tensor[key], by an instruction or a method whose operands are the `pops` topmost.
bool tensor_subscript(Walk& walk, FrameShadow& frame, Operand tensor, Operand key, int pops);
/// tensor[key] = value. A method gives None in place of its `pops` operands; an instruction leaves
/// nothing, which a negative number says.
bool tensor_store_subscript(Walk& walk, FrameShadow& frame, Operand tensor, Operand key,
                            Operand value, int pops);
/// Guards a number or slice that is an index, but for symbolic sizes.
bool consume_index(Walk& walk, Operand index);
bool index_chain(Walk& walk, Operand tensor, Operand key, bool store, IndexChain& chain);
std::optional<Argument> symbolic_index(Walk& walk, Operand index);
bool apply_indices(Walk& walk, const std::vector<Index>& indices, bool tuple, bool store,
                   std::int64_t used, IndexChain& chain);
bool binary_tensor(Walk& walk, FrameShadow& frame, int operation);
bool divide_number(Walk& walk, FrameShadow& frame, const TorchTarget& target, Operand number,
                   Operand tensor);
bool compare_tensor(Walk& walk, FrameShadow& frame, int operation);
bool unary_tensor(Walk& walk, FrameShadow& frame, const char* name, const char* op);
bool iterate_tensor(Walk& walk, FrameShadow& frame);
bool read_data(Walk& walk, Operand data, std::size_t depth, PythonData& read);

}  // namespace penstock::record
