#include "tools/report/gather.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "ir/argument_text.h"

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

/// Fuses what was placed, and compiles it, as far as `depth` asks for it.
void go_on(PlacedGraph placed, GraphEntry& entry, Depth depth) {
  if (depth == Depth::places) return;
  auto program = fuse_into(std::move(placed), entry.stages);
  if (!program || depth == Depth::steps) return;
  if (auto made = add_assembly(*program, entry.stages); !made)
    entry.stages.not_made = made.error().message;
}

void place(const Graph& graph, GraphEntry& entry, Depth depth) {
  auto placed = lower(graph, entry.stages);
  if (!placed) {
    entry.not_placed = placed.error().message;
    return;
  }
  entry.shares = shares_of(*placed, count_ops(graph));
  go_on(std::move(*placed), entry, depth);
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
  Depth depth;
  void operator()(const Graph& graph) const {
    describe(graph, entry);
    place(graph, entry, depth);
  }
  void operator()(const PlacedGraph& placed) const {
    describe(placed.graph, entry);
    entry.shares = shares_of(placed, count_ops(placed.graph));
    go_on(placed, entry, depth);
  }
  void operator()(const LoopProgram& program) const {
    describe_program(program, entry);
    if (depth == Depth::places) return;
    entry.stages = stages_of(program);
    if (depth != Depth::assembly) return;
    if (auto made = add_assembly(program, entry.stages); !made)
      entry.stages.not_made = made.error().message;
  }
  void operator()(const KernelBundle& bundle) const {
    describe_program(bundle, entry);
    if (depth != Depth::places) entry.stages = stages_of(bundle);
  }
};

std::int64_t named(const std::vector<formats::EndDocument::Count>& counts, std::string_view name) {
  for (const auto& row : counts) {
    if (row.name == name) return row.count;
  }
  return 0;
}

struct Add {
  Report& report;
  Depth depth;

  void operator()(const formats::ProgramDocument& document) const {
    report.argv = document.argv;
    report.versions = document.versions;
    for (const NamedArgument& setting : document.settings) {
      report.settings.emplace_back(setting.name, to_string(setting.value));
    }
  }
  void operator()(const formats::GraphDocument& document) const {
    GraphEntry entry;
    entry.level = formats::level(document);
    entry.interface = formats::interface_of(document);
    entry.calls = formats::calls_of(document);
    std::visit(Describe{entry, depth}, document.graph);
    report.graphs.push_back(std::move(entry));
  }
  void operator()(const formats::BreakDocument& document) const {
    report.breaks.push_back(document.event);
  }
  void operator()(const formats::SkipDocument& document) const {
    report.skips.push_back(document.event);
  }
  void operator()(const formats::RecompileDocument& document) const {
    report.recompiles.push_back(document.event);
  }
  void operator()(const formats::RestartDocument& document) const {
    report.restarts.push_back(document.event);
  }
  void operator()(const formats::BackendDocument& document) const {
    const BackendEvent& event = document.event;
    std::erase_if(report.backends, [&](const BackendEvent& known) {
      return known.id == event.id && known.backend == event.backend;
    });
    report.backends.push_back(event);
  }
  void operator()(const formats::ResultDocument& document) const {
    const auto graph = std::ranges::find(
        report.graphs, document.id, [](const GraphEntry& entry) { return entry.interface.id; });
    if (graph == report.graphs.end()) return;
    // A time for each step, in their order, and the sum.
    std::vector<StepEntry>& steps = graph->stages.steps;
    if (document.timings.size() < steps.size()) return;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& timing = document.timings[i];
      if (!timing.name.starts_with(steps[i].name)) return;
      steps[i].nanoseconds = timing.nanoseconds;
      steps[i].percent_of_roof = timing.percent_of_roof;
      if (timing.flops > 0) steps[i].flops = static_cast<double>(timing.flops);
      if (timing.bytes > 0) steps[i].bytes = static_cast<double>(timing.bytes);
    }
  }
  void operator()(const formats::EndDocument& document) const {
    RunTotals& totals = report.end.emplace();
    for (const auto& calls : document.calls) {
      totals.entries.push_back({to_string(calls.id), calls.count, calls.gate, calls.total_ns,
                                calls.behind_ns, calls.behind});
    }
    totals.native_ops = named(document.counts, "native_ops");
    totals.bypasses = named(document.counts, "bypasses");
    totals.entry_ns = named(document.times, "entries");
    totals.root_ns = named(document.times, "roots");
    totals.capture_ns = named(document.times, "capture");
    totals.compile_ns = named(document.times, "compile");
    for (const auto& span : document.timeline) {
      totals.timeline.push_back(
          {span.kind, span.id ? to_string(*span.id) : std::string(), span.begin_ns, span.end_ns});
    }
    totals.exit_status = document.status;
    totals.signal = document.signal;
  }
};

}  // namespace

void add(const formats::Document& document, Report& report, Depth depth) {
  formats::add_files(document, report.files);
  std::visit(Add{report, depth}, document);
}

}  // namespace penstock::report
