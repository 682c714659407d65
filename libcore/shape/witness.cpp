// Witnesses against claims about sizes.
//
// Most questions to the prover are about what is not so: whether s0 equals s1, whether a size is 0,
// whether a coefficient is negative, when it is positive. The search for a proof (prover.cpp) tells
// such a claim from one that is hard to prove only when all its ways are gone, some ten thousand
// steps later. One point at which all facts hold and the claim does not is enough, and costs as
// much as to read the claim; the same goes for each of the claims that a proof would rest on.
//
// Any such point would do. The sizes that a graph was captured with are one, whatever its guards
// say; others are tried because sizes that are equal by chance hide that they need not be.
#include "shape/witness.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "shape/prover.h"
#include "shape/saturating.h"

namespace penstock {

namespace {

constexpr std::size_t kMostWitnesses = 4;

/// Which values symbols take, as far as their ranges leave it open.
struct Choice {
  enum class Sizes : std::uint8_t { hinted, least, apart } sizes;
  enum class Indices : std::uint8_t { first, middle, last } indices;
};

constexpr std::array kChoices = {Choice{Choice::Sizes::hinted, Choice::Indices::first},
                                 Choice{Choice::Sizes::hinted, Choice::Indices::last},
                                 Choice{Choice::Sizes::apart, Choice::Indices::middle},
                                 Choice{Choice::Sizes::least, Choice::Indices::first},
                                 Choice{Choice::Sizes::hinted, Choice::Indices::middle},
                                 Choice{Choice::Sizes::apart, Choice::Indices::last}};

/// Chooses one value after the other: first those that a symbol's bounds mention.
class Chooser {
 public:
  Chooser(const RangeFacts& facts, Choice choice) : facts_(facts), choice_(choice) {}

  /// False: no value was found that the bounds of `symbol` allow.
  bool choose(const std::string& symbol) {
    if (witness_.values.contains(symbol)) return true;
    if (!begun_.insert(symbol).second) return false;
    const SymRange& range = facts_.of(symbol);
    std::optional<std::int64_t> lower, upper;
    if (range.lower && !(lower = bound(*range.lower))) return false;
    if (range.upper && !(upper = bound(*range.upper))) return false;
    const std::int64_t value = chosen(range, lower, upper);
    if ((lower && value < *lower) || (upper && value > *upper)) return false;
    witness_.values.emplace(symbol, value);
    return true;
  }

  Witness take() { return std::move(witness_); }

 private:
  std::optional<std::int64_t> bound(const SymExpr& expression) {
    bool known = true;
    expression.for_each_symbol(
        [&](std::string_view symbol) { known = known && choose(std::string(symbol)); });
    return known ? witness_.value_of(expression) : std::nullopt;
  }

  std::int64_t chosen(const SymRange& range, std::optional<std::int64_t> lower,
                      std::optional<std::int64_t> upper) {
    if (range.hint && choice_.sizes == Choice::Sizes::hinted) return *range.hint;
    if (lower && upper && !range.hint) {
      if (choice_.indices == Choice::Indices::first) return *lower;
      if (choice_.indices == Choice::Indices::last) return *upper;
      return std::midpoint(*lower, *upper);
    }
    const std::int64_t least = lower ? *lower : upper.value_or(0);
    if (choice_.sizes != Choice::Sizes::apart || !lower) return least;
    const std::int64_t above =
        saturating_add(least, 11 + 6 * static_cast<std::int64_t>(witness_.values.size()));
    return upper ? std::min(above, *upper) : above;
  }

  const RangeFacts& facts_;
  Choice choice_;
  std::set<std::string, std::less<>> begun_;
  Witness witness_;
};

std::optional<Witness> find_witness(const RangeFacts& facts, Choice choice) {
  Chooser chooser(facts, choice);
  for (const auto& [symbol, range] : facts.ranges()) {
    if (!chooser.choose(symbol)) return std::nullopt;
  }
  Witness witness = chooser.take();
  const bool holds = facts.all_assumptions(
      [&](const SymExpr& assumption) { return witness.value_of(assumption).value_or(-1) >= 0; });
  return holds ? std::optional(std::move(witness)) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> Witness::value_of(const SymExpr& expression) const {
  return expression.evaluate([&](std::string_view symbol) -> std::optional<std::int64_t> {
    const auto found = values.find(symbol);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
}

std::vector<Witness> find_witnesses(const RangeFacts& facts) {
  std::vector<Witness> witnesses;
  for (const Choice& choice : kChoices) {
    if (witnesses.size() == kMostWitnesses) break;
    if (auto witness = find_witness(facts, choice)) witnesses.push_back(*std::move(witness));
  }
  return witnesses;
}

}  // namespace penstock
