// What saving a value and computing it again cost, in picoseconds of one machine. Only the ratios
// decide, and only where both sides are near each other: a product against a pass over memory is
// never a close call.
#include <algorithm>
#include <unordered_set>

#include "cut/model.h"
#include "fusion/cost.h"
#include "ir/checkpoint.h"
#include "ir/device.h"
#include "ir/size_estimate.h"
#include "ir/subgraphs.h"
#include "ops/effects.h"
#include "ops/op.h"
#include "partition/placement.h"

namespace penstock::cut {

namespace {

/// 20 GB/s, 30 G additions/s, 225 G multiplications and additions of products/s (two threads of a
/// Zen 4); convolutions of few channels reach half of that.
constexpr double kByte = 50, kAddition = 33, kProductTerm = 4.4, kConvolutionTerm = 8.8;
/// To write a copy and read it is this many passes over its bytes.
constexpr double kCopyPasses = 3;
/// Additions an element of what the library sorts or takes in windows.
constexpr double kCalled = 32;

class Pricing {
 public:
  Pricing(const Graph& joint, const JointFacts& facts)
      : joint_(joint),
        facts_(facts),
        in_memory_(joint.values.size(), false),
        called_(in_memory_),
        leaves_checkpoint_(joint.nodes.size(), false) {
    interface_ = joint.interface;
    ops::GuardingShapes shapes(interface_);
    const std::vector<std::int32_t> uses = partition::count_uses(joint);
    const std::string device = device_of(joint).value_or("cpu");
    for (const Node& node : joint.nodes)
      placements_.push_back(partition::place(joint, node, uses, shapes, device).placement);
    find_memory();
    for (const Call& call : joint.calls)
      if (is_selective(call)) selective_.insert(call.checkpoint);
    find_results_of_checkpoints();
  }

  Prices run() {
    Prices prices;
    for (std::size_t i = 0; i < joint_.nodes.size(); ++i) prices.recompute.push_back(again(i));
    for (ValueId id = 0; id < facts_.count(); ++id) {
      const ValueId shown = facts_.original(id);
      prices.save.push_back(id == shown ? save(id) : kCopyPasses * bytes(shown) * kByte);
      prices.bytes.push_back(facts_.shared[id] || joint_.values[shown].is_scalar ? 0
                                                                                 : bytes(shown));
    }
    return prices;
  }

 private:
  double elements(ValueId id) const {
    return estimate(element_count(joint_.values[id].type.sizes), joint_.interface);
  }
  double bytes(ValueId id) const {
    return elements(id) * static_cast<double>(facts(joint_.values[id].type.dtype).size);
  }

  /// Values that are in memory once forward has run: those of other kernels than pointwise ones,
  /// and those that such read.
  void find_memory() {
    for (ValueId id : joint_.outputs) in_memory_[id] = true;
    for (std::size_t i = 0; i < joint_.nodes.size(); ++i) {
      const Node& node = joint_.nodes[i];
      const bool compiled = placements_[i] == Placement::compiled;
      if (!compiled || !is_pointwise(node))
        for (ValueId result : node.results) in_memory_[result] = true;
      if (compiled) continue;
      for_each_operand(node, [&](ValueId id) {
        in_memory_[id] = true;
        if (!facts_.forward[i]) called_[id] = true;
      });
    }
  }

  /// What others than its nodes read of a checkpoint, the backward of others included, is kept: it
  /// would have to run again for them too. Of a view that is what it shows.
  void find_results_of_checkpoints() {
    std::vector<bool> read_outside(joint_.values.size(), false);
    for (std::size_t i = 0; i < joint_.nodes.size(); ++i) {
      for_each_operand(joint_.nodes[i], [&](ValueId id) {
        const std::int32_t maker = facts_.maker[id];
        if (maker >= 0 && facts_.checkpoint[maker] != facts_.checkpoint[i]) read_outside[id] = true;
      });
    }
    for (std::size_t i = joint_.nodes.size(); i-- > 0;) {
      const Node& node = joint_.nodes[i];
      const auto is_read = [&](ValueId id) { return read_outside[id]; };
      if (facts_.checkpoint[i] < 0 || std::ranges::none_of(node.results, is_read)) continue;
      const bool view = shows_operand(node);
      if (!view) leaves_checkpoint_[i] = true;
      if (view) read_outside[operand_value(node, "self")] = true;
    }
  }

