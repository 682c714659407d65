#pragma once

#include <optional>

#include "ir/graph.h"

namespace penstock::jit {

/// A captured graph in two, where an output that requires grad leads to another one, or where two
/// have nothing but inputs in common: torch's graph of gradients has a node for each, so that a
/// program may ask for what lies between them, and go backward from one after the other.
struct Stages {
  Graph first;   ///< its outputs are `handed`
  Graph second;  ///< the whole's inputs, and behind them what is handed on; the whole's outputs
  std::size_t handed = 0;
};

/// Splits in front of the first op behind an output that another one depends on, or else behind
/// what one of several apart from one another needs; for that, ops change places, but for those
/// that draw random numbers and those that touch memory which one of them writes. Needs: a captured
/// graph. nullopt where no place is found at which all that is handed on is whole: what was written
/// is not written again, and no gradients of it are recorded; none of it is a number.
std::optional<Stages> split_stages(const Graph& captured);

}  // namespace penstock::jit
