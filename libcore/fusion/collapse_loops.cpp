// Collapse
//
// Two perfectly nested loops, o over [0, m) around i over [0, n), are one loop f over [0, m*n) when
// every index in the body sees them only as f = o*n + i. That is tested by writing f for i and 0
// for o, putting o*n + i back, and comparing: exact for polynomials, symbolic sizes included. A
// nested reduction collapses too when the outer one only combines the inner one's results.
//
// An inner loop of very few iterations (the channels of a group) leaves vectors mostly empty: it is
// merged although some loads see o alone, which become gathers at floordiv(f, n). What is computed
// in front of it is then computed in it.
#include <algorithm>

#include "fusion/loops.h"
#include "fusion/rewrite.h"
#include "ir/size_facts.h"

namespace penstock::fusion {

namespace {

constexpr const char* kMerged = "merged";  ///< stands for f; no loop variable has this name

SymExpr replace(const SymExpr& expression, std::string_view outer, const SymExpr& for_outer,
                std::string_view inner, const SymExpr& for_inner) {
  return expression.substitute([&](std::string_view name) -> std::optional<SymExpr> {
    if (name == outer) return for_outer;
    if (name == inner) return for_inner;
    return std::nullopt;
  });
}

/// The outer loop's accumulators combine exactly the inner loop's results with the same ops.
bool combines(const Loop& outer, const Loop& inner) {
  if (outer.accumulators.size() != inner.accumulators.size()) return false;
  for (std::size_t i = 0; i < outer.accumulators.size(); ++i) {
    const Accumulator& a = outer.accumulators[i];
    const Accumulator& b = inner.accumulators[i];
    bool positional = a.op == "argmax" || a.op == "argmin" || a.op == "welford";
    if (positional || a.op != b.op || a.dtype != b.dtype || a.value != b.results.front())
      return false;
  }
  return true;
}

class Collapser {
 public:
  explicit Collapser(RangeFacts facts) : facts_(std::move(facts)) {}

  void run(Body& body) {
    for (Statement& statement : body) {
      Loop* loop = as_loop(statement);
      if (loop == nullptr) continue;
      facts_.set_index(loop->variable, loop->extent);
      run(loop->body);
      if (!loop->body.empty() && as_loop(loop->body.back()) != nullptr) try_collapse(*loop);
    }
  }

 private:
  bool sees_merged(const SymExpr& expression, const Loop& outer, const Loop& inner) const {
    if (!mentions(expression, outer.variable) && !mentions(expression, inner.variable)) return true;
    SymExpr merged =
        replace(expression, outer.variable, 0, inner.variable, SymExpr::symbol(kMerged));
    SymExpr back = SymExpr::symbol(outer.variable) * inner.extent + SymExpr::symbol(inner.variable);
    return simplify(replace(merged, kMerged, back, {}, 0), facts_) == simplify(expression, facts_);
  }

  /// Whether an instruction of the inner loop may read at floordiv(f, n) what it reads at o.
  static bool may_gather(const Instruction& instruction, const Loop& inner) {
    return instruction.op == "load" && !mentions(instruction.index, inner.variable);
  }

  bool body_sees_merged(const Body& body, const Loop& outer, const Loop& inner) const {
    const bool gathers = is_short(inner.extent);
    for (const Statement& statement : body) {
      if (const Loop* loop = as_loop(statement)) {
        bool extent =
            mentions(loop->extent, outer.variable) || mentions(loop->extent, inner.variable);
        if (extent || !body_sees_merged(loop->body, outer, inner)) return false;
      } else {
        const Instruction& instruction = *as_instruction(statement);
        if (!(gathers && may_gather(instruction, inner)) &&
            !sees_merged(instruction.index, outer, inner))
          return false;
      }
    }
    return true;
  }

  /// Writes the indices of a merged loop's body in its variable, which is the inner one's.
  void merge_indices(Body& body, const Loop& outer, const Loop& inner) const {
    for (Statement& statement : body) {
      if (Loop* loop = as_loop(statement)) {
        merge_indices(loop->body, outer, inner);
        continue;
      }
      SymExpr& index = as_instruction(statement)->index;
      if (!mentions(index, outer.variable)) continue;
      const SymExpr of_outer = sees_merged(index, outer, inner)
                                   ? SymExpr(0)
                                   : floordiv(SymExpr::symbol(inner.variable), inner.extent);
      index = replace(index, outer.variable, of_outer, {}, 0);
    }
  }

  /// What stands in front of a loop of few iterations goes into it, where it only computes.
  static bool may_sink(const Loop& outer) {
    const bool sinks = is_short(as_loop(outer.body.back())->extent);
    return std::all_of(outer.body.begin(), outer.body.end() - 1, [&](const Statement& statement) {
      const Instruction* instruction = as_instruction(statement);
      return sinks && instruction != nullptr && instruction->op != "store";
    });
  }

  void try_collapse(Loop& outer) {
    Loop& inner = *as_loop(outer.body.back());
    if (!may_sink(outer) || !combines(outer, inner) || !body_sees_merged(inner.body, outer, inner))
      return;
    Loop merged = std::move(inner);
    merged.body.insert(merged.body.begin(), std::make_move_iterator(outer.body.begin()),
                       std::make_move_iterator(outer.body.end() - 1));
    Loop range;  // the inner loop without its body
    range.variable = merged.variable;
    range.extent = merged.extent;
    merge_indices(merged.body, outer, range);
    merged.extent = outer.extent * merged.extent;
    for (std::size_t i = 0; i < outer.accumulators.size(); ++i) {
      merged.accumulators[i].results = outer.accumulators[i].results;
    }
    facts_.set_index(merged.variable, merged.extent);
    outer = std::move(merged);
  }

  RangeFacts facts_;
};

}  // namespace

void collapse_loops(LoopProgram& program) {
  const RangeFacts facts = size_facts(program.interface);
  for (ProgramStep& step : program.steps) {
    if (auto* kernel = std::get_if<LoopKernel>(&step)) {
      Collapser(facts).run(kernel->body);
      renumber(*kernel);
    }
  }
}

}  // namespace penstock::fusion
