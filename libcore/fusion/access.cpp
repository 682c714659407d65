// Is an access inside? Three ways, the cheap ones first:
//   the prover     index - first >= 0 and last - index >= 0 from the ranges of loop variables and
//   sizes;
//                  what data decides ("v12") has the range that minimum and maximum leave it
//   conditions     a masked access runs only where comparisons of indices hold
//   enumeration    of all iterations of the loops that the index names, where they are few; a loop
//                  that the index grows with evenly, whatever its condition, counts as its two ends
// What none of them proves is refused, so a program that was edited cannot touch memory outside.
#include "fusion/access.h"

#include <algorithm>

#include "fusion/loops.h"

namespace penstock::fusion {

namespace {

constexpr std::int64_t kMostPoints = std::int64_t{1}
                                     << 20;  ///< iterations that are worth enumerating

/// Whether it names a size of a tensor that exists, of which no most is known, or what data decides
/// below such a size.
bool has_no_bound(const SymExpr& expression, const RangeFacts& facts, int depth = 0) {
  constexpr int kDeepest = 8;  // what is bounded by what is bounded …
  bool unbounded = false;
  expression.for_each_symbol([&](std::string_view name) {
    if (unbounded || depth > kDeepest) return;
    const SymRange range = facts.of(name);
    unbounded = !range.upper || has_no_bound(*range.upper, facts, depth + 1);
  });
  return unbounded;
}

/// Bounds that no number of 64 bits left on the way. Symbols without bounds are sizes of tensors
/// that exist.
bool is_finite(const SymExpr& expression, const RangeFacts& facts) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  if (has_no_bound(expression, facts)) return true;
  Interval range = bounds(expression, facts);
  return range.lower > -kLimit && range.upper < kLimit;
}

}  // namespace

void AccessProver::enter(const Loop& loop) {
  facts_.set_index(loop.variable, loop.extent);
  loops_.push_back(&loop);
}

void AccessProver::leave(const Loop& loop) {
  loops_.pop_back();
  for (const Accumulator& accumulator : loop.accumulators) {
    bool position = accumulator.op == "argmax" || accumulator.op == "argmin";
    // Of no iterations at all it is not told which number it is.
    if (position && !accumulator.results.empty() && is_nonnegative(loop.extent - 1, facts_)) {
      ranges_[accumulator.results.front()] = {SymExpr(0), loop.extent - 1};
      facts_.set("v" + std::to_string(accumulator.results.front()),
                 ranges_[accumulator.results.front()]);
    }
  }
}

void AccessProver::learn(const Instruction& instruction) {
  if (instruction.result < 0) return;
  if (is_boolean(instruction.dtype))
    learn_condition(instruction);
  else if (is_integral(instruction.dtype))
    learn_integer(instruction);
}

