#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "record/frame_shadow.h"

namespace penstock::record {

/// How a call is written in the graph, where it differs from the operands that it is resolved with.
struct CallSyntax {
  int positional = -1;              ///< only that many arguments, unless negative
  bool is_exchanged = false;        ///< the two operands exchanged
  const char* attribute = nullptr;  ///< with that attribute's name behind
};

/// A torch callable that goes into the graph.
struct TorchTarget {
  std::string opcode = "call_function";
  std::string name;     ///< stem of the call's name: "truediv"
  std::string target;   ///< "operator.truediv"
  std::string op;       ///< ATen name: "div"
  bool method = false;  ///< the first argument is the tensor before the dot
  /// The dispatcher's overload, where the program names it ("" is the default one).
  std::optional<std::string> overload = std::nullopt;
  /// The function itself, where a name may find another one: "torch._C._nn.mse_loss" is shown as
  /// torch.nn.functional's. Borrowed; null: the name finds it.
  PyObject* callable = nullptr;
  CallSyntax syntax = {};
};

/// What stands for the result of the planned node `at` in those behind it.
constexpr ValueId planned_value(std::size_t at) {
  return kNoValue - 1 - static_cast<ValueId>(at);
}

/// A node to append when its call has run.
struct PlannedNode {
  std::string op;
  std::vector<NamedArgument> args;
  std::vector<ValueId> values;         ///< all values among the arguments
  std::optional<TensorType> type;      ///< of a result that never becomes a Python object
  bool lacks_dtype = false;            ///< takes a dtype and was given none: torch chose it
  std::vector<TensorType> types = {};  ///< of several results that never become Python objects
};

/// Nested lists or tuples of numbers, or a number alone, of which a tensor is made.
struct PythonData {
  std::vector<std::int64_t> sizes;
  std::size_t rank = 0;
  std::vector<Operand> numbers;
  bool is_uniform = false;      ///< all numbers are the same constant
  std::optional<DType> dtype;   ///< that torch infers; nothing: the default one
  std::vector<Argument> shown;  ///< what stands for each number, once planned
};

}  // namespace penstock::record
