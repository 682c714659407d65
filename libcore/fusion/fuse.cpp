#include "fusion/fuse.h"

#include <algorithm>

#include "fusion/buffers.h"
#include "fusion/contract.h"
#include "fusion/emit.h"
#include "fusion/link_subgraphs.h"
#include "fusion/plan.h"
#include "fusion/rewrite.h"
#include "partition/contract.h"

namespace penstock::fusion {

namespace {

/// A pass over the placed graph, the plan or the loop program.
template <class Document>
struct PassRow {
  PassFacts facts;
  void (*run)(Document&);
  bool may_be_skipped = true;
};

constexpr PassRow<PlacedGraph> kPlacedPasses[] = {
    {{"copy-images", "Copy images and weights that a GPU's library takes channels-last"},
     copy_images},
    {{"lay-out-images",
      "Lay out convolutions' results, and what is computed from them, channels-last"},
     lay_out_images},
};
constexpr PassRow<FusionPlan> kPlanPasses[] = {
    {{"give-roles", "Give every value a role: view, number from nothing, or kernel of its own"},
     give_roles,
     false},
    {{"inline-values", "Compute cheap and singly used values where they are used"}, inline_values},
    {{"update-inputs", "Write into an input what it is to hold, where nothing reads what it held"},
     update_inputs},
    {{"overwrite-chains", "Write slices over what they change, where nothing else needs it"},
     overwrite_chains},
    {{"nest-rows", "Share outer row loops between reductions, their operands and their users"},
     nest_rows},
    {{"zip-ranges", "Compute values of equal sizes in one loop nest"}, zip_ranges},
    {{"keep-rows", "Keep rows that several inner loops would compute again in scratch memory"},
     keep_rows},
};
constexpr PassFacts kEmit = {"emit-program", "Make the loop program that the plan stands for"};
constexpr PassRow<LoopProgram> kProgramPasses[] = {
    {{"detach-activations", "Make what a convolution can apply to its result a kernel of its own"},
     detach_activations},
    {{"fuse-epilogues", "Let library calls apply the pointwise ops behind them"}, fuse_epilogues},
    {{"pad-products", "Give products on a GPU rows that begin at multiples of 16 bytes"},
     pad_products},
    {{"zip-loops", "Merge neighbouring inner loops of equal range"}, zip_loops},
    {{"split-loops", "Split loops whose indices divide their variable"}, split_loops},
    {{"collapse-loops", "Merge loops that walk memory as one loop would"}, collapse_loops},
    {{"zip-loops-again", "Merge neighbouring inner loops that were made equal"}, zip_loops},
    {{"prepare-parameters", "Compute what depends on parameters alone once, not in every run"},
     prepare_parameters},
    {{"schedule-loops", "Choose parallel loops, their grain and vector loops"}, schedule_loops},
};
constexpr PassFacts kLink = {"link-subgraphs",
                             "Put the steps of subgraphs behind their branches and loops"};
constexpr PassRow<LoopProgram> kMemoryPasses[] = {
    {{"plan-memory", "Place temporaries in one arena"}, plan_memory, false},
};

constexpr std::size_t kPassCount = std::size(kPlacedPasses) + std::size(kPlanPasses) + 1 +
                                   std::size(kProgramPasses) + 1 + std::size(kMemoryPasses);
constexpr auto kPassFacts = [] {
  std::array<PassFacts, kPassCount> facts{};
  std::size_t next = 0;
  for (const auto& row : kPlacedPasses) facts[next++] = row.facts;
  for (const auto& row : kPlanPasses) facts[next++] = row.facts;
  facts[next++] = kEmit;
  for (const auto& row : kProgramPasses) facts[next++] = row.facts;
  facts[next++] = kLink;
  for (const auto& row : kMemoryPasses) facts[next++] = row.facts;
  return facts;
}();

/// The text of the program that an unfinished plan stands for.
std::string text_of(const FusionPlan& plan) {
  auto program = emit_program(plan);
  return program ? to_text(*program) : program.error().message + '\n';
}
std::string text_of(const PlacedGraph& placed) {
  return to_text(placed);
}
std::string text_of(const LoopProgram& program) {
  return to_text(program);
}

/// What holds for a program at the end of fuse, once it is finished: programs and plans on the way
/// have no places in memory yet.
Result<void> verify(LoopProgram program) {
  plan_memory(program);
  return verify_contract(program);
}
Result<void> verify(const FusionPlan& plan) {
  auto program = emit_program(plan);
  if (!program) return tl::unexpected(std::move(program.error()));
  return verify(std::move(*program));
}
Result<void> verify(const PlacedGraph& placed) {
  return verify_contract(placed);
}

template <class Document, std::size_t N>
Result<void> run_passes(const PassRow<Document> (&rows)[N], Document& document,
                        const FuseOptions& options, PassRunner& runner) {
  for (const PassRow<Document>& row : rows) {
    if (row.may_be_skipped && std::ranges::find(options.skip, row.facts.name) != options.skip.end())
      continue;
    auto done = runner.run(
        row.facts, [&] { return row.run(document), Result<void>(); },
        [&] { return text_of(document); }, [&] { return verify(document); });
    if (!done) return done;
  }
  return {};
}

Result<void> emit(FusionPlan plan, LoopProgram& program, PassRunner& runner) {
  const auto pass = [&]() -> Result<void> {
    auto emitted = emit_program(std::move(plan));
    if (!emitted) return tl::unexpected(std::move(emitted.error()));
    program = std::move(*emitted);
    return {};
  };
  return runner.run(
      kEmit, pass, [&] { return to_text(program); }, [&] { return verify(program); });
}

Result<LoopProgram> make_steps(PlacedGraph placed, const FuseOptions& options, PassRunner& runner);

/// The programs of subgraphs. Between runs nothing stays prepared that one run may leave out.
Result<std::vector<LoopProgram>> make_subgraphs(const std::vector<PlacedGraph>& subgraphs,
                                                const FuseOptions& options, PassRunner& runner) {
  FuseOptions inner = options;
  inner.skip.push_back("prepare-parameters");
  std::vector<LoopProgram> programs;
  for (const PlacedGraph& subgraph : subgraphs) {
    auto program = make_steps(subgraph, inner, runner);
    if (!program) return tl::unexpected(std::move(program.error()));
    programs.push_back(std::move(*program));
  }
  return programs;
}

/// The program but for places in memory.
Result<LoopProgram> make_steps(PlacedGraph placed, const FuseOptions& options, PassRunner& runner) {
  const std::vector<ControlNode> control = control_nodes(placed);
  auto subgraphs = make_subgraphs(placed.subgraphs, options, runner);
  if (!subgraphs) return tl::unexpected(std::move(subgraphs.error()));
  if (auto done = run_passes(kPlacedPasses, placed, options, runner); !done)
    return tl::unexpected(std::move(done.error()));
  FusionPlan plan = make_plan(std::move(placed));
  plan.budget = options.budget;
  if (auto done = run_passes(kPlanPasses, plan, options, runner); !done)
    return tl::unexpected(std::move(done.error()));
  LoopProgram program;
  if (auto done = emit(std::move(plan), program, runner); !done)
    return tl::unexpected(std::move(done.error()));
  if (auto done = run_passes(kProgramPasses, program, options, runner); !done)
    return tl::unexpected(std::move(done.error()));
  if (control.empty()) return program;
  auto linked = runner.run(
      kLink, [&] { return link_subgraphs(program, control, *subgraphs); },
      [&] { return to_text(program); }, [&] { return verify(program); });
  if (!linked) return tl::unexpected(std::move(linked.error()));
  return program;
}

}  // namespace

std::span<const PassFacts> fuse_passes() {
  return kPassFacts;
}

Result<LoopProgram> fuse(PlacedGraph placed, const FuseOptions& options, PassTrace& trace) {
  if (auto checked = verify_contract(placed); !checked) return tl::unexpected(checked.error());
  PassRunner runner(trace, options.budget);
  auto program = make_steps(std::move(placed), options, runner);
  if (!program) return program;
  if (auto done = run_passes(kMemoryPasses, *program, options, runner); !done)
    return tl::unexpected(std::move(done.error()));
  if (auto checked = verify_contract(*program, options.budget); !checked)
    return tl::unexpected(checked.error());
  return program;
}

}  // namespace penstock::fusion
