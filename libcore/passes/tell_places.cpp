// as_strided counts places in memory, not elements of its argument. What the compiler computes may
// lie elsewhere than torch's result does, so such a view is told in elements: those of the value
// that owns the memory, in the order in which torch has them there, as a row of one dim. A place in
// memory is an index into that row, wherever the elements really are; and what is written through
// the view is written into the row (view_writes.cpp).
#include <algorithm>
#include <numeric>

#include "ops/op.h"
#include "ops/rules/inference.h"
#include "passes/core_passes.h"
#include "passes/rewrite.h"

namespace penstock::passes {

namespace {

using ops::OpId;

constexpr std::string_view kScatter = "aten.as_strided_scatter.default";

bool counts_places(const Node& node) {
  return node.op == ops::facts(OpId::as_strided_default).name ||
         node.op == "aten.as_strided_copy.default" || node.op == kScatter;
}

class MemoryRows {
 public:
  explicit MemoryRows(Graph graph)
      : rewrite_(std::move(graph)), roots_(rewrite_.graph().values.size()) {
    std::iota(roots_.begin(), roots_.end(), ValueId{0});
  }

  Result<Graph> run() {
    for (const Node& old : rewrite_.old_nodes()) {
      rewrite_.set_call(old.call);
      Node node = rewrite_.current(old);
      note_roots(node);
      if (counts_places(node))
        tell_in_elements(std::move(node));
      else
        rewrite_.keep(std::move(node));
      if (rewrite_.failed()) break;
    }
    return rewrite_.finish();
  }

 private:
  void note_roots(const Node& node) {
    const std::vector<ValueId> bases = memory_of_results(rewrite_, node);
    for (std::size_t made = roots_.size(); made < rewrite_.graph().values.size(); ++made)
      roots_.push_back(static_cast<ValueId>(made));
    for (std::size_t i = 0; i < bases.size(); ++i) {
      const ValueId result = node.results[i];
      roots_[result] = bases[i] == kNoValue ? result : roots_[bases[i]];
    }
  }

  void tell_in_elements(Node node) {
    const ValueId self = operand_value(node, "self");
    if (self == kNoValue) return rewrite_.keep(std::move(node));
    // A scatter writes a copy of its argument alone.
    const bool scatters = node.op == kScatter;
    const ValueId owner = scatters ? self : roots_[self];
    ops::Inference in(ops::facts(OpId::as_strided_default), node, rewrite_.graph(),
                      rewrite_.shapes());
    const TensorType type = rewrite_.type(owner);
    const SymExpr first = in.integer("storage_offset", rewrite_.type(self).storage_offset);
    if (!ops::is_dense(in, type) || !lies_within(in, first - type.storage_offset, type)) {
      // An input's memory is torch's own, and may be more than its elements.
      if (scatters || owner < rewrite_.graph().interface.inputs.size())
        return rewrite_.keep(std::move(node));
      return rewrite_.fail({Code::PS0602,
                            node.op + " looks at memory beside the elements of what owns it",
                            std::nullopt,
                            {},
                            {},
                            Severity::error});
    }
    const std::vector<std::int64_t> order = order_in_memory(in, type);
    set_argument(node, "self", Argument::Value{row_of(owner, order)});
    set_argument(node, "storage_offset", integer(first));
    scatters ? scatter(node, type, order) : rewrite_.keep(std::move(node));
  }

  /// Whether the view's places, `first` being the first, are all those of elements of `owner`.
  static bool lies_within(ops::Inference& in, const SymExpr& first, const TensorType& owner) {
    const std::vector<SymExpr> sizes = in.integers("size"), strides = in.integers("stride");
    if (in.failed() || sizes.size() != strides.size() || in.less(first, SymExpr(0))) return false;
    SymExpr last = first;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (in.is_zero(sizes[i])) return !in.failed();
      last += (sizes[i] - SymExpr(1)) * strides[i];
    }
    return in.less(last, element_count(owner.sizes)) && !in.failed();
  }

  /// The dims of a dense tensor from the slowest to the fastest.
  static std::vector<std::int64_t> order_in_memory(ops::Inference& in, const TensorType& type) {
    std::vector<std::int64_t> order(type.rank());
    std::iota(order.begin(), order.end(), 0);
    if (is_contiguous(type)) return order;
    const auto moves = std::ranges::stable_partition(
        order, [&](std::int64_t dim) { return in.is_one(type.sizes[dim]); });
    std::ranges::stable_sort(moves, [&](std::int64_t a, std::int64_t b) {
      return in.less(type.strides[b], type.strides[a]);
    });
    return order;
  }

  ValueId row_of(ValueId owner, const std::vector<std::int64_t>& order) {
    ValueId row = owner;
    if (!std::ranges::is_sorted(order)) {
      row = rewrite_.emit_one("aten.permute.default",
                              {arg("self", Argument::Value{row}), arg("dims", list_of(order))});
    }
    const TensorType& type = rewrite_.type(row);
    if (type.rank() == 1) return row;
    const std::vector<SymExpr> all = {element_count(type.sizes)};
    return rewrite_.emit_one("aten.view.default",
                             {arg("self", Argument::Value{row}), arg("size", list_of(all))});
  }

  /// What the scatter `node` makes of a row, as a tensor of `type` whose dims lie in `order`.
  void scatter(const Node& node, const TensorType& type, const std::vector<std::int64_t>& order) {
    TensorType row = type;
    row.sizes = {element_count(type.sizes)};
    row.strides = {SymExpr(1)};
    row.storage = -1;
    ValueId made = rewrite_.emit_as(node.op, node.args, {std::move(row)}).front();
    std::vector<SymExpr> sizes;
    std::vector<std::int64_t> back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      sizes.push_back(type.sizes[order[i]]);
      back[order[i]] = static_cast<std::int64_t>(i);
    }
    made = rewrite_.emit_one("aten.view.default",
                             {arg("self", Argument::Value{made}), arg("size", list_of(sizes))});
    made = rewrite_.emit_one("aten.permute.default",
                             {arg("self", Argument::Value{made}), arg("dims", list_of(back))});
    rewrite_.replace(node.results.front(), made);
  }

  static Argument integer(const SymExpr& value) {
    if (auto plain = value.constant()) return *plain;
    return value;
  }

  Rewrite rewrite_;
  std::vector<ValueId> roots_;  ///< by value: the one that owns its memory
};

}  // namespace

Result<Graph> tell_places(Graph graph) {
  if (std::ranges::none_of(graph.nodes, counts_places)) return graph;
  return MemoryRows(std::move(graph)).run();
}

}  // namespace penstock::passes
