#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace penstock::cut {

struct CutOptions {
  /// Off: whatever backward reads is saved, and nothing is computed again but views and what the
  /// program asks for (torch.utils.checkpoint).
  bool recompute = true;
  /// What a saved byte costs, in picoseconds: more is computed again for a higher price.
  double byte_price = 0;
  /// The most that may be saved, as a fraction of what is saved where bytes cost nothing.
  std::optional<double> memory_budget = {};
  bool curve = false;  ///< work out CutReport::curve
};

/// A value that backward is given, in the order of its inputs behind the tangents.
struct Kept {
  enum class Kind : std::uint8_t {
    computed,  ///< made by the forward graph, for backward alone
    output,    ///< an output of the program's
    input,     ///< an input of the forward graph
    copy,      ///< a copy of an input or output that the program may change before backward
  };
  Kind kind = Kind::computed;
  std::string name;
  double bytes = 0;  ///< of memory that is held for it, with sizes at their hints
  std::string why;   ///< who reads it
};

/// What saving at one price of memory comes to.
struct CutPoint {
  double bytes = 0;         ///< saved
  double milliseconds = 0;  ///< of saving and computing again
};

struct CutReport {
  std::vector<Kept> kept;
  double saved_bytes = 0;
  std::int32_t recomputed = 0;  ///< nodes of forward that backward computes again
  std::vector<CutPoint> curve;  ///< where asked for: from the fastest on to what was chosen
};

/// A joint graph in two. Both are ordinary graphs of level core, which the other stages compile as
/// they do any; their interfaces say how they belong together.
struct ForwardBackward {
  /// Inputs, outputs and writes are those of the graph before its gradients were added, in order;
  /// behind its outputs stand those that backward alone reads (Interface::saved of `backward`).
  Graph forward;
  /// Takes tangents, what was saved, what it shares with forward's inputs, and sizes, in this
  /// order; gives the gradients in the order of the joint graph's.
  Graph backward;
  CutReport report;
};

/// Cuts a joint graph (autodiff/differentiate.h) into its forward and its backward part so that
/// saving values and computing them again takes the least time, by a minimum cut (cut/model.h).
///
/// Backward reads an input or an output of the program itself only where the derivatives' formulas
/// do, as they stand in the joint graph: torch's own keep the same, and complain when those are
/// changed before backward. Of all others it is given copies, and what it computes again reads
/// copies always: a change that torch does not notice changes what torch reads, and no more. Random
/// numbers, effects, ops that torch runs and what is read of inputs that the graph writes are never
/// computed again.
///
/// Of an activation checkpoint (ir/checkpoint.h) what it takes and gives is saved; the rest is
/// computed again when backward gets there, from what the program's memory holds then, as torch
/// does. Where a policy of the program's chooses what a checkpoint keeps, the cheapest cut does.
///
/// Needs: level core, tangents and gradients in the interface, no role yet. Leaves: level core.
/// Linear in nodes and uses, but for the cut itself, which is so in practice. Errors: PS0606 where
/// backward needs a number that only forward knows.
Result<ForwardBackward> cut_graph(const Graph& joint, const CutOptions& options = {});

}  // namespace penstock::cut
