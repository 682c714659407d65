#pragma once

#include "ir/graph.h"

namespace penstock::cut {

/// Lets the outputs of a forward part that backward alone reads, from `own_outputs` on, lie as
/// fusion lays out what they are computed from: convolutions' results and what follows them
/// channels-last. Changes the strides of their types. Needs: level core. Leaves: it.
Result<void> lay_out_saved(Graph& forward, std::size_t own_outputs);

}  // namespace penstock::cut
