// Split loops
//
// Looking through a reshape that regroups dims leaves indices such as 96*floordiv(i, 8) + mod(i,
// 8). No vector unit walks those. A loop i over [0, n) whose indices divide i by c, where c divides
// n, becomes two loops, o over [0, n/c) around k over [0, c), with i = o*c + k: then floordiv(i, c)
// is o and mod(i, c) is k, and every access is affine again. Loops that turn out not to need it are
// merged again by collapse, which runs later. A small c stays, where it is loads that divide: a
// vector of two is slower than one whose operands are gathered.
#include <algorithm>

#include "fusion/loops.h"
#include "fusion/rewrite.h"
#include "ir/size_facts.h"

namespace penstock::fusion {

namespace {

constexpr int kMaxSplits = 6;  ///< of one loop: a chain of reshapes has few divisors

/// Divisors of `variable` in an expression.
void find_divisors(const SymExpr& expression, std::string_view variable,
                   std::vector<SymExpr>& found) {
  for (const SymTerm& term : expression.terms()) {
    for (const auto& atom : term.atoms) {
      if (atom->kind == SymAtom::Kind::symbol) continue;
      bool divides = atom->kind == SymAtom::Kind::floordiv || atom->kind == SymAtom::Kind::mod;
      if (divides && mentions(atom->operands[0], variable)) found.push_back(atom->operands[1]);
      for (const SymExpr& operand : atom->operands) find_divisors(operand, variable, found);
    }
  }
}

class Splitter {
 public:
  explicit Splitter(RangeFacts facts) : facts_(std::move(facts)) {}

  void run(Body& body) {
    for (Statement& statement : body) {
      Loop* loop = as_loop(statement);
      if (loop == nullptr) continue;
      facts_.set_index(loop->variable, loop->extent);
      for (int i = 0; i < kMaxSplits && split(*loop); ++i) {
      }
      run(loop->body);
    }
  }

 private:
  /// A divisor of the loop's variable that divides its extent, the largest first: the smaller ones
  /// then divide the inner loop.
  std::optional<SymExpr> divisor(const Loop& loop) const {
    std::vector<SymExpr> found, of_stores;
    for_each_instruction(loop.body, [&](const Instruction& instruction) {
      find_divisors(instruction.index, loop.variable, found);
      if (instruction.op == "store") find_divisors(instruction.index, loop.variable, of_stores);
    });
    const bool gathers = is_innermost(loop) && of_stores.empty();
    std::optional<SymExpr> best;
    for (const SymExpr& candidate : found) {
      if (candidate == SymExpr(1) || candidate == loop.extent) continue;
      if (gathers && is_short(candidate)) continue;
      if (simplify(mod(loop.extent, candidate), facts_) != SymExpr(0)) continue;
      bool larger = !best || prove_less(*best, candidate, facts_).value_or(false);
      if (larger) best = candidate;
    }
    return best;
  }

  /// Splits the loop once; its outer part takes its place. Reductions stay as they are.
  bool split(Loop& loop) {
    if (!loop.accumulators.empty()) return false;
    auto size = divisor(loop);
    if (!size) return false;
    Loop inner;
    inner.variable = loop.variable + "_" + std::to_string(next_++);
    inner.extent = *size;
    inner.body = std::move(loop.body);
    loop.extent = simplify(floordiv(loop.extent, *size), facts_);
    facts_.set_index(loop.variable, loop.extent);
    facts_.set_index(inner.variable, inner.extent);
    Renaming renaming;
    renaming.symbols.emplace(
        loop.variable, SymExpr::symbol(loop.variable) * *size + SymExpr::symbol(inner.variable));
    rename(inner.body, renaming);
    simplify_indices(inner.body);
    loop.body.clear();
    loop.body.push_back(loop_statement(std::move(inner)));
    return true;
  }

  void simplify_indices(Body& body) {
    for (Statement& statement : body) {
      if (Loop* loop = as_loop(statement)) {
        facts_.set_index(loop->variable, loop->extent);
        simplify_indices(loop->body);
      } else {
        SymExpr& index = as_instruction(statement)->index;
        index = simplify(index, facts_);
      }
    }
  }

  RangeFacts facts_;
  int next_ = 0;
};

}  // namespace

void split_loops(LoopProgram& program) {
  const RangeFacts facts = size_facts(program.interface);
  for (ProgramStep& step : program.steps) {
    if (auto* kernel = std::get_if<LoopKernel>(&step)) {
      Splitter(facts).run(kernel->body);
      renumber(*kernel);
    }
  }
}

}  // namespace penstock::fusion
