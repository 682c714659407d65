#pragma once

#include <Python.h>

#include <vector>

#include "ir/graph.h"
#include "python/object.h"

namespace penstock::record {

/// What a backend of the program's own needs of a segment beside its graph.
struct WrittenDown {
  /// One per Graph::calls: the function that the program called; null: the call's target names it.
  std::vector<python::PyRef> callables;
  /// One per Interface::inputs: the tensor itself where the segment wrote it; null elsewhere.
  std::vector<python::PyRef> written;
  python::PyRef random_state;  ///< of the CPU's generator at the segment's start
};

/// A recorded segment, as the walker hands it over. Its ops have run through torch already and the
/// frame goes on with their real results.
struct CapturedSegment {
  /// Level `torch`; the interface is complete but for `id`, which the client assigns.
  Graph graph;
  PyCodeObject* code;  ///< borrowed: of the root; the segment starts at interface.start_offset
  /// Objects that Guard::live and Recipe::live index. The client keeps only what cannot keep a
  /// model or a tensor alive (types, code, functions, modules); the others by address and weakly.
  std::vector<python::PyRef> live;
  /// The inputs' objects, one per Interface::inputs: tensors as they were at the segment's start
  /// (a snapshot where the segment mutated one and the client wants_examples()), ints, floats.
  std::vector<python::PyRef> inputs;
  /// What the ops gave, one per Interface::outputs. Empty unless the client wants_examples().
  std::vector<python::PyRef> outputs;
  WrittenDown written_down = {};  ///< where a backend of the program's compiles the graph
};

}  // namespace penstock::record
