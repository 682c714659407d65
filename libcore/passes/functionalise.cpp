// Turning writes into values.
//
// Every value is a window on one memory: the value that made the memory (a root), or a view of
// another window. A root's memory has a version, which grows with every write. A window remembers
// the version that its newest content belongs to; when it is read at an older one, its view is
// taken again from its parent's newest content. A write to a window gives it new content, and walks
// up to the root: each parent's new content is its old content with the window replaced (a
// scatter_slice where the window is a region of it, whatever views lie between; a reshape back
// where dims were regrouped). What is left to do at the end is one copy_ into every input whose
// memory was written. Each read and write costs the length of its chain of views, which programs
// keep short, and makes one node for the memory.
#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ops/op.h"
#include "passes/core_passes.h"
#include "passes/region.h"
#include "passes/rewrite.h"
#include "passes/view_writes.h"

namespace penstock::passes {

namespace {

/// What is known of one value of the graph.
struct Window {
  ValueId root =
      kNoValue;  ///< the value that made the memory; kNoValue: not seen yet, itself a root
  ValueId parent = kNoValue;  ///< what it is a view of; kNoValue for a root
  std::int32_t view = -1;     ///< the old node that takes the view
  std::int32_t result = 0;    ///< which of its results it is
  std::int32_t version = 0;   ///< of the root's memory that `content` belongs to
  ValueId content = kNoValue;
};

class Functionalisation {
 public:
  explicit Functionalisation(Graph graph) : rewrite_(std::move(graph)) {
    windows_.resize(rewrite_.graph().values.size());
    versions_.resize(windows_.size(), 0);
    for (ValueId id = 0; id < windows_.size(); ++id) windows_[id].root = windows_[id].content = id;
    join_inputs();
  }

  Result<Graph> run() {
    const std::vector<Node>& nodes = rewrite_.old_nodes();
    for (std::size_t i = 0; i < nodes.size() && !rewrite_.failed(); ++i) {
      rewrite_.set_call(nodes[i].call);
      visit(nodes[i], static_cast<std::int32_t>(i));
    }
    if (!rewrite_.failed()) finish_outputs();
    return rewrite_.finish();
  }

 private:
  /// Inputs that are the same memory seen the same way are one where it is written; others that
  /// overlap are refused then. Where it is not written every input stands for itself: another call
  /// may pass other memory.
  void join_inputs() {
    const Interface& interface = rewrite_.graph().interface;
    const std::unordered_set<std::int32_t> written = written_storages();
    for (ValueId id = 0; id < interface.inputs.size(); ++id) {
      const TensorType& type = interface.inputs[id].type;
      if (type.storage < 0 || !written.contains(type.storage)) continue;
      auto [found, is_new] = storages_.try_emplace(type.storage, id);
      if (is_new) continue;
      const TensorType& first = interface.inputs[found->second].type;
      bool same = first.sizes == type.sizes && first.strides == type.strides &&
                  first.storage_offset == type.storage_offset && first.dtype == type.dtype;
      if (same)
        windows_[id] = windows_[found->second];
      else
        overlapping_.push_back({found->second, id});
    }
  }

  /// The memories of inputs that a copy_ goes to, through whatever views.
  std::unordered_set<std::int32_t> written_storages() const {
    const Interface& interface = rewrite_.graph().interface;
    std::unordered_set<std::int32_t> written;
    std::vector<ValueId> base(windows_.size());
    std::iota(base.begin(), base.end(), ValueId{0});
    for (const Node& node : rewrite_.old_nodes()) {
      const auto* self =
          node.args.empty() ? nullptr : node.args.front().value.as<Argument::Value>();
      const ops::OpFacts* op = ops::find_op(node.op);
      for (ValueId result : node.results) {
        const bool view = op != nullptr && op->has(ops::kView) && self != nullptr;
        const ValueId seen = view            ? self->id
                             : op != nullptr ? kNoValue
                                             : sharing_argument(rewrite_, node, result);
        if (seen != kNoValue) base[result] = base[seen];
      }
      const ValueId root = self != nullptr ? base[self->id] : kNoValue;
      if (node.op == "prim.copy_" && root < interface.inputs.size()) {
        written.insert(interface.inputs[root].type.storage);
      }
    }
    return written;
  }