  static bool is_pointwise(const Node& node) {
    const ops::OpFacts* op = ops::find_op(node.op);
    using enum ops::PrimGroup;
    return op != nullptr && (op->group == unary || op->group == binary || op->group == ternary ||
                             op->group == cast || op->group == view || op->group == create);
  }

  double save(ValueId id) const {
    const bool input = id < joint_.interface.inputs.size();
    if (joint_.values[id].is_scalar) return input ? 0 : kNoTensor;
    const double pass = bytes(id) * kByte;
    if (facts_.shared[id]) return pass;
    if (facts_.base[id] != kNoValue) return kNoCopy;
    const ValueId root = facts_.root[id];
    if (root != id || facts_.visible[root]) return kCopyPasses * pass;
    return in_memory_[id] ? pass : 2 * pass;
  }

  double again(std::size_t i) const {
    const Node& node = joint_.nodes[i];
    if (facts_.backward[i] || node.results.empty() || ops::has_effect(node) ||
        placements_[i] == Placement::fallback)
      return kNever;
    const ops::OpFacts& op = *ops::find_op(node.op);
    if (op.has(ops::kDataDependent)) return kNever;
    if (!facts_.forward[i]) return 0;                        // nobody else computes it
    if (find_control_op(node.op) != nullptr) return kNever;  // how much it runs is not known
    if (facts_.checkpoint[i] >= 0 && !selective_.contains(facts_.checkpoint[i]))
      return leaves_checkpoint_[i] ? kNever : 0;  // as the program asks for
    double sum = work(node, op);
    for (ValueId result : node.results) {
      if (called_[result]) sum += 2 * bytes(result) * kByte;
    }
    return sum;
  }

  double work(const Node& node, const ops::OpFacts& op) const {
    const double made = elements(node.results.front());
    if (ops::is_product(node.op))
      return kProductTerm * made * inner(node) + bytes(node.results.front()) * kByte;
    if (op.family == ops::OpFamily::convolution) return convolution(node);
    if (!op.is_prim()) return read(node) * kByte + read_elements(node) * kCalled * kAddition;
    const double weight =
        fusion::op_weight(std::string_view(node.op).substr(node.op.find('.') + 1));
    switch (op.group) {
      case ops::PrimGroup::view:
      case ops::PrimGroup::create:
        return 0;
      case ops::PrimGroup::unary:
      case ops::PrimGroup::binary:
      case ops::PrimGroup::ternary:
      case ops::PrimGroup::cast:
      case ops::PrimGroup::join:
        return weight * made * kAddition;
      default:
        return read(node) * kByte +
               (read_elements(node) + made) * std::max(weight, 1.0) * kAddition;
    }
  }

  double read(const Node& node) const {
    double sum = 0;
    for_each_operand(node, [&](ValueId id) { sum += bytes(id); });
    return sum;
  }
  double read_elements(const Node& node) const {
    double sum = 0;
    for_each_operand(node, [&](ValueId id) { sum += elements(id); });
    return sum;
  }

  double size(const SymExpr& expression) const { return estimate(expression, joint_.interface); }
  /// How many terms an element of a product has.
  double inner(const Node& node) const {
    for (std::string_view name : {"mat1", "batch1", "self"}) {
      const ValueId id = operand_value(node, name);
      if (id != kNoValue && !joint_.values[id].type.sizes.empty())
        return size(joint_.values[id].type.sizes.back());
    }
    return 1;
  }
  double convolution(const Node& node) const {
    const ValueId weight = operand_value(node, "weight");
    const ValueId result = node.results.front();
    const double made = elements(result);
    const bool known = weight != kNoValue && !joint_.values[weight].type.sizes.empty();
    const double taps =
        known ? elements(weight) / std::max(1.0, size(joint_.values[weight].type.sizes[0])) : 1;
    return kConvolutionTerm * made * taps + bytes(result) * kByte;
  }

  const Graph& joint_;
  const JointFacts& facts_;
  Interface interface_;  ///< takes guards that a rule may record
  std::vector<Placement> placements_;
  std::vector<bool> in_memory_;
  std::vector<bool> called_;                    ///< read in backward by what is no kernel of ours
  std::unordered_set<std::int32_t> selective_;  ///< checkpoints of which what pays is kept
  std::vector<bool> leaves_checkpoint_;  ///< by node: others than its checkpoint's read its results
};

}  // namespace

Prices prices(const Graph& joint, const JointFacts& facts) {
  return Pricing(joint, facts).run();
}

}  // namespace penstock::cut
