#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/argument.h"
#include "python/object.h"

namespace penstock::torch {

/// torch's own ops, called by name on Python tensors: what runs a fallback region in process. Uses
/// the C function behind torch.ops.aten.NAME.OVERLOAD, so that no Python code runs but what torch's
/// modes and subclasses bring along.
class TorchOps {
 public:
  /// Makes the object of a graph value that stands among the arguments; null with a Python error
  /// set.
  using ValueOf = std::function<python::PyRef(ValueId)>;
  /// Gives symbols a value in symbolic arguments.
  using SymbolOf = std::function<std::optional<std::int64_t>(std::string_view)>;

  /// Calls "aten.NAME.OVERLOAD" with arguments by schema name (unnamed ones in front by position).
  /// The results are the op's outputs: one tensor, or the items of the tuple or list that it
  /// returned. A failure carries torch's message, with severity `note` where the op itself raised;
  /// no Python error is left set.
  Result<std::vector<python::PyRef>> call(const std::string& op,
                                          const std::vector<NamedArgument>& arguments,
                                          const ValueOf& value_of, const SymbolOf& symbol_of);

 private:
  Result<PyObject*> function(const std::string& op);
  std::unordered_map<std::string, python::PyRef> functions_;
};

/// Whether torch marks "aten.NAME.OVERLOAD" as an op that draws from a generator: twice on the same
/// arguments it gives different results. True for an op that it does not have. Needs the GIL.
bool is_marked_random(const std::string& op);

}  // namespace penstock::torch
