// Tensors as operands of Python's operators, iteration over them.

#include "record/objects/torch_tensor.h"
#include "python/literal.h"
#include "python/numpy_scalar.h"
#include "record/objects/call.h"
#include "record/objects/iteration.h"
#include "record/objects/torch_call.h"
#include "record/results.h"
#include "record/walk.h"
#include "torch/methods.h"
#include "torch/tensor_facts.h"

namespace penstock::record {

using python::PyRef;

namespace {

/// What an operator is to FX and to the dispatcher; `reflected` is the op when only the right
/// operand is a tensor (null: the same op with the operands exchanged).
struct OperatorRow {
  const char *name, *op, *in_place_name, *in_place_op, *reflected;
};
constexpr OperatorRow kOperators[] = {
    {"add", "add", "iadd", "add_", nullptr},
    {"and_", "__and__", "iand", "__iand__", nullptr},
    {"floordiv", "floor_divide", "ifloordiv", "floor_divide_", "floor_divide"},
    {"lshift", "__lshift__", "ilshift", "__ilshift__", "bitwise_left_shift"},
    {"matmul", "matmul", "imatmul", "matmul", "matmul"},
    {"mul", "mul", "imul", "mul_", nullptr},
    {"mod", "remainder", "imod", "remainder_", "remainder"},
    {"or_", "__or__", "ior", "__ior__", nullptr},
    {"pow", "pow", "ipow", "pow_", "pow"},
    {"rshift", "__rshift__", "irshift", "__irshift__", "bitwise_right_shift"},
    {"sub", "sub", "isub", "sub_", "rsub"},
    {"truediv", "div", "itruediv", "div_", "reciprocal"},
    {"xor", "__xor__", "ixor", "__ixor__", nullptr},
};
constexpr int kInPlace = 13, kSubtract = 10, kDivide = 11;

struct CompareRow {
  const char *name, *mirrored;
};
constexpr CompareRow kComparisons[] = {{"lt", "gt"}, {"le", "ge"}, {"eq", "eq"},
                                       {"ne", "ne"}, {"gt", "lt"}, {"ge", "le"}};

}  // namespace

bool consume_tensor_type(Walk& walk, Operand tensor) {
  if (tensor.shadow.is(Shadow::Kind::sourced)) return argument(walk, tensor).has_value();
  if (tensor.shadow.is(Shadow::Kind::unknown)) return walk.facts.consume(tensor);
  return true;
}

bool binary_tensor(Walk& walk, FrameShadow& f, int operation) {
  Operand left = f.operand(1), right = f.operand();
  const bool in_place = operation >= kInPlace;
  const int which = in_place ? operation - kInPlace : operation;
  const OperatorRow& row = kOperators[which];
  const bool left_tensor = walk.is_tensor(left.object);
  for (Operand one : {left, right}) {
    PyObject* object = one.object;
    if (!walk.is_tensor(object) && !PyLong_Check(object) && !PyFloat_Check(object) &&
        !PyComplex_Check(object) && !python::is_numpy_scalar(object)) {
      return walk.verdict.broke(Code::PS0309, std::string("a tensor and a ") +
                                                  Py_TYPE(object)->tp_name + " are combined");
    }
  }
  const bool writes = in_place && left_tensor && which != 4;
  TorchTarget target{"call_function", writes ? row.in_place_name : row.name,
                     std::string("operator.") + (writes ? row.in_place_name : row.name),
                     writes ? row.in_place_op : row.op, false};
  if (left_tensor) return torch_call(walk, f, target, std::vector<Operand>{left, right}, {}, 2);
  if (which == kDivide) return divide_number(walk, f, target, left, right);
  if (which == kSubtract) {
    target.op = row.reflected;
    target.syntax.is_exchanged = true;
    return torch_call(walk, f, target, std::vector<Operand>{right, left}, {}, 2);
  }
  if (row.reflected == nullptr) {
    target.syntax.is_exchanged = true;
    return torch_call(walk, f, target, std::vector<Operand>{right, left}, {}, 2);
  }
  target.op = row.reflected;
  return torch_call(walk, f, target, std::vector<Operand>{left, right}, {}, 2);
}

bool divide_number(Walk& walk, FrameShadow& f, const TorchTarget& target, Operand number,
                   Operand tensor) {
  // torch's Tensor.__rtruediv__ is self.reciprocal() * other.
  auto value = argument(walk, tensor);
  if (!value) return false;
  auto factor = walk.sizes.number_input(number, {ops::NumberArgument::wrapped}, std::nullopt);
  if (!factor) factor = argument(walk, number);
  if (!factor) return false;
  auto type = torch::type_of_tensor(walk.recorder.bridge(), tensor.object);
  if (!type)
    return walk.verdict.broke(
        Code::PS0308,
        "a tensor whose elements are not its memory (sparse, quantized, a conjugate view)");
  if (!is_floating(type->dtype) && !is_complex(type->dtype)) type->dtype = DType::float32;
  type->strides = contiguous_strides(type->sizes);
  type->storage_offset = 0;
  walk.context.guard_grad_mode();
  Call call{target.opcode, target.name, target.target, {*factor, *value}, {}, walk.stack(), {}};
  std::vector<PlannedNode> nodes(2);
  nodes[0] = {"aten.reciprocal.default", {{"self", *value}}, {}, type};
  nodes[1] = {"aten.mul.Tensor",
              {{"self", Argument::Value{planned_value(0)}}, {"other", *factor}},
              {planned_value(0)},
              std::nullopt};
  return record(walk, f, std::move(call), std::move(nodes), {number, tensor}, 2);
}

bool compare_tensor(Walk& walk, FrameShadow& f, int operation) {
  Operand left = f.operand(1), right = f.operand();
  for (Operand one : {left, right}) {
    if (one.object == Py_None) return gives_constant(f, 2);
  }
  const bool exchanged = !walk.is_tensor(left.object);
  const CompareRow& row = kComparisons[operation];
  TorchTarget target{"call_function", row.name, std::string("operator.") + row.name,
                     exchanged ? row.mirrored : row.name, false};
  std::vector<Operand> operands = {left, right};
  if (exchanged) std::swap(operands[0], operands[1]);
  target.syntax.is_exchanged = exchanged;
  return torch_call(walk, f, target, operands, {}, 2);
}

bool unary_tensor(Walk& walk, FrameShadow& f, const char* name, const char* op) {
  TorchTarget target{"call_function", name, std::string("operator.") + name, op, false};
  return torch_call(walk, f, target, std::vector<Operand>{f.operand()}, {}, 1);
}

/// Tensor.__iter__ is Python code that unbinds.
bool iterate_tensor(Walk& walk, FrameShadow& f) {
  bool known = false;
  if (call_special(walk, f, f.operand(), "__iter__", {}, 1, known)) return true;
  return known ? false : walk.verdict.broke(Code::PS0310, "a tensor is iterated over");
}

}  // namespace penstock::record
