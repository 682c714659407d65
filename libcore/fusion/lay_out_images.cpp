// Layout of images
//
// The library convolves channels-last images two to sixty times faster than row-major ones, and a
// copy from the one to the other costs about as much as a convolution. So the results of
// convolutions lie channels-last, and everything behind them lies in the order of what it reads:
// pointwise values, joins, pads and pools keep their operand's order of dims, views show it. Copies
// are left where the chain begins and ends: an input or output of the program lies as the program
// says. The gradient of a convolution's weight, which is permuted before it is an output, lies as
// that will. What forward saves for backward lies as it is computed, and backward goes on from
// there.
#include <algorithm>
#include <numeric>

#include "fusion/layout.h"
#include "fusion/loops.h"
#include "fusion/rewrite.h"
#include "ir/device.h"
#include "ir/size_estimate.h"
#include "ir/size_facts.h"
#include "ops/op.h"
#include "partition/placement.h"

namespace penstock::fusion {

namespace {

/// Dims from slowest to fastest.
using Order = std::vector<std::size_t>;

Sizes dense_strides(const Sizes& sizes, const Order& order) {
  Sizes strides(sizes.size(), SymExpr(1));
  SymExpr next = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= sizes[order[i]];
  }
  return strides;
}

/// Batch outermost, channels innermost.
Order channels_last(std::size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

class Layouts {
 public:
  Layouts(PlacedGraph& placed, std::size_t own_outputs)
      : placed_(placed),
        graph_(placed.graph),
        facts_(size_facts(graph_.interface)),
        windows_(graph_.values.size()),
        moved_(graph_.values.size(), false),
        is_output_(graph_.values.size(), false),
        convolved_(graph_.values.size(), false),
        readers_(graph_.values.size()) {
    for (const Node& node : graph_.nodes) {
      for (const NamedArgument& argument : node.args) {
        for_each_value(argument.value, [&](ValueId id) {
          readers_[id] = {readers_[id].count + 1, &node};
        });
      }
    }
    for (std::size_t i = 0; i < graph_.interface.inputs.size(); ++i) {
      const TensorType& type = graph_.values[i].type;
      windows_[i] = Window{kNoBuffer, type.sizes, type.strides, 0};
      moved_[i] = graph_.interface.inputs[i].kind == InputKind::saved && type.rank() > 3 &&
                  !is_contiguous(type);
    }
    for (std::size_t i = 0; i < own_outputs; ++i) is_output_[graph_.outputs[i]] = true;
    on_gpu_ = is_gpu(device_of(graph_).value_or("cpu"));
    for (const Region& region : placed.regions) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(region.first)];
      if (!on_gpu_ || region.placement != Placement::library || !convolves(node)) continue;
      convolved_[operand_value(node, "input")] = convolved_[operand_value(node, "weight")] = true;
    }
  }

  void run() {
    for (const Region& region : placed_.regions) {
      for (std::int32_t i = region.first; i < region.last; ++i) {
        visit(graph_.nodes[static_cast<std::size_t>(i)], region.placement);
      }
    }
  }

 private:
  void visit(const Node& node, Placement placement) {
    if (node.results.empty()) return;
    const ops::OpFacts* op = ops::find_op(node.op);
    if (op != nullptr && op->is_prim() && op->has(ops::kView)) return view(node);
    if (placement == Placement::library) {
      library_result(node);
    } else if (placement == Placement::fallback) {
      const bool image = on_gpu_ && convolves(node) && moved_[operand_value(node, "input")];
      if (image) follow(node.results.front(), operand_value(node, "input"));
    } else if (placement == Placement::compiled && op != nullptr && node.results.size() == 1) {
      computed_result(node, *op);
    }
    for (ValueId id : node.results) lie(id);
  }

  static bool convolves(const Node& node) {
    return partition::library_call_of(node.op) == "convolution";
  }

  /// From now on `id` is known to lie as its type says, if that is possible.
  void lie(ValueId id) {
    const TensorType& type = graph_.values[id].type;
    windows_[id] = Window{kNoBuffer, type.sizes, layout_strides(type, graph_.interface), 0};
  }

  void view(const Node& node) {
    ValueId self = operand_value(node, "self"), result = node.results.front();
    moved_[result] = moved_[self];
    if (windows_[self]) windows_[result] = view_window(graph_, node, *windows_[self], facts_);
    if (!windows_[result]) lie(result);
  }

  void library_result(const Node& node) {
    std::string_view call = partition::library_call_of(node.op);
    std::size_t rank = graph_.values[node.results.front()].type.rank();
    if (call == "convolution") {
      const Node* user = copied_permutation(node.results.front());
      give(node.results.front(), user != nullptr ? order_of(*user) : channels_last(rank));
    } else if (call.starts_with("pool")) {
      follow(node.results.front(), operand_value(node, "self"));
    }
  }