  void visit(const Node& node, std::int32_t position) {
    if (node.op == "prim.copy_") return visit_write(node);
    const ops::OpFacts* op = ops::find_op(node.op);
    if (op != nullptr && op->has(ops::kMutates))
      return fail(node, "writes its argument, and was not taken apart");
    const std::vector<ValueId> bases = memory_of_results(rewrite_, node);
    Node now = with_contents(node);
    for (std::size_t i = 0; i < bases.size(); ++i) {
      if (bases[i] == kNoValue) continue;
      const ValueId root = windows_[bases[i]].root, made = node.results[i];
      windows_[made] = {root, bases[i], position, static_cast<std::int32_t>(i), versions_[root],
                        made};
    }
    rewrite_.keep(std::move(now));
  }

  Node with_contents(const Node& node) {
    Node now = node;
    for (NamedArgument& argument : now.args) {
      map_values(argument.value, [&](ValueId id) { return read(id); });
    }
    return now;
  }

  /// The value that holds what `id` shows now.
  ValueId read(ValueId id) {
    Window& window = windows_[id];
    if (window.version == versions_[window.root]) return window.content;
    if (window.parent == kNoValue) {
      // A second input of the same memory follows the first.
      window.content = windows_[window.root].content;
    } else {
      take_again(id);
    }
    windows_[id].version = versions_[windows_[id].root];
    return windows_[id].content;
  }

  /// Takes the view `id` of its parent's newest content, and with it the other results of the same
  /// op.
  void take_again(ValueId id) {
    const Window window = windows_[id];
    const Node& old = rewrite_.old_nodes()[window.view];
    std::vector<NamedArgument> args = old.args;
    const ValueId parent = read(window.parent);
    for (NamedArgument& argument : args) {
      map_values(argument.value,
                 [&](ValueId value) { return value == window.parent ? parent : value; });
    }
    std::vector<ValueId> made;
    if (ops::find_op(old.op) != nullptr) {
      made = rewrite_.emit(old.op, std::move(args));
    } else {
      std::vector<TensorType> types;
      for (ValueId result : old.results) types.push_back(rewrite_.type(result));
      made = rewrite_.emit_as(old.op, std::move(args), std::move(types));
    }
    for (std::size_t i = 0; i < made.size() && i < old.results.size(); ++i) {
      Window& sibling = windows_[old.results[i]];
      if (sibling.view != window.view || sibling.parent != window.parent ||
          sibling.version == versions_[window.root])
        continue;
      sibling.content = made[i];
      sibling.version = versions_[window.root];
    }
  }

  void visit_write(const Node& node) {
    ValueId id = operand_value(node, "self");
    const ValueId source = operand_value(node, "src");
    if (id == kNoValue || source == kNoValue)
      return fail(node, "writes something that is no tensor");
    ValueId content = read(source), root = windows_[id].root;
    for (auto [a, b] : overlapping_) {
      if (a == root || b == root) return fail(node, "writes an input that overlaps another one");
    }
    while (windows_[id].parent != kNoValue) {
      pending_.emplace_back(id, content);
      if (const auto shown = shown_region(id); shown.region) {
        content = written_region(*shown.region, shown.memory, content);
        id = shown.memory;
      } else {
        const Window window = windows_[id];
        content =
            written_through(rewrite_, rewrite_.old_nodes()[window.view],
                            static_cast<std::size_t>(window.result), read(window.parent), content);
        id = window.parent;
      }
      if (rewrite_.failed()) return;
    }
    pending_.emplace_back(id, content);
    if (id != root) pending_.emplace_back(root, content);
    std::int32_t version = ++versions_[root];
    for (auto [window, value] : pending_) {
      windows_[window].content = value;
      windows_[window].version = version;
    }
    pending_.clear();
  }

  /// A window that others are views of, and what of it the last view shows.
  struct Shown {
    ValueId memory = kNoValue;
    std::optional<Region> region;
  };

  /// What the window `id` shows of the farthest window that it is a region of. What lies between
  /// needs no new content: it is taken again when somebody reads it.
  Shown shown_region(ValueId id) const {
    std::vector<ValueId> chain;  // from `id` up
    for (ValueId at = id; windows_[at].parent != kNoValue && is_regular(at);
         at = windows_[at].parent)
      chain.push_back(at);
    if (chain.empty()) return {};
    const Shown shown = shown_through(chain);
    return shown.region ? shown : shown_through({id});
  }

