#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fusion/loop_program.h"
#include "shape/prover.h"

// Looking at and renaming what stands in loops: shared by the rewrites of loop programs.
namespace penstock::fusion {

using Body = std::vector<Statement>;

inline const Instruction* as_instruction(const Statement& s) {
  return std::get_if<Instruction>(&s);
}
inline Instruction* as_instruction(Statement& s) {
  return std::get_if<Instruction>(&s);
}
inline const Loop* as_loop(const Statement& s) {
  auto* loops = std::get_if<std::vector<Loop>>(&s);
  return loops != nullptr ? &loops->front() : nullptr;
}
inline Loop* as_loop(Statement& s) {
  auto* loops = std::get_if<std::vector<Loop>>(&s);
  return loops != nullptr ? &loops->front() : nullptr;
}
inline Statement loop_statement(Loop loop) {
  std::vector<Loop> one;
  one.push_back(std::move(loop));
  return one;
}

/// Whether no loop stands in `loop`.
bool is_innermost(const Loop& loop);

/// Fewer iterations leave most lanes of a vector empty.
inline constexpr std::int64_t kFewIterations = 5;
/// Whether a loop of that extent is known to have fewer.
bool is_short(const SymExpr& extent);

/// Whether loops in a body are as long as `variable` or a scalar says. Inner loops run in step for
/// all lanes of a vector, so they may not.
bool varies_in_length(const Body& body, std::string_view variable);

/// Calls `visit(const Instruction&)` for every instruction, in order, inner loops' too.
template <class Visit>
void for_each_instruction(const Body& body, const Visit& visit) {
  for (const Statement& statement : body) {
    if (const Instruction* instruction = as_instruction(statement)) {
      visit(*instruction);
    } else {
      for_each_instruction(as_loop(statement)->body, visit);
    }
  }
}

/// New names for scalars and for symbols of index expressions ("i3", and "v12" for scalars).
struct Renaming {
  std::map<ScalarId, ScalarId> scalars;
  std::map<std::string, SymExpr, std::less<>> symbols;
};
void rename(Body& body, const Renaming& renaming);

/// Whether `expression` has the symbol `name`.
bool mentions(const SymExpr& expression, std::string_view name);

/// The scalar that a symbol of an index expression stands for ("v12"); -1 for other symbols.
ScalarId scalar_of_symbol(std::string_view name);

/// By how much `index` grows with each step of `variable`: a number, or nothing when it varies
/// irregularly or with a symbolic stride.
std::optional<std::int64_t> stride_of(const SymExpr& index, std::string_view variable);

/// Whether an iteration of `loop` reads or overwrites what another one wrote.
bool carries_memory(const Loop& loop);

/// Numbers loop variables (i0, i1, …) and scalars (0, 1, …) anew, in the order of the text.
void renumber(LoopKernel& kernel);

/// Which buffers a step reads and writes; views stand for their bases.
struct StepUses {
  std::set<BufferId> reads, writes;
};
StepUses uses_of(const LoopProgram& program, const ProgramStep& step);

/// The last step that needs each buffer, -1 for one that none uses; `uses` are those of all steps.
/// What a loop uses that was there before it is needed until the step behind the loop, as another
/// turn reads it.
std::vector<int> last_uses(const LoopProgram& program, const std::vector<StepUses>& uses);

/// Whether each element of `from` is read for the last time right before the same element of `to`
/// is written.
bool reads_then_writes(const Body& body, BufferId from, BufferId to);

}  // namespace penstock::fusion
