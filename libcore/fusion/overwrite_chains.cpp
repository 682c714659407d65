// Overwrite
//
// A loop that fills a tensor slice by slice comes here as a chain of scatters, each of which makes
// a new tensor of the one before. As nested selections one element would look through all of them;
// as tensors of their own each would be copied for the sake of one slice. So a long chain lies in
// one memory: a scatter writes its slice over what it changes, and that is all it does:
//
//   whatever reads the content that it changes stands before it, and so is done before it
//   (GroupMerger keeps that order), library and fallback calls too; what it writes reads of that
//   content at most the element that it writes; anything else is computed into memory of its own
//   first.
//
// Where one of this does not hold, the scatter begins a memory of its own with a copy, and the
// chain goes on there.
#include <algorithm>
#include <map>

#include "fusion/buffers.h"
#include "fusion/last_readers.h"
#include "fusion/plan.h"
#include "fusion/rewrite.h"

namespace penstock::fusion {

namespace {

constexpr int kMaxSelections = 4;  ///< slices of a chain that is computed as nested selections

/// How many slices were written, one over the other, by the time a value is made; and in the
/// longest chain that goes through it.
class ChainLengths {
 public:
  explicit ChainLengths(const FusionPlan& plan) : lengths_(plan.values.size(), 0) {
    const std::vector<Node>& nodes = plan.graph().nodes;
    for (const Node& node : nodes) {
      if (is_link(plan, node))
        lengths_[node.results.front()] = 1 + lengths_[operand_value(node, "self")];
    }
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if (!is_link(plan, *node)) continue;
      int& below = lengths_[operand_value(*node, "self")];
      if (below > 0) below = std::max(below, lengths_[node->results.front()]);
    }
  }

  int of(ValueId value) const { return lengths_[value]; }

 private:
  static bool is_link(const FusionPlan& plan, const Node& node) {
    return node.op == "prim.scatter_slice" && plan.values[node.results.front()].role == Role::root;
  }

  std::vector<int> lengths_;
};

class Overwriter {
 public:
  explicit Overwriter(FusionPlan& plan) : plan_(plan) {}

  void run() {
    find_links();
    if (links_.empty()) return;
    for (std::int32_t writer : links_) plan_.roots[writer].over = changed_by(writer);
    find_accesses(plan_);
    std::vector<std::int32_t> mixed;
    std::ranges::copy_if(links_, std::back_inserter(mixed),
                         [&](std::int32_t w) { return reads_others(w); });
    if (compute_beforehand(plan_, mixed)) find_accesses(plan_);
    const LastReaders last = last_readers(plan_);
    for (std::int32_t writer : links_) {
      const auto reader = last.of.find(changed_by(writer));
      const bool read_later = reader != last.of.end() && reader->second > plan_.roots[writer].node;
      if (read_later || reads_others(writer)) plan_.roots[writer].over = kNoValue;
    }
    share_memory();
    find_accesses(plan_);
  }

 private:
  ValueId changed_by(std::int32_t writer) const {
    return operand_value(plan_.node_of(plan_.roots[writer]), "self");
  }
  ValueId made_by(std::int32_t writer) const {
    return plan_.node_of(plan_.roots[writer]).results.front();
  }

  /// The scatters that may write over what they change: of several that change one content the
  /// last.
  void find_links() {
    std::map<ValueId, std::int32_t> writers;  // by what they change
    for (std::size_t r = 0; r < plan_.roots.size(); ++r) {
      const Root& root = plan_.roots[r];
      const bool scatters =
          root.group >= 0 && root.kind == RootKind::scatter && root.over == kNoValue;
      if (!scatters) continue;
      const auto number = static_cast<std::int32_t>(r);
      if (!is_own_memory(changed_by(number)) || plan_.values[made_by(number)].window) continue;
      std::int32_t& writer = writers.try_emplace(changed_by(number), number).first->second;
      if (plan_.roots[writer].node < root.node) writer = number;
    }
    for (const auto& [content, writer] : writers) links_.push_back(writer);
    std::ranges::sort(links_, {}, [&](std::int32_t writer) { return plan_.roots[writer].node; });
  }

  /// Whether a kernel of ours computes the value, whose memory is still to be chosen.
  bool is_own_memory(ValueId value) const {
    const ValuePlan& facts = plan_.values[value];
    if (facts.role != Role::root || facts.window || facts.output >= 0) return false;
    const RootKind kind = plan_.roots[facts.root].kind;
    return kind == RootKind::pointwise || kind == RootKind::reduction || kind == RootKind::join ||
           kind == RootKind::scatter;
  }

  /// Whether the writer reads another element of what it changes than the one that it writes at the
  /// time.
  bool reads_others(std::int32_t writer) const {
    const Root& root = plan_.roots[writer];
    const Node& node = plan_.node_of(root);
    const bool slice = node.op == "prim.scatter_slice";
    const Sizes start = size_list(node, "start"), step = size_list(node, "step");
    return std::ranges::any_of(root.accesses, [&](const Access& access) {
      if (access.value != root.over) return false;
      const Index own = domain_variables(access.index.size());
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (!slice || access.index[i] != start[i] + own[i] * step[i]) return true;
      }
      return false;
    });
  }

  /// Gives all contents of a chain the memory of its last.
  void share_memory() {
    for (auto writer = links_.rbegin(); writer != links_.rend(); ++writer) {
      if (plan_.roots[*writer].over == kNoValue) continue;
      allocate(plan_, made_by(*writer));
      ValuePlan& changed = plan_.values[changed_by(*writer)];
      changed.window = plan_.values[made_by(*writer)].window;
      changed.needed = plan_.values[made_by(*writer)].needed = true;
    }
  }

  FusionPlan& plan_;
  std::vector<std::int32_t> links_;  ///< roots, in node order
};

}  // namespace

void write_chains(FusionPlan& plan) {
  const ChainLengths lengths(plan);
  std::vector<bool> put_back(plan.values.size(), false);  // into an input
  for (const Root& root : plan.roots) {
    if (root.kind == RootKind::copy)
      put_back[plan.base_of(operand_value(plan.node_of(root), "src"))] = true;
  }
  for (auto root = plan.roots.rbegin(); root != plan.roots.rend(); ++root) {
    const Node& node = plan.node_of(*root);
    if (node.op != "prim.scatter_slice") continue;
    const ValueId made = node.results.front(), changed = operand_value(node, "self");
    const int length = lengths.of(made);
    if (put_back[made]) put_back[changed] = true;
    if (length > kMaxSelections || (length > 1 && put_back[made])) root->kind = RootKind::scatter;
  }
}

void overwrite_chains(FusionPlan& plan) {
  Overwriter(plan).run();
}

}  // namespace penstock::fusion
