#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "store/store.h"
#include "tools/reduce/recorded_values.h"

namespace penstock::tools {

/// A size that a graph's inputs have: a number, or a symbol with its value at capture.
struct InputSize {
  std::string symbol = {};  ///< empty: it is the number alone
  std::int64_t value = 0;
};

/// The sizes of `graph`'s tensors that are more than 1, each once, the largest first.
std::vector<InputSize> input_sizes(const Graph& graph);

/// Which numbers in the arguments of ops are taken for the size: "[8, 64]" or also "length=64".
enum class SizeArguments : std::uint8_t { none, lists, all };

/// `graph` with `size` as `value`, which is less, wherever its inputs have it, equal sizes
/// together: the types of all values are inferred anew, recorded inputs are cut to their first
/// elements (of integers those that pointed into the cut part point into what is left), and
/// expected results are cut where the ops allow it, else computed by the reference semantics; new
/// data is put into `store`. Nothing where the ops do not allow the size, an input's data is not
/// there, or the changed inputs share memory.
///
/// Needs: level torch or core, no guards; `values` are those of `graph`. Linear in the graph and
/// its data.
std::optional<Graph> with_size(const Graph& graph, RecordedValues& values, const InputSize& size,
                               std::int64_t value, SizeArguments arguments, store::Store& store);

/// The smallest graph that `accept` takes, of those that with_size makes of `graph`.
void shrink_sizes(Graph graph, store::Store& store, const std::function<bool(Graph)>& accept);

}  // namespace penstock::tools