  /// The permutation of a value that is an output once it is copied into row-major order: the
  /// gradient of a convolution's weight. Null where there is none, or another reader.
  const Node* copied_permutation(ValueId value) const {
    const Node* permutation = only_reader(value);
    // Behind strides that leave elements over, the gradient is a part of the result.
    if (permutation != nullptr && permutation->op == "prim.slice")
      permutation = only_reader(permutation->results.front());
    if (permutation == nullptr || permutation->op != "prim.permute") return nullptr;
    const Node* copy = only_reader(permutation->results.front());
    const bool copies = copy != nullptr && copy->op == "prim.clone" &&
                        is_output_[copy->results.front()] &&
                        is_contiguous(graph_.values[copy->results.front()].type);
    return copies ? permutation : nullptr;
  }

  const Node* only_reader(ValueId value) const {
    return is_output_[value] || readers_[value].count != 1 ? nullptr : readers_[value].last;
  }

  /// The dims of what is permuted, so that the permutation is row-major.
  static Order order_of(const Node& permutation) {
    Order order;
    for (std::int64_t dim : integer_list(permutation, "dims"))
      order.push_back(static_cast<std::size_t>(dim));
    return order;
  }

  /// The first operand that was moved and has all dims of the result decides.
  void computed_result(const Node& node, const ops::OpFacts& op) {
    switch (op.group) {
      case ops::PrimGroup::unary:
      case ops::PrimGroup::binary:
      case ops::PrimGroup::ternary:
      case ops::PrimGroup::join:
        break;
      case ops::PrimGroup::cast:
        if (op.id == ops::OpId::prim_clone) return;  // asks for row-major memory
        break;
      case ops::PrimGroup::reduce:
        return reduced_result(node);
      default:
        return;
    }
    bool done = convolved_[node.results.front()];
    if (done) give(node.results.front(), channels_last(4));
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value,
                     [&](ValueId id) { done = done || follow(node.results.front(), id); });
    }
  }

  /// The dims of an image that a pool leaves keep their order.
  void reduced_result(const Node& node) {
    ValueId self = operand_value(node, "self"), result = node.results.front();
    if (graph_.values[result].type.rank() < 4 || !windows_[self]) return;
    std::vector<std::int64_t> dims = integer_list(node, "dims");
    Window kept{kNoBuffer, {}, {}, 0};
    for (std::size_t i = 0; i < windows_[self]->sizes.size(); ++i) {
      if (std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(i)) != dims.end()) continue;
      kept.sizes.push_back(windows_[self]->sizes[i]);
      kept.strides.push_back(windows_[self]->strides[i]);
    }
    if (moved_[self]) follow(result, kept);
  }

  bool follow(ValueId result, ValueId operand) {
    return operand != kNoValue && moved_[operand] && windows_[operand] &&
           follow(result, *windows_[operand]);
  }

  bool follow(ValueId result, const Window& window) {
    if (window.sizes.size() != graph_.values[result].type.rank()) return false;
    Order order(window.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    auto stride = [&](std::size_t dim) { return estimate(window.strides[dim], graph_.interface); };
    for (std::size_t dim : order) {
      bool repeated = window.strides[dim] == SymExpr(0) && window.sizes[dim] != SymExpr(1);
      if (repeated || stride(dim) < 0) return false;
    }
    // A dim of one element has no place of its own: it stays beside the dim before it.
    std::vector<double> key(order.size());
    for (std::size_t dim : order) {
      bool single = window.sizes[dim] == SymExpr(1);
      key[dim] = single ? (dim == 0 ? 1e300 : key[dim - 1]) : stride(dim);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return key[a] > key[b]; });
    give(result, order);
    return true;
  }

  /// An output stays as it is; what is computed from it follows where it lies so already.
  void give(ValueId id, const Order& order) {
    TensorType& type = graph_.values[id].type;
    const auto strides = dense_strides(type.sizes, order);
    if (!is_output_[id]) type.strides = strides;
    moved_[id] = type.strides == strides;
  }

  PlacedGraph& placed_;
  Graph& graph_;
  RangeFacts facts_;
  std::vector<std::optional<Window>> windows_;  ///< by value: how it is going to lie
  std::vector<bool>
      moved_;  ///< by value: lies in an order that was chosen here, or shows what does
  std::vector<bool> is_output_;
  std::vector<bool> convolved_;  ///< by value: the image or weight of a GPU's convolution
  bool on_gpu_ = false;
  struct Readers {
    int count = 0;
    const Node* last = nullptr;
  };
  std::vector<Readers> readers_;  ///< by value
};

}  // namespace

void lay_out_images(PlacedGraph& placed, std::size_t own_outputs) {
  Layouts(placed, own_outputs).run();
}

void lay_out_images(PlacedGraph& placed) {
  lay_out_images(placed, placed.graph.outputs.size());
}

}  // namespace penstock::fusion