std::optional<SymExpr> AccessProver::value_of(ScalarId scalar) const {
  auto found = values_.find(scalar);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

SymRange AccessProver::range_of(ScalarId scalar) const {
  if (auto value = value_of(scalar)) return {*value, *value};
  auto found = ranges_.find(scalar);
  return found == ranges_.end() ? SymRange() : found->second;
}

void AccessProver::learn_integer(const Instruction& in) {
  const ScalarId id = in.result;
  // Narrow integers wrap where an expression does not.
  if (in.dtype != DType::int64) return;
  if (in.op == "index") {
    values_.emplace(id, in.index);
  } else if (auto* number = in.immediate.as<std::int64_t>();
             number != nullptr && in.op == "constant") {
    values_.emplace(id, *number);
  } else if (in.operands.size() == 2 && (in.op == "minimum" || in.op == "maximum")) {
    SymRange a = range_of(in.operands[0]), b = range_of(in.operands[1]), out;
    const bool least = in.op == "minimum";
    auto& one_sided = least ? out.upper : out.lower;
    auto& two_sided = least ? out.lower : out.upper;
    auto pick = [&](std::optional<SymExpr> SymRange::*side) { return b.*side ? b.*side : a.*side; };
    one_sided = pick(least ? &SymRange::upper : &SymRange::lower);
    auto side = least ? &SymRange::lower : &SymRange::upper;
    if (a.*side && b.*side)
      two_sided = least ? minimum(*(a.*side), *(b.*side)) : maximum(*(a.*side), *(b.*side));
    ranges_[id] = std::move(out);
  }
  const SymRange range = range_of(id);
  if (range.lower || range.upper) facts_.set("v" + std::to_string(id), range);
}

void AccessProver::learn_condition(const Instruction& in) {
  Conditions out;
  if (in.op == "and" && in.operands.size() == 2) {
    for (ScalarId operand : in.operands) {
      auto found = conditions_.find(operand);
      if (found != conditions_.end())
        out.insert(out.end(), found->second.begin(), found->second.end());
    }
  } else if (in.operands.size() == 2) {
    auto a = value_of(in.operands[0]), b = value_of(in.operands[1]);
    if (!a || !b) return;
    if (in.op == "lt") out = {*b - *a - 1};
    if (in.op == "le") out = {*b - *a};
    if (in.op == "gt") out = {*a - *b - 1};
    if (in.op == "ge") out = {*a - *b};
    if (in.op == "eq") out = {*a - *b, *b - *a};
  }
  if (!out.empty()) conditions_[in.result] = std::move(out);
}

bool AccessProver::nonnegative(const SymExpr& expression, const Conditions& conditions) const {
  if (is_nonnegative(simplify(expression, facts_), facts_)) return true;
  if (conditions.empty()) return false;
  RangeFacts facts = facts_;
  for (const SymExpr& condition : conditions) facts.assume(condition);
  return is_nonnegative(simplify(expression, facts), facts);
}

bool AccessProver::holds_everywhere(const SymExpr& index, const SymExpr& first, const SymExpr& last,
                                    const Conditions& conditions) const {
  struct Varying {
    const Loop* loop;
    std::int64_t step, count;  ///< of the variable's values that are tried, from 0 on
  };
  std::vector<Varying> varying;
  std::int64_t points = 1;
  for (const Loop* loop : loops_) {
    auto by = [&](const SymExpr& one) { return mentions(one, loop->variable); };
    const bool decides = std::any_of(conditions.begin(), conditions.end(), by);
    if (!decides && !by(index)) continue;
    auto extent = loop->extent.constant();
    if (!extent) return false;
    const bool even = !decides && *extent > 1 && stride_of(index, loop->variable);
    varying.push_back({loop, even ? *extent - 1 : 1, even ? 2 : *extent});
    if (__builtin_mul_overflow(points, varying.back().count, &points) || points > kMostPoints)
      return false;
  }
  std::map<std::string, std::int64_t, std::less<>> at;
  auto number = [&](const SymExpr& expression) {
    return expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
      auto found = at.find(name);
      return found == at.end() ? std::nullopt : std::optional(found->second);
    });
  };
  for (std::int64_t point = 0; point < points; ++point) {
    std::int64_t rest = point;
    for (const auto& [loop, step, count] : varying) {
      at[loop->variable] = rest % count * step;
      rest /= count;
    }
    auto runs = [&](const SymExpr& condition) { return number(condition).value_or(0) >= 0; };
    if (!std::all_of(conditions.begin(), conditions.end(), runs)) continue;
    auto place = number(index), low = number(first), high = number(last);
    if (!place || !low || !high || *place < *low || *place > *high) return false;
  }
  return true;
}

bool AccessProver::inside(const SymExpr& index, const SymExpr& first, const SymExpr& last,
                          ScalarId mask) const {
  auto never = [](const Loop* loop) { return loop->extent.constant().value_or(1) <= 0; };
  if (std::any_of(loops_.begin(), loops_.end(), never)) return true;
  Conditions conditions;
  if (auto found = conditions_.find(mask); found != conditions_.end()) conditions = found->second;
  const bool counted = std::all_of(loops_.begin(), loops_.end(),
                                   [](const Loop* loop) { return loop->extent.is_constant(); });
  if (counted && !is_finite(index, facts_)) return false;
  if (nonnegative(index - first, conditions) && nonnegative(last - index, conditions)) return true;
  return holds_everywhere(index, first, last, conditions);
}

}  // namespace penstock::fusion
