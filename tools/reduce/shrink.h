#pragma once

#include <functional>
#include <vector>

#include "formats/document.h"
#include "store/store.h"

namespace penstock::tools {

/// Whether a stream still shows what is looked for.
using Interesting = std::function<bool(const std::vector<formats::Document>& stream)>;

/// A small stream for which `interesting` is true, made from `stream`, for which it is. Whole
/// documents go first; then, of graphs of the levels torch and core, what ties them to their
/// program, and nodes: the values that those made become inputs, whose data is put into `store`;
/// then the sizes of what is left get smaller.
/// Every stream that is asked about keeps to the format and to its levels' contracts.
std::vector<formats::Document> shrink(std::vector<formats::Document> stream, store::Store& store,
                                      const Interesting& interesting);

}  // namespace penstock::tools
