#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "record/models.h"
#include "record/walk.h"

namespace penstock::record {

/// A call of a builtin as its rule sees it; for a method, positional[0] is self.
struct BuiltinCall {
  Walk& walk;
  FrameShadow& frame;
  std::string_view owner, name, shown;
  const CallRule& rule;
  Operand function;
  std::vector<Operand>& positional;
  std::vector<std::pair<PyObject*, Operand>>& keywords;
  int pops;
};

/// Ends the segment at the call, which is not followed: for the reason that its rule gives, or,
/// where it gives none, as a use that is not followed. Always false.
bool refuse(BuiltinCall& call);
/// Follows a Python function that does the same (record/polyfills.h), else ends the segment.
bool polyfill(BuiltinCall& call);

/// Lets the model of the call's rule follow it, where it takes so many arguments.
bool call_model(const FunctionModel& model, BuiltinCall& call);
/// The call gives a value that the guards determine. A container that was made for the caller alone
/// may be changed by it.
bool gives_value(BuiltinCall& call);
/// The method of the first argument's class that a builtin calls, where that is Python code; its
/// result is the builtin's. Nothing: it is another call.
std::optional<bool> method_of_builtin(BuiltinCall& call);

/// True for a function of lists of tensors that runs an op for each of them, as torch does on CPUs:
/// it has a Python form. A backend of the program's gets the call as torch.compile would hand it
/// on.
bool goes_over_lists(const BuiltinCall& call);

/// A class statement (objects/class_statement.cpp).
bool make_class(BuiltinCall& call);

/// Models of classes that are called (objects/types.cpp).
std::span<const FunctionModel> class_models();
/// Models of the methods of list, dict and set (objects/container_methods.cpp).
std::span<const FunctionModel> autocast_models();
std::span<const FunctionModel> container_models();
/// Models of collections.deque and collections.defaultdict (objects/deque.cpp, default_dict.cpp).
std::span<const FunctionModel> deque_models();
std::span<const FunctionModel> default_dict_models();
/// Models of the constructors of exceptions (objects/exception.cpp).
std::span<const FunctionModel> exception_models();
/// Models of operator.itemgetter and its like (objects/getter.cpp).
std::span<const FunctionModel> getter_models();
/// Models of NumPy's functions of numbers (objects/numpy_call.cpp).
std::span<const FunctionModel> numpy_models();

}  // namespace penstock::record
