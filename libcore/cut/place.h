#pragma once

#include <span>
#include <string>
#include <vector>

#include "cut/cut.h"
#include "diag/pass.h"
#include "partition/partition.h"

namespace penstock::cut {

struct PlaceOptions {
  CutOptions cut;
  partition::PartitionOptions partition;
};

/// cut_graph() as a pass: asks the budget (null: none) first, and tells the trace.
Result<ForwardBackward> run_cut(const Graph& joint, const CutOptions& options, Budget* budget,
                                PassTrace& trace);

/// The passes that place_parts runs, in order.
std::span<const PassFacts> place_passes();

/// Places a graph's nodes; of a joint graph, which is cut first, those of its forward and of its
/// backward part. Needs: level core. Leaves: level placed, one graph, or forward and then backward.
Result<std::vector<PlacedGraph>> place_parts(Graph core, const PlaceOptions& options,
                                             PassTrace& trace);

/// What is saved and why, one line a value, and the curve behind them.
std::string to_text(const CutReport& report);

}  // namespace penstock::cut