  /// What the first window of `chain` shows of the parent of its last.
  Shown shown_through(const std::vector<ValueId>& chain) const {
    Shown shown{windows_[chain.back()].parent, {}};
    shown.region = whole_region(rewrite_.type(shown.memory));
    for (auto at = chain.rbegin(); at != chain.rend() && shown.region; ++at) {
      shown.region = narrowed(std::move(*shown.region), rewrite_.old_nodes()[windows_[*at].view],
                              rewrite_.type(windows_[*at].parent), rewrite_.type(*at));
    }
    return shown;
  }

  /// Whether the window shows a region of its parent.
  bool is_regular(ValueId id) const { return shown_through({id}).region.has_value(); }

  /// The content of `memory` after `content` was written into a region of it.
  ValueId written_region(const Region& region, ValueId memory, ValueId content) {
    // The dim that a view of nothing was cut off may be none of the memory's.
    if (element_count(rewrite_.type(content).sizes) == SymExpr(0)) return read(memory);
    const std::vector<std::int64_t> order = order_in(region);
    const std::vector<SymExpr> sizes = sizes_in(region, rewrite_.type(content).sizes);
    const bool whole = covers(region, rewrite_.type(content).sizes, rewrite_.type(memory));
    if (!std::ranges::is_sorted(order)) {
      content = rewrite_.emit_one(
          "prim.permute", {arg("self", Argument::Value{content}), arg("dims", list_of(order))});
    }
    if (rewrite_.failed()) return memory;
    if (rewrite_.type(content).sizes != sizes) content = reshape(content, sizes);
    if (whole || rewrite_.failed()) return content;
    return rewrite_.emit_one(
        "prim.scatter_slice",
        {arg("self", Argument::Value{read(memory)}), arg("src", Argument::Value{content}),
         arg("start", list_of(region.start)), arg("step", list_of(region.step))});
  }

  ValueId reshape(ValueId content, const std::vector<SymExpr>& sizes) {
    return rewrite_.emit_one("prim.reshape",
                             {arg("self", Argument::Value{content}), arg("size", list_of(sizes))});
  }

  /// Outputs become what their windows show at the end; aliases are recorded; inputs are written.
  void finish_outputs() {
    Graph& graph = rewrite_.graph();
    std::size_t inputs = graph.interface.inputs.size();
    std::unordered_map<ValueId, std::int32_t> first_output;  // by root
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      ValueId id = graph.outputs[i], root = windows_[id].root;
      OutputAlias& alias = graph.interface.outputs[i].alias;
      auto [first, is_new] = first_output.try_emplace(root, static_cast<std::int32_t>(i));
      if (root < inputs)
        alias = {OutputAlias::Kind::input, static_cast<std::int32_t>(root)};
      else if (!is_new)
        alias = {OutputAlias::Kind::output, first->second};
      else
        alias = {};
      graph.outputs[i] = read(id);
    }
    for (ValueId input = 0; input < inputs && !rewrite_.failed(); ++input) {
      if (versions_[input] > 0 && windows_[input].root == input) write_input(input);
    }
  }

  void write_input(ValueId input) {
    Graph& graph = rewrite_.graph();
    ValueId content = read(input);
    auto number = static_cast<std::int32_t>(input);
    auto& mutations = graph.interface.mutations;
    bool known = std::any_of(mutations.begin(), mutations.end(),
                             [&](const Mutation& m) { return m.input == number; });
    if (!known) {
      mutations.push_back({number, static_cast<std::int32_t>(graph.outputs.size())});
      graph.outputs.push_back(content);
      TensorType type = graph.interface.inputs[input].type;
      graph.interface.outputs.push_back({std::move(type), {OutputAlias::Kind::input, number}, {}});
    }
    rewrite_.set_call(-1);
    rewrite_.emit("prim.copy_",
                  {arg("self", Argument::Value{input}), arg("src", Argument::Value{content})});
  }

  void fail(const Node& node, std::string_view message) {
    rewrite_.fail({Code::PS0602,
                   node.op + " " + std::string(message),
                   std::nullopt,
                   {},
                   {},
                   Severity::error});
  }

  Rewrite rewrite_;
  std::vector<Window> windows_;         ///< by value of the graph as it came in
  std::vector<std::int32_t> versions_;  ///< by root
  std::vector<std::pair<ValueId, ValueId>> pending_;
  std::unordered_map<std::int32_t, ValueId> storages_;
  std::vector<std::pair<ValueId, ValueId>> overlapping_;
};

}  // namespace

Result<Graph> functionalise(Graph graph) {
  return Functionalisation(std::move(graph)).run();
}

}  // namespace penstock::passes
