// Copies of images
//
// A GPU's library convolves images and weights that lie channels-last. What is computed on the way
// to a convolution is computed so (lay_out_images.cpp); what lies otherwise already, an input of
// the program or what torch's own kernel makes, is copied in front of it: permuted to channels
// last, cloned, and permuted back. Of a parameter that is done once (prepare_parameters.cpp).
//
// Needs: a placed graph of a GPU. Leaves: operands of the library's convolutions that lie
// channels-last or are computed by kernels.
#include <map>

#include "fusion/device_call.h"
#include "fusion/rewrite.h"
#include "ir/device.h"
#include "ops/op.h"
#include "partition/placement.h"
#include "partition/value_lists.h"

namespace penstock::fusion {

namespace {

class ImageCopier {
 public:
  explicit ImageCopier(PlacedGraph& placed)
      : placed_(placed), graph_(placed.graph), lies_(graph_.values.size(), true) {
    for (const Region& region : placed.regions) {
      for (std::int32_t i = region.first; i < region.last; ++i) note(region, node(i));
    }
  }

  void run() {
    std::vector<Region> regions;
    for (const Region& region : placed_.regions) {
      const std::int32_t before = count();
      if (is_convolution(region)) {
        for (const char* name : {"input", "weight"}) copy(node(region.first), name);
      }
      if (count() > before) regions.push_back({Placement::compiled, before, count(), {}, {}, {}});
      const std::int32_t first = count();
      for (std::int32_t i = region.first; i < region.last; ++i)
        nodes_.push_back(std::move(node(i)));
      regions.push_back({region.placement, first, count(), {}, {}, region.reason});
    }
    graph_.nodes = std::move(nodes_);
    if (copies_.empty()) return;
    partition::fill_value_lists(graph_, regions);
    placed_.regions = std::move(regions);
  }

 private:
  Node& node(std::int32_t position) { return graph_.nodes[static_cast<std::size_t>(position)]; }
  std::int32_t count() const { return static_cast<std::int32_t>(nodes_.size()); }

  bool is_convolution(const Region& region) {
    return region.placement == Placement::library &&
           partition::library_call_of(node(region.first).op) == "convolution";
  }

  /// Whose memory is not ours to lay out: inputs, results of torch's, views of either.
  void note(const Region& region, const Node& node) {
    const ops::OpFacts* op = ops::find_op(node.op);
    const bool views = op != nullptr && op->is_prim() && op->has(ops::kView);
    const ValueId self = views ? operand_value(node, "self") : kNoValue;
    const bool lies = self != kNoValue ? lies_[static_cast<std::size_t>(self)]
                                       : region.placement == Placement::fallback;
    for (ValueId id : node.results) lies_[static_cast<std::size_t>(id)] = lies;
  }

  void copy(Node& convolution, std::string_view name) {
    const ValueId operand = operand_value(convolution, name);
    const TensorType type = graph_.values[operand].type;
    if (!lies_[static_cast<std::size_t>(operand)] || lies_channels_last(type.sizes, type.strides))
      return;
    auto [known, fresh] = copies_.try_emplace(operand, kNoValue);
    if (fresh) {
      const ValueId turned = permuted(operand, {0, 2, 3, 1}, convolution.call);
      TensorType dense = graph_.values[turned].type;
      dense.strides = contiguous_strides(dense.sizes);
      dense.storage_offset = 0;
      dense.storage = -1;
      const ValueId own = add("prim.clone", {{"self", Argument::Value{turned}}}, std::move(dense),
                              convolution.call);
      known->second = permuted(own, {0, 3, 1, 2}, convolution.call);
    }
    set_argument(convolution, name, Argument::Value{known->second});
  }

  ValueId permuted(ValueId value, const std::vector<std::size_t>& dims, std::int32_t call) {
    const TensorType from = graph_.values[value].type;
    TensorType type = from;
    Argument::Sequence list{Argument::Sequence::Kind::list, {}};
    for (std::size_t i = 0; i < dims.size(); ++i) {
      type.sizes[i] = from.sizes[dims[i]];
      type.strides[i] = from.strides[dims[i]];
      list.items.push_back(static_cast<std::int64_t>(dims[i]));
    }
    return add("prim.permute", {{"self", Argument::Value{value}}, {"dims", std::move(list)}},
               std::move(type), call);
  }

  ValueId add(std::string op, std::vector<NamedArgument> args, TensorType type, std::int32_t call) {
    const ValueId made = add_value(graph_, "image", std::move(type));
    nodes_.push_back({std::move(op), std::move(args), {made}, call});
    return made;
  }

  PlacedGraph& placed_;
  Graph& graph_;
  std::vector<bool> lies_;  ///< by value that was there before
  std::vector<Node> nodes_;
  std::map<ValueId, ValueId> copies_;
};

}  // namespace

void copy_images(PlacedGraph& placed) {
  if (is_gpu(device_of(placed.graph).value_or("cpu"))) ImageCopier(placed).run();
}

}  // namespace penstock::fusion
