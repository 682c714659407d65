// Collapse
//
// Two perfectly nested loops, o over [0, m) around i over [0, n), are one loop f over [0, m*n) when
// every index in the body sees them only as f = o*n + i. That is tested by writing f for i and 0
// for o, putting o*n + i back, and comparing: exact for polynomials, symbolic sizes included. A
// nested reduction collapses too when the outer one only combines the inner one's results.
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
      if (loop->body.size() == 1 && as_loop(loop->body.front()) != nullptr) try_collapse(*loop);
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

  bool body_sees_merged(const Body& body, const Loop& outer, const Loop& inner) const {
    for (const Statement& statement : body) {
      if (const Loop* loop = as_loop(statement)) {
        bool extent =
            mentions(loop->extent, outer.variable) || mentions(loop->extent, inner.variable);
        if (extent || !body_sees_merged(loop->body, outer, inner)) return false;
      } else if (!sees_merged(as_instruction(statement)->index, outer, inner)) {
        return false;
      }
    }
    return true;
  }

  static void substitute(Body& body, std::string_view variable, const SymExpr& value) {
    for (Statement& statement : body) {
      if (Loop* loop = as_loop(statement)) {
        substitute(loop->body, variable, value);
      } else {
        SymExpr& index = as_instruction(statement)->index;
        if (mentions(index, variable)) index = replace(index, variable, value, {}, 0);
      }
    }
  }

  void try_collapse(Loop& outer) {
    Loop& inner = *as_loop(outer.body.front());
    if (!combines(outer, inner) || !body_sees_merged(inner.body, outer, inner)) return;
    Loop merged = std::move(inner);
    substitute(merged.body, outer.variable, 0);
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
