#pragma once

#include <optional>
#include <string>
#include <vector>

#include "torch/schema.h"

namespace penstock::torch {

/// A call bound to the parameters of an overload.
struct ResolvedCall {
  const Schema* schema = nullptr;
  std::vector<NamedArgument> args;     ///< schema order; parameters at their default are left out
  std::vector<const Argument*> given;  ///< by position in `args`: the argument that it was made of
};

/// Chooses the overload that torch's argument parser chooses for `name(*positional, **keywords)`;
/// nothing when none fits. Tensors are Argument::Value. `method`: the first positional argument is
/// the tensor before the dot, which counts for "view(2, 3)": a method's only list of integers takes
/// the remaining positional numbers.
std::optional<ResolvedCall> resolve_overload(SchemaTable& table, const std::string& name,
                                             const std::vector<Argument>& positional,
                                             const std::vector<NamedArgument>& keywords,
                                             bool method);

/// The same call bound to the overload that it names ("" is the default one), as torch.ops takes
/// it.
std::optional<ResolvedCall> resolve_named_overload(SchemaTable& table, const std::string& name,
                                                   const std::string& overload,
                                                   const std::vector<Argument>& positional,
                                                   const std::vector<NamedArgument>& keywords);

}  // namespace penstock::torch
