// Zip loops
//
// Inner loops of one body often run over the same range: the mean and the maximum of a row, the row
// of exponentials and their sum. Both bodies become one, if the second needs none of the first
// one's results, and no iteration reads what another iteration of the other loop writes. What
// stands between them goes in front; what is made of the first one's results comes behind. A loop
// of elements does not join one that has loops inside, a product's or a reduction's: it would no
// longer be a loop of vectors. In the merged body equal instructions are one, and a load of what
// was just stored is the stored scalar.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "fusion/loops.h"
#include "fusion/rewrite.h"
#include "ir/argument_text.h"

namespace penstock::fusion {

namespace {

/// Which scalars and memory a statement touches.
struct Footprint {
  std::set<ScalarId> used;
  std::map<BufferId, std::set<std::string>> loads, stores;  ///< texts of the indices
};

void add(const SymExpr& expression, Footprint& footprint) {
  expression.for_each_symbol([&](std::string_view name) {
    if (ScalarId scalar = scalar_of_symbol(name); scalar >= 0) footprint.used.insert(scalar);
  });
}

void add(const Body& body, Footprint& footprint);

void add(const Statement& statement, Footprint& footprint) {
  if (const Loop* loop = as_loop(statement)) {
    add(loop->body, footprint);
    for (const Accumulator& accumulator : loop->accumulators)
      footprint.used.insert(accumulator.value);
    return;
  }
  const Instruction& instruction = *as_instruction(statement);
  footprint.used.insert(instruction.operands.begin(), instruction.operands.end());
  add(instruction.index, footprint);
  if (instruction.op == "load") {
    footprint.loads[instruction.buffer].insert(instruction.index.to_string());
  } else if (instruction.op == "store") {
    footprint.stores[instruction.buffer].insert(instruction.index.to_string());
  }
}

void add(const Body& body, Footprint& footprint) {
  for (const Statement& statement : body) add(statement, footprint);
}

/// Whether b may not run before a, or in step with a unless both name the same one element.
bool conflict(const Footprint& a, const Footprint& b, bool in_step) {
  auto clash = [&](const auto& writes, const auto& others) {
    for (const auto& [buffer, indices] : writes) {
      auto found = others.find(buffer);
      if (found == others.end()) continue;
      bool same_element = indices.size() == 1 && indices == found->second;
      if (!in_step || !same_element) return true;
    }
    return false;
  };
  return clash(a.stores, b.loads) || clash(b.stores, a.loads) || clash(a.stores, b.stores);
}

bool uses_results(const Footprint& footprint, const Loop& loop) {
  for (const Accumulator& accumulator : loop.accumulators) {
    for (ScalarId result : accumulator.results) {
      if (footprint.used.contains(result)) return true;
    }
  }
  return false;
}

/// The statements between two loops, where the first one's results decide nothing of the second:
/// those that stay in front of both as one, and those that follow.
struct Between {
  Body stays, follows;
};

void add_results(const Statement& statement, std::set<ScalarId>& made) {
  if (const Instruction* instruction = as_instruction(statement)) {
    made.insert(instruction->result);
    return;
  }
  for (const Accumulator& accumulator : as_loop(statement)->accumulators)
    made.insert(accumulator.results.begin(), accumulator.results.end());
}

/// Nothing where the order matters. Linear in instructions, but for a logarithm.
std::optional<Between> part(const Body& body, std::size_t first, std::size_t second) {
  Between parts;
  Footprint of_a, of_b, of_followers;
  std::set<ScalarId> made;
  add(body[first], of_a);
  add(body[second], of_b);
  add_results(body[first], made);
  const auto uses_made = [&](const Footprint& footprint) {
    return std::ranges::any_of(footprint.used, [&](ScalarId id) { return made.contains(id); });
  };
  for (std::size_t i = first + 1; i < second; ++i) {
    Footprint own;
    add(body[i], own);
    if (uses_made(own)) {
      if (conflict(own, of_b, false)) return std::nullopt;
      add_results(body[i], made);
      add(body[i], of_followers);
      parts.follows.push_back(body[i]);
    } else {
      if (conflict(of_a, own, false) || conflict(of_followers, own, false)) return std::nullopt;
      parts.stays.push_back(body[i]);
    }
  }
  return uses_made(of_b) ? std::nullopt : std::optional(std::move(parts));
}

/// Removes repeated instructions and loads of what stands in a scalar from a body (not from loops
/// inside it), and renames what used them.
void deduplicate(Loop& loop) {
  std::map<std::string, ScalarId> known, stored;
  Renaming renaming;
  Body kept;
  for (Statement& statement : loop.body) {
    Body one;
    one.push_back(std::move(statement));
    rename(one, renaming);
    Instruction* instruction = as_instruction(one.front());
    if (instruction == nullptr) {
      kept.push_back(std::move(one.front()));
      continue;
    }
    std::string place = std::to_string(instruction->buffer) + '@' + instruction->index.to_string();
    if (instruction->op == "store") {
      if (instruction->operands.size() == 1) stored[place] = instruction->operands.front();
      kept.push_back(std::move(one.front()));
      continue;
    }
    auto forwarded = stored.find(place);
    if (instruction->op == "load" && instruction->operands.empty() && forwarded != stored.end()) {
      renaming.scalars[instruction->result] = forwarded->second;
      continue;
    }
    std::string key = instruction->op + '.' + std::to_string(static_cast<int>(instruction->dtype)) +
                      place + to_string(instruction->immediate);
    for (ScalarId operand : instruction->operands) key += ' ' + std::to_string(operand);
    auto [found, is_new] = known.try_emplace(key, instruction->result);
    if (is_new) {
      kept.push_back(std::move(one.front()));
    } else {
      renaming.scalars[instruction->result] = found->second;
    }
  }
  loop.body = std::move(kept);
  for (Accumulator& accumulator : loop.accumulators) {
    auto found = renaming.scalars.find(accumulator.value);
    if (found != renaming.scalars.end()) accumulator.value = found->second;
  }
}

bool has_loops(const Loop& loop) {
  return std::any_of(loop.body.begin(), loop.body.end(),
                     [](const Statement& s) { return as_loop(s) != nullptr; });
}

/// Merges loop `first` of the body with loop `second`, if that is sound. Returns the place of the
/// merged loop.
std::optional<std::size_t> merge_loops(Body& body, std::size_t first, std::size_t second) {
  Loop& a = *as_loop(body[first]);
  Loop& b = *as_loop(body[second]);
  if (a.extent != b.extent || has_loops(a) != has_loops(b)) return std::nullopt;
  Loop renamed = b;
  Renaming renaming;
  renaming.symbols.emplace(b.variable, SymExpr::symbol(a.variable));
  rename(renamed.body, renaming);
  renamed.variable = a.variable;
  Footprint of_a, of_b;
  add(body[first], of_a);
  add(renamed.body, of_b);
  for (const Accumulator& accumulator : renamed.accumulators) of_b.used.insert(accumulator.value);
  if (uses_results(of_b, a) || conflict(of_a, of_b, true)) return std::nullopt;
  std::optional<Between> between = part(body, first, second);
  if (!between) return std::nullopt;
  Loop merged = std::move(a);
  std::move(renamed.body.begin(), renamed.body.end(), std::back_inserter(merged.body));
  std::move(renamed.accumulators.begin(), renamed.accumulators.end(),
            std::back_inserter(merged.accumulators));
  deduplicate(merged);
  const std::size_t place = first + between->stays.size();
  auto next = std::move(between->stays.begin(), between->stays.end(),
                        body.begin() + static_cast<std::ptrdiff_t>(first));
  *next++ = loop_statement(std::move(merged));
  next = std::move(between->follows.begin(), between->follows.end(), next);
  body.erase(next);
  return place;
}

void zip_body(Body& body) {
  for (std::size_t second = 1; second < body.size(); ++second) {
    if (as_loop(body[second]) == nullptr) continue;
    // Only the nearest loop before: merging is tried once for each pair of neighbours.
    for (std::size_t first = second; first-- > 0;) {
      if (as_loop(body[first]) == nullptr) continue;
      second = merge_loops(body, first, second).value_or(second);
      break;
    }
  }
  for (Statement& statement : body) {
    if (Loop* loop = as_loop(statement)) zip_body(loop->body);
  }
}

}  // namespace

void zip_loops(LoopProgram& program) {
  for (ProgramStep& step : program.steps) {
    if (auto* kernel = std::get_if<LoopKernel>(&step)) {
      zip_body(kernel->body);
      renumber(*kernel);
    }
  }
}

}  // namespace penstock::fusion
