// What a program demands of elements: `assert mask.all()`, `if (scale < 0).any(): raise
// ValueError(…)`, and the arguments that torch.distributions validates.
//
// Which way such a branch goes the elements decide, and a graph knows none. But of its two ways one
// does nothing but make an exception and raise it, so the graph goes on along the other, and holds
// an op that demands the flag to be as it was. Where it is not, the run fails before it has changed
// anything, the call is executed by Python, and that raises, with its own message at its own line.

#include "record/objects/demand.h"

#include <algorithm>

#include "record/objects/torch_call.h"
#include "torch/compile_region.h"
#include "torch/state.h"
#include "torch/tensor_facts.h"

namespace penstock::record {

using python::Instruction;
using python::Opcode;

namespace {

/// True where the instructions from `unit` on make an exception and raise it, without a branch.
bool leads_to_raise(const FrameShadow& f, int unit) {
  constexpr int kMostInstructions = 120;
  const python::Bytecode& code = f.frame->bytecode();
  const Instruction* i = code.at(unit);
  for (int count = 0; i != nullptr && count < kMostInstructions; ++count) {
    if (i->opcode == Opcode::RAISE_VARARGS) return true;
    const bool stores = i->opcode == Opcode::STORE_GLOBAL || i->opcode == Opcode::STORE_ATTR ||
                        i->opcode == Opcode::STORE_SUBSCR;
    if (stores || i->target >= 0 || python::facts(i->opcode).ends) return false;
    i = code.at(i->next);
  }
  return false;
}

bool is_flag(Walk& walk, Operand flag) {
  if (!flag.shadow.is(Shadow::Kind::node) || !walk.is_tensor(flag.object) ||
      !torch::has_torch_truth(Py_TYPE(flag.object)) || walk.recorder.grid.has(flag.shadow.index))
    return false;
  const TensorType& type = walk.recorder.value(flag.shadow.index).type;
  return type.dtype == DType::bool_ && type.rank() == 0 && type.device == "cpu";
}

/// A number or flag that the graph computes of others, by an op that the program does not call.
ValueId computed(Walk& walk, const char* function, const std::string& op,
                 const std::vector<NamedArgument>& args, DType dtype) {
  std::vector<Argument> shown;
  for (const NamedArgument& argument : args) shown.push_back(argument.value);
  const std::int32_t call = walk.recorder.add_call({"call_function",
                                                    function,
                                                    std::string("torch.") + function,
                                                    std::move(shown),
                                                    {},
                                                    walk.stack(),
                                                    {}});
  TensorType type;
  type.dtype = dtype;
  const ValueId made = walk.recorder.add_node(op, args, type);
  walk.recorder.graph().calls[call].result = Argument::Value{made};
  return made;
}

/// A flag of the graph's that is set where the other is not.
ValueId opposite(Walk& walk, ValueId flag) {
  return computed(walk, "logical_not", "aten.logical_not.default",
                  {{"self", Argument::Value{flag}}}, DType::bool_);
}

void demand(Walk& walk, ValueId flag) {
  const Argument value = Argument::Value{flag};
  walk.recorder.add_call(
      {"call_function", "_assert_async", "torch._assert_async", {value}, {}, walk.stack(), {}});
  walk.recorder.add_effect("aten._assert_async.default", {{"self", value}});
}

}  // namespace

std::optional<bool> demand_truth(Walk& walk, const FrameShadow& f, Operand flag) {
  const Instruction* jump = f.instruction;
  const auto jumps_when = python::jumps_on(jump->opcode);
  if (!jumps_when || !is_flag(walk, flag) || torch::in_compiled_region() ||
      walk.context.for_backend() || walk.recorder.subgraphs.any())
    return std::nullopt;
  const int truth = PyObject_IsTrue(flag.object);
  if (truth < 0) PyErr_Clear();
  const bool jumps = *jumps_when == (truth == 1);
  if (truth < 0 || !leads_to_raise(f, jumps ? jump->next : jump->target)) return std::nullopt;
  demand(walk, truth == 1 ? flag.shadow.index : opposite(walk, flag.shadow.index));
  return truth == 1;
}

void demand_count(Walk& walk, ValueId mask, const SymExpr& count) {
  const auto constant = count.constant();
  const ValueId marked =
      computed(walk, "sum", "aten.sum.default", {{"self", Argument::Value{mask}}}, DType::int64);
  const Argument wanted = constant ? Argument(*constant) : Argument(count);
  demand(walk, computed(walk, "eq", "aten.eq.Scalar",
                        {{"self", Argument::Value{marked}}, {"other", wanted}}, DType::bool_));
}

}  // namespace penstock::record
