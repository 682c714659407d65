#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace penstock::cut {

/// What a joint graph is to its cut.
struct JointFacts {
  std::vector<std::int32_t> maker;  ///< by value: the node that makes it; -1: an input
  std::vector<ValueId> root;        ///< by value: the value whose memory it may show
  std::vector<bool> backward;       ///< by node: it depends on a tangent, or on what is read again
  std::vector<bool> forward;        ///< by node: outputs, writes, checks or random draws need it
  std::vector<bool> demanded;       ///< by value: backward nodes or gradients read it
  /// By node: the activation checkpoint that it was recorded in, which runs again in backward on
  /// what the program's memory holds then; -1: none.
  std::vector<std::int32_t> checkpoint;
  std::vector<std::int32_t> output;  ///< by value: an output of the program's that it is; -1: none
  std::vector<bool> visible;         ///< by root: the program may change its memory
  /// By value: numbers that are inputs, and inputs and outputs that backward may read although the
  /// program may change them: the derivatives' formulas do so in the joint graph.
  std::vector<bool> shared;

  /// What is computed again reads no memory that the program may have changed since: where it would
  /// read what is shared, it reads a copy. Copies are numbered behind the values; what else is said
  /// by value is said of them too.
  std::vector<ValueId> copied;  ///< by copy: what it is a copy of
  std::vector<ValueId> copy;    ///< by value: its copy; kNoValue: none
  /// By value: what it shows of memory that is read in place, itself or by views; kNoValue:
  /// nothing. A view's copy is the same view of its base's.
  std::vector<ValueId> base;
  /// By value and copy: the node that gives it where that is computed again; -1: none does.
  std::vector<std::int32_t> remade_by;

  /// How many values and copies there are.
  std::size_t count() const { return root.size(); }
  /// The value of the joint graph that a value or copy shows.
  ValueId original(ValueId id) const { return id < copy.size() ? id : copied[id - copy.size()]; }
  bool is_view_of_copy(ValueId id) const {
    return id >= copy.size() && base[original(id)] != original(id);
  }
};
JointFacts joint_facts(const Graph& joint);

/// How many outputs a joint graph has without its gradients.
std::size_t own_outputs(const Interface& joint);

/// Whether a node's result shows the memory of its operand.
bool shows_operand(const Node& node);

/// Calls `visit(ValueId)` for every value that the node reads.
template <class Visit>
void for_each_operand(const Node& node, const Visit& visit) {
  for (const NamedArgument& argument : node.args) for_each_value(argument.value, visit);
}

/// What `id` is to a node that reads or makes it in backward: a node of forward's that is computed
/// again knows its copy, but views, checkpoints and the derivatives' formulas the value itself.
inline ValueId in_backward(const Graph& joint, const JointFacts& facts, std::size_t node,
                           ValueId id) {
  const bool again =
      facts.forward[node] && facts.checkpoint[node] < 0 && !shows_operand(joint.nodes[node]);
  return again && facts.copy[id] != kNoValue ? facts.copy[id] : id;
}

/// Whether the node is of a checkpoint that made the memory of the value `id`.
bool reads_own_memory(const JointFacts& facts, std::size_t node, ValueId id);

/// Calls `visit(node)` for the views by which a value shows its base.
template <class Visit>
void for_each_view(const Graph& joint, const JointFacts& facts, ValueId id, const Visit& visit) {
  while (facts.base[id] != id) {
    const auto view = static_cast<std::size_t>(facts.maker[id]);
    visit(view);
    id = operand_value(joint.nodes[view], "self");
  }
}

/// Calls `visit(ValueId)` for what the node reads in backward: values, or copies of them. Of a view
/// of a copy that is the base's copy, and the sizes that the views are made with.
template <class Visit>
void for_each_read(const Graph& joint, const JointFacts& facts, std::size_t node,
                   const Visit& visit) {
  for_each_operand(joint.nodes[node], [&](ValueId id) {
    if (in_backward(joint, facts, node, id) == id) return visit(id);
    visit(facts.copy[facts.base[id]]);
    for_each_view(joint, facts, id, [&](std::size_t view) {
      const ValueId shown = operand_value(joint.nodes[view], "self");
      for_each_operand(joint.nodes[view], [&](ValueId other) {
        if (other != shown) visit(other);
      });
    });
  });
}

/// Prices in picoseconds.
struct Prices {
  std::vector<double> recompute;  ///< by node; kNever: not at any price
  std::vector<double> save;       ///< by value and copy: to keep it for backward and read it there
  std::vector<double> bytes;      ///< by value and copy: memory held only for backward
};
inline constexpr double kNever = -1;
/// Of a number that a node of forward makes: no tensor holds it.
inline constexpr double kNoTensor = 1e12;
/// Of a view of memory that backward reads in place: a copy would not show what is written there.
inline constexpr double kNoCopy = 1e12;
Prices prices(const Graph& joint, const JointFacts& facts);

/// A choice of what is computed again.
struct Choice {
  std::vector<bool> recomputed;  ///< by node
  std::vector<bool> kept;        ///< by value and copy: handed to backward
};

/// The cheapest choices for all prices of memory.
///
/// By node and by value one vertex each, on the sink's side where backward computes the node, or
/// has the value. source -> node at the price of computing it again; node -> its result at the
/// price of saving that; a value -> its user for nothing, never cut: who is computed again needs
/// what it reads; a value -> sink, never cut, where backward reads it. Sets of recomputed nodes
/// only grow with the price of a byte.
class CutModel {
 public:
  CutModel(const Graph& joint, const JointFacts& facts, const Prices& prices)
      : joint_(joint), facts_(facts), prices_(prices) {}

  Choice at_price(double byte_price) const;
  /// The fastest choice that keeps at most `bytes`, or else the one that keeps the least. Between
  /// two neighbours of the curve those of their independent differences that cost the least time a
  /// byte.
  Choice within(double bytes) const;

  double bytes(const Choice& choice) const;
  double picoseconds(const Choice& choice) const;

 private:
  Choice between(const Choice& roomy, const Choice& small, double bytes) const;

  const Graph& joint_;
  const JointFacts& facts_;
  const Prices& prices_;
};

}  // namespace penstock::cut
