// Comparing two graphs by structure.
//
// Every item gets a hash of its label, its facts and the hashes of its operands: it stands for the
// whole computation that leads to the item, so items with equal hashes are the same, whatever they
// are called and wherever they stand (equal ones are paired in order). One changed constant changes
// the hashes of everything below it, so what is left is aligned in a second step: the longest
// common subsequence of labels, by Myers' greedy algorithm, whose cost is the number of items times
// the number of differences. What then has no partner is looked at once more: an op that was put in
// the place of another takes what that one took, so a node of the first graph is paired with one of
// the second whose operands are the partners of its own. Pairs found so are compared fact by fact,
// operands through the matching itself; an item whose only difference was further up turns out
// equal and is not reported.

#include "ir/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

namespace penstock {

namespace {

/// Beyond so many differences, alignment would cost more than it explains: labels are then paired
/// in order.
constexpr std::int64_t kMaxEdits = 1000;

void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  hash ^= hash >> 29;
}

void mix(std::uint64_t& hash, const std::string& text) {
  mix(hash, std::hash<std::string>{}(text));
}

std::vector<std::uint64_t> hashes(const DiffItems& items) {
  std::vector<std::uint64_t> out;
  out.reserve(items.size());
  for (const DiffItem& item : items) {
    std::uint64_t hash = 1;
    mix(hash, item.label);
    for (const DiffItem::Fact& fact : item.facts) {
      mix(hash, fact.name);
      mix(hash, fact.text);
    }
    for (DiffItem::Operand operand : item.operands) {
      bool known = operand.item >= 0 && static_cast<std::size_t>(operand.item) < out.size();
      mix(hash, known ? out[static_cast<std::size_t>(operand.item)] : 0);
      mix(hash, static_cast<std::uint64_t>(operand.result));
    }
    out.push_back(hash);
  }
  return out;
}

using Positions = std::vector<std::int32_t>;
using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// Pairs equal labels in order, without regard to what stands between.
Pairs pair_in_order(const Positions& a, const Positions& b, const DiffItems& before,
                    const DiffItems& after) {
  std::unordered_map<std::string_view, Positions> by_label;
  for (auto at = b.rbegin(); at != b.rend(); ++at) {
    by_label[after[static_cast<std::size_t>(*at)].label].push_back(*at);
  }
  Pairs pairs;
  for (std::int32_t position : a) {
    auto found = by_label.find(before[static_cast<std::size_t>(position)].label);
    if (found == by_label.end() || found->second.empty()) continue;
    pairs.emplace_back(position, found->second.back());
    found->second.pop_back();
  }
  return pairs;
}

/// Myers, "An O(ND) difference algorithm and its variations" (1986): reach[k] is how far down the
/// first list the furthest path on diagonal k gets with the edits spent so far; `history` keeps it
/// for each number of edits, to walk the path back.
Pairs longest_common(const Positions& a, const Positions& b, const DiffItems& before,
                     const DiffItems& after) {
  auto same = [&](std::int64_t i, std::int64_t j) {
    return before[static_cast<std::size_t>(a[static_cast<std::size_t>(i)])].label ==
           after[static_cast<std::size_t>(b[static_cast<std::size_t>(j)])].label;
  };
  auto n = static_cast<std::int64_t>(a.size()), m = static_cast<std::int64_t>(b.size());
  std::int64_t limit = std::min(n + m, kMaxEdits);
  std::vector<std::int64_t> reach(static_cast<std::size_t>(2 * limit + 3), 0);
  auto at = [&](std::vector<std::int64_t>& row, std::int64_t k) -> std::int64_t& {
    return row[static_cast<std::size_t>(k + limit + 1)];
  };
  std::vector<std::vector<std::int64_t>> history;
  std::int64_t edits = 0;
  for (bool done = false; !done; ++edits) {
    if (edits > limit) return pair_in_order(a, b, before, after);
    history.push_back(reach);
    for (std::int64_t k = -edits; k <= edits && !done; k += 2) {
      bool down = k == -edits || (k != edits && at(reach, k - 1) < at(reach, k + 1));
      std::int64_t i = down ? at(reach, k + 1) : at(reach, k - 1) + 1;
      while (i < n && i - k < m && i - k >= 0 && same(i, i - k)) ++i;
      at(reach, k) = i;
      done = i >= n && i - k >= m;
    }
  }
  Pairs pairs;
  std::int64_t i = n, j = m;
  for (std::int64_t spent = edits - 1; spent >= 0; --spent) {
    auto& row = history[static_cast<std::size_t>(spent)];
    std::int64_t k = i - j;
    bool down = k == -spent || (k != spent && at(row, k - 1) < at(row, k + 1));
    std::int64_t from_i = spent == 0 ? 0 : down ? at(row, k + 1) : at(row, k - 1);
    std::int64_t from_j = spent == 0 ? 0 : from_i - (down ? k + 1 : k - 1);
    while (i > from_i && j > from_j && same(i - 1, j - 1)) {
      --i, --j;
      pairs.emplace_back(a[static_cast<std::size_t>(i)], b[static_cast<std::size_t>(j)]);
    }
    i = from_i, j = from_j;
  }
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

class Comparer {
 public:
  Comparer(const DiffItems& before, const DiffItems& after)
      : before_(before),
        after_(after),
        to_after_(before.size(), -1),
        to_before_(after.size(), -1) {}

  Comparison run() {
    match_equal();
    Positions left, right;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (to_after_[i] < 0) left.push_back(static_cast<std::int32_t>(i));
    }
    for (std::size_t j = 0; j < after_.size(); ++j) {
      if (to_before_[j] < 0) right.push_back(static_cast<std::int32_t>(j));
    }
    Pairs pairs = longest_common(left, right, before_, after_);
    for (auto [i, j] : pairs) match(i, j);
    match_replaced();
    // In the order of the first graph; what was added follows what stands before it.
    std::size_t j = 0;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (to_after_[i] < 0) {
        out_.push_back({Difference::Kind::removed,
                        before_[i].title,
                        {},
                        before_[i].text,
                        {},
                        static_cast<std::int32_t>(i)});
        continue;
      }
      auto other = static_cast<std::size_t>(to_after_[i]);
      for (; j < other; ++j) add_if_new(j);
      compare_items(i, other);
    }
    for (; j < after_.size(); ++j) add_if_new(j);
    return {std::move(to_after_), std::move(out_)};
  }

