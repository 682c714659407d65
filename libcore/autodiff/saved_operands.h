#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace penstock::autodiff {

/// How torch's own graph of gradients keeps a tensor.
enum class SavedAs : std::uint8_t {
  nothing,
  uncounted,  ///< as a tensor that shows the memory that it had, and knows of no write
  view,       ///< as a tensor that shows the memory that it had
  itself,     ///< other memory that it is given is seen
};

/// By input of a graph: how torch keeps it for an op that the graph recorded. A program that writes
/// such an input before backward gets an error from torch; any other it may write. Needs: level
/// torch, whose types say what requires grad. Where it cannot be told the answer is `nothing`.
std::vector<SavedAs> inputs_saved_by_torch(const Graph& graph);
/// By output, whether the graph's ops keep something of it.
std::vector<bool> outputs_saved_by_torch(const Graph& graph);
/// Whether torch keeps a result of the op for its derivative: all of its results hang on one node
/// of torch's graph then.
bool keeps_own_results(std::string_view op);
/// Whether torch keeps anything for an op that the graph recorded, a number that the op was given
/// included: backward by such ops works once, unless the graph is retained.
bool is_anything_saved_by_torch(const Graph& graph);
/// The first node that writes what torch had kept for a node in front of it: backward by torch's
/// own ops would raise an error. Null: there is none.
const Node* write_to_what_torch_saved(const Graph& graph);

}  // namespace penstock::autodiff
