#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace penstock::passes {

/// An op of torch's that moves elements; its first argument is what it moves.
struct ComplexMove {
  std::string op;
  std::vector<NamedArgument> args;
};

/// True for a prim that makes, moves or converts complex elements and computes nothing with them.
/// No kernel holds those, and torch runs no prims: its own ops stand for such a prim.
bool moves_complex(std::string_view prim, const std::vector<NamedArgument>& args,
                   const Graph& graph);

/// The ops of torch's that do what the prim does, each on the result of the one before it.
std::vector<ComplexMove> complex_moves(std::string_view prim, std::vector<NamedArgument> args,
                                       const Graph& graph);

}  // namespace penstock::passes
