// Update
//
// What a program writes into a part of a tensor that it was given comes here as a function: a
// scatter gives the tensor's new content, and a copy at the end puts it back. For a cache of keys
// and values that is two passes over all of it for the sake of one row. So a scatter whose result
// ends up where its argument lies writes there, and the copies are gone:
//
//   the copy's source, seen through views and a chain of scatters, is made of the input's memory,
//   and each scatter's window on that memory is what its argument shows; whatever reads a content
//   that a scatter overwrites stands before it, and so is done before it (GroupMerger keeps that
//   order), library and fallback calls too; what the scatter itself writes and where is not read
//   from the memory that it changes, or is computed into memory of its own first; all checks of
//   indices, which may refuse the run, stand before it.
//
// Where one of this does not hold, the scatter makes a tensor of its own and the copy stays.
#include <algorithm>
#include <map>
#include <utility>

#include "fusion/last_readers.h"
#include "fusion/plan.h"
#include "fusion/rewrite.h"

namespace penstock::fusion {

namespace {

/// The scatters that an input's new content comes of, in the order in which they write.
struct Chain {
  std::int32_t copy;  ///< the root that puts the content back
  ValueId input;
  std::vector<std::int32_t> writers;  ///< roots
};

/// Dims of one element may have any stride.
bool show_the_same(const Window& a, const Window& b) {
  if (a.base != b.base || a.sizes != b.sizes || a.offset != b.offset) return false;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    if (a.sizes[i] != SymExpr(1) && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

class Updater {
 public:
  explicit Updater(FusionPlan& plan) : plan_(plan) {
    const auto& outputs = plan.graph().outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs_.emplace(plan.base_of(outputs[i]), i);
  }

  void run() {
    for (std::size_t r = 0; r < plan_.roots.size(); ++r) {
      const Root& root = plan_.roots[r];
      if (root.group < 0 || root.kind != RootKind::copy) continue;
      if (auto chain = find_chain(static_cast<std::int32_t>(r)))
        chains_.push_back(std::move(*chain));
    }
    if (chains_.empty()) return;
    for (const Chain& chain : chains_) mark(chain);
    find_accesses(plan_);
    if (set_apart()) find_accesses(plan_);
    last_ = last_readers(plan_);
    std::erase_if(chains_, [&](const Chain& chain) {
      const bool wrong = !is_safe(chain);
      if (wrong) unmark(chain);
      return wrong;
    });
    for (const Chain& chain : chains_) settle(chain);
  }

 private:
  const Root* root_of(ValueId value) const {
    const ValuePlan& facts = plan_.values[value];
    return facts.role == Role::root ? &plan_.roots[facts.root] : nullptr;
  }

  /// The window that `value` shows of the memory of `base`, of which it is a view.
  std::optional<Window> window_through(ValueId value, ValueId base, const Window& memory) const {
    std::vector<ValueId> views;
    for (; value != base; value = operand_value(plan_.node_of(value), "self"))
      views.push_back(value);
    std::optional<Window> window = memory;
    for (auto view = views.rbegin(); view != views.rend() && window; ++view) {
      window = view_window(plan_.graph(), plan_.node_of(*view), *window, plan_.facts);
    }
    return window;
  }

  /// Whether the value is an output that is no window on the input's memory.
  bool is_apart(ValueId value, ValueId input) const {
    const auto [first, last] = outputs_.equal_range(value);
    return std::any_of(first, last, [&](const auto& output) {
      const OutputAlias& alias = plan_.interface().outputs[output.second].alias;
      return alias.kind != OutputAlias::Kind::input ||
             alias.index != static_cast<std::int32_t>(input);
    });
  }

  std::optional<Chain> find_chain(std::int32_t copy) const {
    const Node& node = plan_.node_of(plan_.roots[copy]);
    Chain chain{copy, operand_value(node, "self"), {}};
    const ValueId source = operand_value(node, "src");
    ValueId base = plan_.base_of(source);
    for (const Root* root = root_of(base); base != chain.input; root = root_of(base)) {
      if (root == nullptr || !is_scatter(plan_.node_of(*root)) || is_apart(base, chain.input))
        return std::nullopt;
      chain.writers.push_back(plan_.values[base].root);
      base = plan_.base_of(operand_value(plan_.node_of(*root), "self"));
    }
    std::ranges::reverse(chain.writers);
    if (chain.writers.empty() || !plan_.values[base].window) return std::nullopt;
    const auto window = last_window(chain);
    const ValueId last = plan_.node_of(plan_.roots[chain.writers.back()]).results.front();
    const auto shown = window ? window_through(source, last, *window) : std::nullopt;
    if (!shown || !show_the_same(*shown, *plan_.values[chain.input].window)) return std::nullopt;
    return chain;
  }

  /// The window of the chain's last result; visits that of each.
  template <class Visit>
  std::optional<Window> for_each_window(const Chain& chain, const Visit& visit) const {
    std::optional<Window> window = plan_.values[chain.input].window;
    ValueId content = chain.input;
    for (std::int32_t number : chain.writers) {
      const Node& node = plan_.node_of(plan_.roots[number]);
      window = window_through(operand_value(node, "self"), content, *window);
      if (!window) return window;
      content = node.results.front();
      visit(content, *window);
    }
    return window;
  }

  std::optional<Window> last_window(const Chain& chain) const {
    return for_each_window(chain, [](ValueId, const Window&) {});
  }

  /// From here on the writers do not read what they write over.
  void mark(const Chain& chain) {
    ValueId content = chain.input;
    for (std::int32_t number : chain.writers) {
      plan_.roots[number].over = content;
      kinds_.emplace(number, std::exchange(plan_.roots[number].kind, RootKind::scatter));
      content = plan_.node_of(plan_.roots[number]).results.front();
    }
  }

  void unmark(const Chain& chain) {
    for (std::int32_t number : chain.writers) {
      Root& root = plan_.roots[number];
      root.over = kNoValue;
      root.kind = kinds_.at(number);
    }
  }

  bool reads_memory(const Root& root, const Chain& chain) const {
    const BufferId memory = plan_.values[chain.input].window->base;
    if (std::ranges::find(root.reads, memory) != root.reads.end()) return true;
    return std::ranges::any_of(root.accesses, [&](const Access& access) {
      return std::ranges::find(chain.writers, plan_.values[access.value].root) !=
             chain.writers.end();
    });
  }

  /// Computes what a writer reads of its own memory beforehand, in memory of its own. Returns
  /// whether there was any.
  bool set_apart() {
    std::vector<std::int32_t> mixed;
    for (const Chain& chain : chains_) {
      for (std::int32_t number : chain.writers) {
        if (reads_memory(plan_.roots[number], chain)) mixed.push_back(number);
      }
    }
    return compute_beforehand(plan_, mixed);
  }

  bool is_safe(const Chain& chain) const {
    ValueId content = chain.input;
    for (std::int32_t number : chain.writers) {
      const Root& writer = plan_.roots[number];
      if (reads_memory(writer, chain) || last_.check >= writer.node) return false;
      const auto last = last_.of.find(content);
      if (last != last_.of.end() && last->second >= writer.node) return false;
      content = plan_.node_of(writer).results.front();
    }
    return true;
  }

  void settle(const Chain& chain) {
    for_each_window(chain, [&](ValueId content, const Window& window) {
      plan_.values[content].window = window;
      plan_.values[content].needed = true;
      plan_.values[content].output = -1;
    });
    Root& copy = plan_.roots[chain.copy];
    plan_.groups[copy.group].roots.clear();
    copy.group = -1;
  }

  FusionPlan& plan_;
  std::multimap<ValueId, std::size_t> outputs_;  ///< of the graph, by what they are windows on
  std::vector<Chain> chains_;
  LastReaders last_;
  std::map<std::int32_t, RootKind> kinds_;  ///< of the writers, before they were marked
};

}  // namespace

void update_inputs(FusionPlan& plan) {
  Updater(plan).run();
  find_accesses(plan);
}

}  // namespace penstock::fusion
