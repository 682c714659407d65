#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/kernel_bundle.h"
#include "fusion/loop_program.h"
#include "ir/graph.h"
#include "partition/placed_graph.h"

namespace penstock::report {

/// A step of a graph's loop program.
struct StepEntry {
  std::string name;
  std::string_view place;           ///< "compiled", "library" or "fallback"
  std::vector<std::int32_t> calls;  ///< positions in the graph's calls that it computes
  std::vector<BufferId> buffers;    ///< that it reads or writes
  std::string text;                 ///< its loops
  std::string reason;               ///< what was fused and why, or why it is not ours
  std::string assembly;             ///< of its function; empty: not asked for
  double flops = 0, bytes = 0;      ///< of one run, estimated or counted; 0: not known
  std::int64_t nanoseconds = 0;     ///< of one run, measured by `run --profile`; 0: not measured
  double percent_of_roof = 0;       ///< of it, the least that the machine needs
};

/// Memory of a loop program, and the steps while it is needed.
struct BufferEntry {
  std::string name;
  std::string_view kind;  ///< "input", "temporary", …
  std::string type;
  std::int64_t offset = -1;  ///< temporaries: bytes from the start of the arena
  std::int64_t bytes = 0;
  std::int32_t first = -1, last = -1;  ///< steps
};

/// What one pass did to the graph.
struct PassEntry {
  std::string_view stage, name, summary;
  std::int64_t nanoseconds = 0;
  bool changed = false;
  std::int64_t lines = 0;  ///< of the text of what it left
  std::int64_t removed_lines = 0, added_lines = 0;
  std::vector<std::string> removed, added;  ///< the first of them
};

/// What the stages behind capture make of a graph.
struct Stages {
  std::vector<StepEntry> steps;
  std::vector<BufferEntry> buffers;
  std::vector<PassEntry> passes;
  std::int64_t arena_bytes = 0;
  std::string not_made;  ///< why there are no steps; empty: there are
};

/// Sizes are taken at their hints: the figures of a graph are those of the sizes that it was
/// captured with.
Stages stages_of(const LoopProgram& program);
/// Of a bundle, whose loops are machine code.
Stages stages_of(const KernelBundle& bundle);

/// A graph of level `torch` or `core`, placed. What the passes did goes to `stages`.
Result<PlacedGraph> lower(const Graph& graph, Stages& stages);

/// Adds what fusion makes of `placed` to `stages`; the program, if it could be made.
std::optional<LoopProgram> fuse_into(PlacedGraph placed, Stages& stages);

/// Adds the assembly of `program`'s kernels to their steps. Compiles them, which takes its time.
Result<void> add_assembly(const LoopProgram& program, Stages& stages);

}  // namespace penstock::report
