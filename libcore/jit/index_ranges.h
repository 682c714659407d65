#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "jit/size_program.h"
#include "runtime/executor.h"

// ATen raises an error for an index beyond the dim that it chooses from; kernels, which run on, take the nearest
// element instead. So what an entry is given as indices is looked at before its kernels run: with one beyond, the
// segment is stepped, and torch raises its own error at its own place. Indices that the graph itself computes are not
// looked at.

namespace penstock::jit {

/// An input whose elements choose along a dim of another tensor.
struct IndexRange {
  std::uint32_t input = 0;             ///< position in Interface::inputs
  DType dtype = DType::int64;          ///< int64 or int32
  SizeProgram size;                    ///< of the dim
  bool wraps = false;                  ///< counts from the end below zero
  std::optional<std::int64_t> ignored; ///< this one chooses nothing (a loss's ignore_index)
};

/// Those of a graph of level torch, each once.
std::vector<IndexRange> index_ranges(const Graph& graph);

/// Whether all elements are in the range. `symbols`: one per Interface::symbols.
bool is_inside(const IndexRange& range, const runtime::TensorArgument& elements, const std::int64_t* symbols);

}  // namespace penstock::jit
