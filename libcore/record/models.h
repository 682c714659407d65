#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <Python.h>

#include "policy/callables.h"

namespace penstock::record {

class Walk;
struct FrameShadow;
struct Operand;
struct BuiltinCall;

/// What stands behind the rules that say `model` of C functions.
struct FunctionModel {
  std::string_view name;
  bool (*rule)(BuiltinCall& call);
  std::size_t least = 0;               ///< positional arguments, self included …
  std::size_t most = ~std::size_t{0};  ///< … without keywords, unless any number is taken
};

/// The same for functions written in Python; nothing: the call is followed as any other.
using CodeModel = std::optional<bool> (*)(
    Walk& walk, FrameShadow& frame, Operand function, const std::vector<Operand>& positional,
    const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);

/// The model called `name`, or null.
const FunctionModel* find_function_model(std::string_view name);
CodeModel find_code_model(std::string_view name);

/// The rules that come with penstock, behind those of the file `path` ("": none). Fails where the
/// file cannot be read, and for a rule that names a model which is not there.
Result<policy::Callables> callables_with_models(const std::string& path);

}  // namespace penstock::record
