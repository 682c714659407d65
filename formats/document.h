#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bundle/kernel_bundle.h"
#include "fusion/loop_program.h"
#include "ir/backend_event.h"
#include "ir/event.h"
#include "ir/graph.h"
#include "partition/placed_graph.h"

namespace penstock::formats {

/// The part of a document that no comparison looks at: times, versions, absolute paths. The text of
/// one JSON object with sorted keys; empty: none. Stages hand it on as it came.
struct Meta {
  std::string json;
};

/// First document of a stream: what was run, and how.
struct ProgramDocument {
  std::vector<std::string> argv;        ///< the program and its own arguments
  std::vector<NamedArgument> settings;  ///< what decides the outcome: dynamic, only, fullgraph …
  /// The program's folder, absolute: the locations' files and argv[0] are relative to it; under
  /// meta.
  std::string directory;
  /// "python", "torch", "penstock" and what they say of themselves; stands under meta.
  std::vector<std::pair<std::string, std::string>> versions;
  Meta meta;
};

/// A graph of any level.
struct GraphDocument {
  std::variant<Graph, PlacedGraph, LoopProgram, KernelBundle> graph;
  Meta meta;
};

struct BreakDocument {
  BreakEvent event;
  Meta meta;
};

struct SkipDocument {
  SkipEvent event;
  Meta meta;
};

struct RecompileDocument {
  RecompileEvent event;
  Meta meta;
};

struct RestartDocument {
  RestartEvent event;
  Meta meta;
};

/// Which compiler runs a graph, and why another one does not. Its times stand under meta.
struct BackendDocument {
  BackendEvent event;
  Meta meta;
};

/// What came of running one graph on its recorded inputs.
struct ResultDocument {
  enum class Verdict : std::uint8_t {
    same,         ///< every output is within the tolerance of the recorded one
    differs,      ///< one at least is not
    ran,          ///< it ran, and nothing was compared
    unsupported,  ///< it cannot run without Python (fallback regions)
    failed,       ///< it did not run to its end
  };
  /// An output or a mutated input beside what was recorded.
  struct Compared {
    bool mutation = false;  ///< `index` counts Interface::mutations, not outputs
    std::int32_t index = 0;
    double error = 0;  ///< max|a-b| / (max|b| + 1e-6)
    bool same = false;
    std::string reason;  ///< what differs when it is no number: shape, dtype, place of a NaN
  };
  /// A measured time: "call", "eager", a kernel's name. Stands under meta.
  struct Timing {
    std::string name;
    std::int64_t nanoseconds = 0;  ///< median of one run
    std::int64_t runs = 0;
    std::int64_t flops = 0, bytes = 0;  ///< of one run; 0: not known
    double percent_of_roof = 0;  ///< the least time that the machine needs for them; 0: not known
  };
  EntryId id;
  std::string name;
  Verdict verdict = Verdict::ran;
  double tolerance = 0;
  std::vector<Compared> compared;
  std::string code;    ///< unsupported, failed: the diagnostic's id
  std::string reason;  ///< and its sentence
  std::vector<Timing> timings;
  Meta meta;
};
std::string_view to_string(ResultDocument::Verdict verdict);
std::string_view to_string(GateReport::Verdict verdict);

/// Last document of a stream; a stream without it was cut off.
struct EndDocument {
  struct Count {
    std::string name;  ///< "graphs", "breaks", "total_ops", "captured_ops" …
    std::int64_t count = 0;
  };
  struct Calls {
    EntryId id;
    std::int64_t count = 0;  ///< calls of this entry, the first included
    GateReport gate;         ///< its times stand under meta
    /// Inside its calls, and in plain Python from their ends to the next graph or the end of what
    /// is compiled around; how often there was such a stretch. Stand under meta.
    std::int64_t total_ns = 0, behind_ns = 0, behind = 0;
  };
  /// A stretch of the program's time, on the monotonic clock; stands under meta.
  struct Span {
    std::string kind;           ///< "root", "entry", "record", "compile", "plain"
    std::optional<EntryId> id;  ///< of the entry, where there is one
    std::int64_t begin_ns = 0, end_ns = 0;
  };
  std::vector<Count> counts;
  std::vector<Calls> calls;
  std::int32_t status = 0;  ///< exit status of the program
  std::int32_t signal = 0;  ///< the signal that ended it; 0: none
  /// Measured times in nanoseconds by name ("program", "capture" …); stand under meta.
  std::vector<Count> times;
  std::vector<Span> timeline;  ///< the first stretches of the program
  Meta meta;
};

using Document =
    std::variant<ProgramDocument, GraphDocument, BreakDocument, SkipDocument, RecompileDocument,
                 RestartDocument, BackendDocument, ResultDocument, EndDocument>;

/// "program", "graph", "break", …
std::string_view kind(const Document& document);

Level level(const GraphDocument& document);
const Interface& interface_of(const GraphDocument& document);
Interface& interface_of(GraphDocument& document);
/// The calls as the program wrote them; every level keeps them.
const std::vector<Call>& calls_of(const GraphDocument& document);

/// The absolute path of a location's file, as far as `meta` knows it; else `file` itself.
std::string absolute_file(const Meta& meta, const std::string& file);
/// All files that `meta` knows the absolute path of, with it.
std::vector<std::pair<std::string, std::string>> files_of(const Meta& meta);

/// Checks the contract of the document's level: what every producer of that level promises.
Result<void> verify(const GraphDocument& document);
/// The same of one that comes from outside: also that nodes have the arguments that their ops take.
Result<void> verify_foreign(const GraphDocument& document);

/// PS0204 naming the stage that is missing when `document` is not of level `wanted`.
Result<void> expect_level(const GraphDocument& document, Level wanted);

}  // namespace penstock::formats
