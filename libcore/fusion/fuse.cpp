#include "fusion/fuse.h"

#include <algorithm>

#include "fusion/buffers.h"
#include "fusion/contract.h"
#include "fusion/emit.h"
#include "fusion/layout.h"
#include "fusion/plan.h"
#include "fusion/rewrite.h"
#include "partition/contract.h"

namespace penstock::fusion {

namespace {

using Clock = std::chrono::steady_clock;

void nothing(FusionPlan&) {}

/// The pass over the placed graph, printed as the program that comes of it so far.
constexpr PassFacts kLayout = {
    "layout", "Lay out convolutions' results, and what is computed from them, channels-last"};

/// A pass over the plan, printed as the program that the plan stands for so far.
struct PlanPass {
  PassFacts facts;
  void (*run)(FusionPlan&);
  bool reads_roles;  ///< changes roles, so the accesses are found anew behind it
};
constexpr PlanPass kPlanPasses[] = {
    {{"lower", "Give every value a role: view, number from nothing, or kernel of its own"},
     nothing,
     true},
    {{"inline", "Compute cheap and singly used values where they are used"}, inline_values, true},
    {{"update", "Write into an input what it is to hold, where nothing reads what it held"},
     update_inputs,
     true},
    {{"overwrite", "Write slices over what they change, where nothing else needs it any more"},
     overwrite_chains,
     false},
    {{"nest", "Share outer row loops between reductions, their operands and their users"},
     nest_rows,
     false},
    {{"zip", "Compute values of equal sizes in one loop nest"}, zip_ranges, false},
    {{"keep", "Keep rows that several inner loops would compute again in scratch memory"},
     keep_rows,
     false},
};

/// A pass over the loop program.
struct ProgramPass {
  PassFacts facts;
  void (*run)(LoopProgram&);
};
constexpr ProgramPass kProgramPasses[] = {
    {{"detach", "Make what a convolution can apply to its result a kernel of its own"},
     detach_activations},
    {{"epilogue", "Let library calls apply the pointwise ops behind them"}, fuse_epilogues},
    {{"zip-loops", "Merge neighbouring inner loops of equal range"}, zip_loops},
    {{"split-loops", "Split loops whose indices divide their variable"}, split_loops},
    {{"collapse", "Merge loops that walk memory as one loop would"}, collapse_loops},
    {{"zip-collapsed", "Merge neighbouring inner loops that were made equal"}, zip_loops},
    {{"prepare", "Compute what depends on parameters alone once, not in every run"},
     prepare_parameters},
    {{"schedule", "Choose parallel loops, their grain and vector loops"}, schedule_loops},
    {{"memory", "Place temporaries in one arena"}, plan_memory},
};

constexpr std::size_t kPassCount = 1 + std::size(kPlanPasses) + std::size(kProgramPasses);
constexpr auto kPassFacts = [] {
  std::array<PassFacts, kPassCount> facts{};
  facts[0] = kLayout;
  std::size_t next = 1;
  for (const PlanPass& pass : kPlanPasses) facts[next++] = pass.facts;
  for (const ProgramPass& pass : kProgramPasses) facts[next++] = pass.facts;
  return facts;
}();

/// The text of the program that an unfinished plan stands for.
std::string preview(const FusionPlan& plan) {
  auto program = emit_program(plan);
  return program ? to_text(*program) : program.error().message + '\n';
}

}  // namespace

std::span<const PassFacts> fuse_passes() {
  return kPassFacts;
}

Result<LoopProgram> fuse(PlacedGraph placed, const FuseOptions& options, PassTrace& trace) {
  if (auto checked = verify_contract(placed); !checked) return tl::unexpected(checked.error());
  auto skipped = [&](std::string_view name) {
    return std::find(options.skip.begin(), options.skip.end(), name) != options.skip.end();
  };
  auto begin = Clock::now();
  if (!skipped(kLayout.name)) {
    lay_out_images(placed);
    trace.after(kLayout, Clock::now() - begin, [&] { return to_text(placed); });
    begin = Clock::now();
  }
  FusionPlan plan = make_plan(std::move(placed));
  plan.budget = options.budget;
  assign_memory(plan);
  for (const PlanPass& pass : kPlanPasses) {
    if (pass.run != nothing && skipped(pass.facts.name)) continue;
    if (auto may = check(options.budget, pass.facts.name); !may)
      return tl::unexpected(std::move(may.error()));
    pass.run(plan);
    if (pass.reads_roles) find_accesses(plan);
    trace.after(pass.facts, Clock::now() - begin, [&] { return preview(plan); });
    begin = Clock::now();
  }
  auto program = emit_program(std::move(plan));
  if (!program) return program;
  for (const ProgramPass& pass : kProgramPasses) {
    if (pass.run != plan_memory && skipped(pass.facts.name)) continue;
    if (auto may = check(options.budget, pass.facts.name); !may)
      return tl::unexpected(std::move(may.error()));
    pass.run(*program);
    trace.after(pass.facts, Clock::now() - begin, [&] { return to_text(*program); });
    begin = Clock::now();
  }
  if (auto checked = verify_contract(*program, options.budget); !checked)
    return tl::unexpected(checked.error());
  return program;
}

}  // namespace penstock::fusion