 private:
  void match(std::int32_t i, std::int32_t j) {
    to_after_[static_cast<std::size_t>(i)] = j;
    to_before_[static_cast<std::size_t>(j)] = i;
  }

  void match_equal() {
    std::vector<std::uint64_t> left = hashes(before_), right = hashes(after_);
    std::unordered_map<std::uint64_t, Positions> by_hash;
    for (std::size_t j = right.size(); j-- > 0;) {
      by_hash[right[j]].push_back(static_cast<std::int32_t>(j));
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
      auto found = by_hash.find(left[i]);
      if (found == by_hash.end() || found->second.empty()) continue;
      match(static_cast<std::int32_t>(i), found->second.back());
      found->second.pop_back();
    }
  }

  /// Pairs what is left by operands, operands before users: a chain of replaced ops is followed.
  void match_replaced() {
    std::map<std::vector<std::pair<std::int32_t, std::int32_t>>, Positions> by_operands;
    for (std::size_t j = after_.size(); j-- > 0;) {
      if (to_before_[j] >= 0 || !takes_operands(after_[j])) continue;
      std::vector<std::pair<std::int32_t, std::int32_t>> key;
      for (DiffItem::Operand operand : after_[j].operands)
        key.emplace_back(operand.item, operand.result);
      by_operands[std::move(key)].push_back(static_cast<std::int32_t>(j));
    }
    if (by_operands.empty()) return;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (to_after_[i] >= 0 || !takes_operands(before_[i])) continue;
      std::vector<std::pair<std::int32_t, std::int32_t>> key;
      for (DiffItem::Operand operand : before_[i].operands)
        key.emplace_back(partner(operand), operand.result);
      auto found = by_operands.find(key);
      if (found == by_operands.end() || found->second.empty()) continue;
      match(static_cast<std::int32_t>(i), found->second.back());
      found->second.pop_back();
    }
  }

  static bool takes_operands(const DiffItem& item) { return item.is_op && !item.operands.empty(); }

  /// The item of the second graph that `operand` of the first is; -1: none.
  std::int32_t partner(DiffItem::Operand operand) const {
    return operand.item < 0 ? -1 : to_after_[static_cast<std::size_t>(operand.item)];
  }

  void add_if_new(std::size_t j) {
    if (to_before_[j] >= 0) return;
    out_.push_back({Difference::Kind::added,
                    after_[j].title,
                    {},
                    {},
                    after_[j].text,
                    -1,
                    static_cast<std::int32_t>(j)});
  }

  std::string name(const DiffItems& items, DiffItem::Operand operand) {
    if (operand.item < 0) return "nothing";
    std::string text = items[static_cast<std::size_t>(operand.item)].title;
    return operand.result == 0 ? text : fmt::format("result {} of {}", operand.result, text);
  }

  void compare_items(std::size_t i, std::size_t j) {
    const DiffItem &a = before_[i], &b = after_[j];
    auto changed = [&](std::string what, std::string before, std::string after) {
      out_.push_back({Difference::Kind::changed, a.title, std::move(what), std::move(before),
                      std::move(after), static_cast<std::int32_t>(i),
                      static_cast<std::int32_t>(j)});
    };
    if (a.label != b.label) changed("op", a.label, b.label);
    auto find = [](const DiffItem& item, const std::string& name) {
      return std::find_if(item.facts.begin(), item.facts.end(),
                          [&](const DiffItem::Fact& fact) { return fact.name == name; });
    };
    for (const DiffItem::Fact& fact : a.facts) {
      auto other = find(b, fact.name);
      if (other == b.facts.end()) {
        changed(fact.name, fact.text, "its default");
      } else if (other->text != fact.text) {
        changed(fact.name, fact.text, other->text);
      }
    }
    for (const DiffItem::Fact& fact : b.facts) {
      if (find(a, fact.name) == a.facts.end()) changed(fact.name, "its default", fact.text);
    }
    for (std::size_t k = 0; k < a.operands.size() && k < b.operands.size(); ++k) {
      DiffItem::Operand left = a.operands[k], right = b.operands[k];
      std::int32_t mapped = partner(left);
      bool gone = left.item >= 0 && mapped < 0;
      if (!gone && mapped == right.item && left.result == right.result) continue;
      changed(fmt::format("operand {}", k), name(before_, left), name(after_, right));
    }
    if (a.operands.size() != b.operands.size()) {
      changed("operands", std::to_string(a.operands.size()), std::to_string(b.operands.size()));
    }
  }

  const DiffItems& before_;
  const DiffItems& after_;
  std::vector<std::int32_t> to_after_, to_before_;  ///< the matching; -1: none
  std::vector<Difference> out_;
};

}  // namespace

Comparison compare(const DiffItems& before, const DiffItems& after) {
  return Comparer(before, after).run();
}

std::uint64_t structure_hash(const DiffItems& items) {
  // A sum, for the order of independent items is no part of the structure.
  std::uint64_t sum = items.size();
  for (std::uint64_t hash : hashes(items)) sum += hash;
  return sum;
}

}  // namespace penstock
