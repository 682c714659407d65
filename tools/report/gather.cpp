#include "tools/report/gather.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "diag/pass.h"
#include "partition/partition.h"
#include "passes/decompose.h"

namespace penstock::report {

namespace {

/// Counts each call at the worst place that anything it became runs in: fallback, library,
/// compiled.
class ShareCounter {
 public:
  explicit ShareCounter(std::size_t calls) : worst_(calls, -1) {}
  void place(std::int32_t call, Placement placement) {
    if (call < 0 || call >= static_cast<std::int32_t>(worst_.size())) return;
    worst_[call] = std::max(worst_[call], static_cast<int>(placement));
  }
  void place(const std::vector<std::int32_t>& calls, Placement placement) {
    for (std::int32_t call : calls) place(call, placement);
  }
  /// `ops_of` gives the ATen calls of a public call. A call that left no node was folded away or is
  /// a view: it costs nothing, and counts as compiled.
  template <class OpsOf>
  Shares shares(const OpsOf& ops_of) const {
    Shares sum;
    for (std::size_t call = 0; call < worst_.size(); ++call) {
      std::int64_t ops = ops_of(static_cast<std::int32_t>(call));
      (worst_[call] == static_cast<int>(Placement::fallback)  ? sum.fallback
       : worst_[call] == static_cast<int>(Placement::library) ? sum.library
                                                              : sum.compiled) += ops;
    }
    return sum;
  }

 private:
  std::vector<int> worst_;
};

static_assert(Placement::compiled < Placement::library && Placement::library < Placement::fallback);

Shares shares_of(const PlacedGraph& placed, const std::vector<std::int64_t>& ops_of_call) {
  ShareCounter counter(ops_of_call.size());
  for (const Region& region : placed.regions) {
    for (std::int32_t node = region.first; node < region.last; ++node) {
      counter.place(placed.graph.nodes[node].call, region.placement);
    }
  }
  return counter.shares([&](std::int32_t call) { return ops_of_call[call]; });
}

/// Shares of a program whose steps are loop kernels or kernel calls, library and fallback calls.
template <class Steps>
Shares shares_of_steps(const Steps& steps, std::size_t calls) {
  ShareCounter counter(calls);
  for (const auto& step : steps) {
    std::visit(
        [&](const auto& one) {
          using Step = std::decay_t<decltype(one)>;
          counter.place(one.calls, std::is_same_v<Step, LibraryCall>    ? Placement::library
                                   : std::is_same_v<Step, FallbackCall> ? Placement::fallback
                                                                        : Placement::compiled);
        },
        step);
  }
  return counter.shares([](std::int32_t) { return 1; });
}

std::vector<std::int64_t> count_ops(const Graph& graph) {
  std::vector<std::int64_t> ops(graph.calls.size(), 0);
  for (const Node& node : graph.nodes) {
    if (node.call >= 0 && node.call < static_cast<std::int32_t>(ops.size())) ++ops[node.call];
  }
  return ops;
}

void place(const Graph& graph, GraphEntry& entry) {
  PassTrace trace;
  auto core =
      graph.level == Level::torch ? passes::decompose(graph, {}, trace) : Result<Graph>(graph);
  auto placed = core ? partition::partition(std::move(*core), {}, trace)
                     : Result<PlacedGraph>(tl::unexpected(core.error()));
  if (placed) {
    entry.shares = shares_of(*placed, count_ops(graph));
  } else {
    entry.not_placed = placed.error().message;
  }
}

void describe(const Graph& graph, GraphEntry& entry) {
  entry.ops = graph.level == Level::torch ? static_cast<std::int64_t>(graph.nodes.size())
                                          : static_cast<std::int64_t>(graph.calls.size());
  for (const Value& value : graph.values) entry.value_names.push_back(value.name);
  for (ValueId output : graph.outputs) entry.outputs.push_back(graph.values[output].name);
}

/// Names for the values of calls at a level that has no values any more: the inputs', the calls'.
std::vector<std::string> names_from_calls(const std::vector<Input>& inputs,
                                          const std::vector<Call>& calls) {
  std::vector<std::string> names;
  for (const Input& input : inputs) names.push_back(input.name);
  for (const Call& call : calls) {
    for_each_value(call.result, [&](ValueId id) {
      for (std::size_t next = names.size(); next <= id; ++next) {
        names.push_back("%" + std::to_string(next));
      }
      names[id] = call.name;
    });
  }
  return names;
}

template <class Program>
void describe_program(const Program& program, GraphEntry& entry) {
  entry.value_names = names_from_calls(program.interface.inputs, program.calls);
  entry.ops = static_cast<std::int64_t>(program.calls.size());
  for (BufferId output : program.outputs) {
    entry.outputs.push_back(output < 0 ? "None" : program.buffers[output].name);
  }
  entry.shares = shares_of_steps(program.steps, program.calls.size());
}

struct Describe {
  GraphEntry& entry;
  void operator()(const Graph& graph) const {
    describe(graph, entry);
    place(graph, entry);
  }
  void operator()(const PlacedGraph& placed) const {
    describe(placed.graph, entry);
    entry.shares = shares_of(placed, count_ops(placed.graph));
  }
  void operator()(const LoopProgram& program) const { describe_program(program, entry); }
  void operator()(const KernelBundle& bundle) const { describe_program(bundle, entry); }
};

/// Names the file of a location as it can be opened from anywhere.
void locate(const formats::Meta& meta, std::optional<Location>& location) {
  if (location) location->file = formats::absolute_file(meta, location->file);
}

std::int64_t named(const std::vector<formats::EndDocument::Count>& counts, std::string_view name) {
  for (const auto& row : counts) {
    if (row.name == name) return row.count;
  }
  return 0;
}

struct Add {
  Report& report;

  void operator()(const formats::ProgramDocument& document) const { report.argv = document.argv; }
  void operator()(const formats::GraphDocument& document) const {
    GraphEntry entry;
    entry.level = formats::level(document);
    entry.interface = formats::interface_of(document);
    entry.calls = formats::calls_of(document);
    std::visit(Describe{entry}, document.graph);
    report.graphs.push_back(std::move(entry));
  }
  void operator()(const formats::BreakDocument& document) const {
    locate(document.meta, report.breaks.emplace_back(document.event).location);
  }
  void operator()(const formats::SkipDocument& document) const {
    locate(document.meta, report.skips.emplace_back(document.event).location);
  }
  void operator()(const formats::RecompileDocument& document) const {
    for (auto& entry : report.recompiles.emplace_back(document.event).entries) {
      for (auto& failed : entry.failed) locate(document.meta, failed.location);
    }
  }
  void operator()(const formats::RestartDocument& document) const {
    locate(document.meta, report.restarts.emplace_back(document.event).location);
  }
  void operator()(const formats::ResultDocument&) const {}
  void operator()(const formats::EndDocument& document) const {
    RunTotals& totals = report.end.emplace();
    for (const auto& calls : document.calls) {
      totals.entries.push_back({to_string(calls.id), calls.count, calls.gate});
    }
    totals.native_ops = named(document.counts, "native_ops");
    totals.bypasses = named(document.counts, "bypasses");
    totals.entry_ns = named(document.times, "entries");
    totals.root_ns = named(document.times, "roots");
    totals.exit_status = document.status;
    totals.signal = document.signal;
  }
};

}  // namespace

void add(const formats::Document& document, Report& report) {
  std::visit(Add{report}, document);
}

}  // namespace penstock::report
