// Outputs as torch lays them out. A value's own layout follows from the prims that made it; where
// the program's result lay differently (channels_last, a transposed product), the elements are
// copied once in the order that the interface wants, and permuted back as a view.
#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "ops/op.h"
#include "passes/core_passes.h"
#include "passes/rewrite.h"

namespace penstock::passes {

namespace {

/// The dims from slowest to fastest by strides that are numbers.
std::vector<std::int64_t> by_stride(const TensorType& type) {
  std::vector<std::int64_t> order(type.rank());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return *type.strides[a].constant() > *type.strides[b].constant();
  });
  return order;
}

/// The same where strides are symbols, from the fastest dim out: each is as far from element to
/// element as those inside are long. Fewer dims where none of the rest is.
std::vector<std::int64_t> by_length(const TensorType& type) {
  std::vector<std::int64_t> inner, left(type.rank());
  std::iota(left.rbegin(), left.rend(), 0);
  SymExpr length(1);
  for (auto next = left.begin(); !left.empty(); left.erase(next)) {
    next = std::ranges::find_if(left, [&](std::int64_t dim) {
      return type.sizes[dim] == SymExpr(1) || type.strides[dim] == length;
    });
    if (next == left.end()) break;
    length = length * type.sizes[*next];
    inner.push_back(*next);
  }
  return {inner.rbegin(), inner.rend()};
}

}  // namespace

std::optional<std::vector<std::int64_t>> dense_order(const TensorType& type) {
  const bool numbers =
      std::ranges::all_of(type.strides, [](const SymExpr& stride) { return stride.is_constant(); });
  const std::vector<std::int64_t> order = numbers ? by_stride(type) : by_length(type);
  if (order.size() != type.rank()) return std::nullopt;
  TensorType moved = type;
  for (std::size_t i = 0; i < order.size(); ++i) {
    moved.sizes[i] = type.sizes[order[i]];
    moved.strides[i] = type.strides[order[i]];
  }
  if (!is_contiguous(moved)) return std::nullopt;
  return order;
}

namespace {

bool same_layout(const TensorType& a, const TensorType& b) {
  for (std::size_t i = 0; i < a.rank(); ++i) {
    if (a.strides[i] != b.strides[i] && a.sizes[i] != SymExpr(1)) return false;
  }
  return true;
}

class Layouts {
 public:
  explicit Layouts(Graph graph) : rewrite_(std::move(graph)) {}

  Result<Graph> run() {
    roots_.resize(rewrite_.graph().values.size());
    std::iota(roots_.begin(), roots_.end(), 0);
    shown_ = roots_;
    for (const Node& node : rewrite_.old_nodes()) {
      if (node.op == "prim.copy_") continue;  // the epilogue stays behind what is added here
      note_root(node);
      rewrite_.keep(node);
    }
    for (std::size_t i = 0; i < rewrite_.graph().outputs.size(); ++i) restore(i);
    std::vector<Node> writes;
    for (const Node& node : rewrite_.old_nodes()) {
      if (node.op == "prim.copy_") writes.push_back(node);
    }
    read_before(writes);
    for (Node& write : writes) rewrite_.keep(std::move(write));
    return rewrite_.finish();
  }

 private:
  void note_root(const Node& node) {
    const ops::OpFacts* op = ops::find_op(node.op);
    if (!op || !op->is_prim() || !op->has(ops::kView)) return;
    if (const ValueId self = operand_value(node, "self"); self != kNoValue)
      shown_[node.results.front()] = shown_[self];
    auto results = ops::infer_results(node, rewrite_.graph(), rewrite_.shapes());
    if (results && results->front().alias != kNoValue) {
      roots_[node.results.front()] = roots_[results->front().alias];
    }
  }

  /// What an input held before is read before any input is written: two that are exchanged.
  void read_before(std::vector<Node>& writes) {
    const Interface& interface = rewrite_.graph().interface;
    std::unordered_set<std::int64_t> written;  // memories
    for (const Node& write : writes) {
      const ValueId target = operand_value(write, "self");
      if (target < interface.inputs.size()) written.insert(memory_of(interface, target));
    }
    for (Node& write : writes) {
      const ValueId source = operand_value(write, "src");
      // What was added since is a copy.
      const ValueId shown = source < shown_.size() ? shown_[source] : source;
      if (shown >= interface.inputs.size() || !written.contains(memory_of(interface, shown)))
        continue;
      const ValueId kept = rewrite_.emit_one("prim.clone", {arg("self", Argument::Value{source})});
      set_argument(write, "src", Argument::Value{kept});
    }
  }

  /// An output that aliases nothing gets memory of its own, laid out as the interface says.
  void restore(std::size_t number) {
    Graph& graph = rewrite_.graph();
    const Output& output = graph.interface.outputs[number];
    if (output.alias.kind != OutputAlias::Kind::none) return;
    ValueId value = graph.outputs[number], root = roots_[value];
    TensorType made = rewrite_.type(value), wanted = output.type;
    bool taken = root < graph.interface.inputs.size() || !owned_.insert(root).second;
    bool covers = element_count(rewrite_.type(root).sizes) == element_count(made.sizes);
    bool fits = made.rank() != wanted.rank() || same_layout(made, wanted);
    if (taken || !covers || !fits) graph.outputs[number] = copy(value, wanted);
  }

  ValueId copy(ValueId value, const TensorType& wanted) {
    auto emit = [&](const char* op, std::vector<NamedArgument> more) {
      more.insert(more.begin(), arg("self", Argument::Value{value}));
      value = rewrite_.emit_one(op, std::move(more));
    };
    auto order = dense_order(wanted);
    bool natural = !order || std::is_sorted(order->begin(), order->end());
    if (natural) {
      emit("prim.clone", {});
      return value;
    }
    std::vector<std::int64_t> back(order->size());
    for (std::size_t k = 0; k < back.size(); ++k) back[(*order)[k]] = static_cast<std::int64_t>(k);
    emit("prim.permute", {arg("dims", list_of(*order))});
    emit("prim.clone", {});
    emit("prim.permute", {arg("dims", list_of(back))});
    return value;
  }

  Rewrite rewrite_;
  std::vector<ValueId> roots_;         ///< by value: the value whose memory it shares
  std::vector<ValueId> shown_;         ///< and the one whose elements it is, in whatever order
  std::unordered_set<ValueId> owned_;  ///< roots that an output has already
};

}  // namespace

Result<Graph> restore_layouts(Graph graph) {
  return Layouts(std::move(graph)).run();
}

}  // namespace penstock::passes
