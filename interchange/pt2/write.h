#pragma once

#include <string>

#include "ir/graph.h"
#include "store/store.h"

namespace penstock::pt2 {

/// Writes a graph of level torch as an archive that torch.export.load reads (torch 2.11 and on),
/// with the tensors of its inputs, which are in the store. Arguments stay in the containers that
/// guards tell of, conditions on sizes become guards of the program, and what is copied into inputs
/// at the end becomes their mutation. PS0211 for what exported programs do not hold, by its name,
/// PS0206 and PS0207 for blobs that are missing or damaged, PS0103 when the file cannot be written.
Result<void> write_pt2(const std::string& path, const Graph& graph, const store::Store& store);

}  // namespace penstock::pt2
