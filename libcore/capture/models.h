#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <Python.h>

namespace penstock::capture {

class Walk;
struct FrameShadow;
struct Operand;
struct BuiltinCall;

/// What capture has for the rules that say `model` of C functions.
struct FunctionModel {
  std::string_view name;
  bool (*rule)(BuiltinCall& call);
  std::size_t least = 0;  ///< positional arguments, self included …
  std::size_t most = ~std::size_t{0};  ///< … without keywords, unless any number is taken
};

/// The same for functions written in Python; nothing: the call is followed as any other.
using CodeModel = std::optional<bool> (*)(Walk& walk, FrameShadow& frame, Operand function,
                                          const std::vector<Operand>& positional,
                                          const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                          int pops);

/// The model called `name`, or null.
const FunctionModel* find_function_model(std::string_view name);
CodeModel find_code_model(std::string_view name);

}  // namespace penstock::capture
