#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/program_files.h"
#include "ir/backend_event.h"
#include "ir/event.h"
#include "ir/graph.h"
#include "tools/report/stages.h"

namespace penstock::report {

/// Where the ops of a graph run: ops of the `torch` level, each counted at the worst place that any
/// of its nodes has.
struct Shares {
  std::int64_t compiled = 0, library = 0, fallback = 0;
};

/// One `graph` document of any level, reduced to what reports show.
struct GraphEntry {
  Level level = Level::torch;
  Interface interface;
  std::vector<Call> calls;
  std::vector<std::string> value_names;  ///< by ValueId, as the calls name them
  std::vector<std::string> outputs;      ///< names of the output values
  std::int64_t ops = 0;                  ///< ATen calls that the graph stands for
  std::optional<Shares> shares;          ///< none: the graph could not be placed
  std::string not_placed;                ///< why not
  Stages stages;                         ///< what the later stages make of it
};

/// What a run of the program came to, as document `end` has it.
struct RunTotals {
  struct Entry {
    std::string id;          ///< "0/0"
    std::int64_t calls = 0;  ///< times its graph ran, the first one included
    GateReport gate = {};
    std::int64_t total_ns = 0;   ///< inside its calls
    std::int64_t behind_ns = 0;  ///< in plain Python, from its calls' ends to the next graph
    std::int64_t behind = 0;     ///< how often there was such a stretch
  };
  /// A stretch of the program's time: document `end`, meta.timeline.
  struct Span {
    std::string kind;  ///< "root", "entry", "record", "compile", "plain"
    std::string id;    ///< of the entry, or empty
    std::int64_t begin_ns = 0, end_ns = 0;
  };
  std::vector<Entry> entries;
  std::vector<Span> timeline;
  std::int64_t native_ops = 0;  ///< ATen calls inside roots that ran outside entries
  std::int64_t entry_ns = 0;    ///< time inside entries: graphs and kernels
  std::int64_t root_ns = 0;     ///< time inside roots, entries included
  std::int64_t capture_ns = 0, compile_ns = 0;
  std::int64_t bypasses = 0;  ///< frames that penstock gave up
  std::int32_t exit_status = 0;
  std::int32_t signal = 0;  ///< that ended the program
};

/// All that a stream of documents tells about one run of a program.
struct Report {
  std::vector<std::string> argv;
  formats::ProgramFiles files;
  std::vector<std::pair<std::string, std::string>> versions, settings;
  std::vector<GraphEntry> graphs;
  std::vector<BreakEvent> breaks;
  std::vector<SkipEvent> skips;
  std::vector<RecompileEvent> recompiles;
  std::vector<RestartEvent> restarts;
  std::vector<BackendEvent> backends;  ///< what holds at the end, of each graph and back end
  std::optional<RunTotals> end;        ///< none: the stream was cut off
};

/// What to print and how.
struct TextOptions {
  int width = 80;        ///< of text, which is broken into lines
  int table_width = 80;  ///< of tables, whose cells are cut; 0: they are whole
  bool color = false;
  bool guards = false;   ///< also every guard of every entry
  bool summary = false;  ///< only the summary table
};

/// The report for people; every section only if it has something to say.
std::string to_text(const Report& report, const TextOptions& options);

/// What a merge request wants to know, as Markdown.
std::string to_markdown(const Report& report);

/// The same facts as one JSON object, keys sorted, on one line or indented; ends with a newline.
std::string to_json(const Report& report, bool pretty);

/// One row of the summary: what was captured and where it ran.
struct Summary {
  std::int64_t graphs = 0, graph_calls = 0, captured_ops = 0, total_ops = 0;
  std::int64_t breaks = 0, recompiles = 0, bypasses = 0;
  double pct_ops = 0, pct_time = 0;
  Shares executed;  ///< captured_ops by the place where they ran
};

/// "accepted: 1.20 ms a call, plain Python 3.41 ms (least of 3)".
std::string gate_text(const GateReport& gate);

/// "onnxruntime 1.22.0 runs the calls: 1.20 ms a call, penstock's code 1.90 ms".
std::string backend_text(const BackendEvent& event);

/// Adds up `report`. Calls and total ops come from `end`; without it every graph counts once.
Summary summarize(const Report& report);

}  // namespace penstock::report
