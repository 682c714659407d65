#include "cut/model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "cut/flow_network.h"
#include "ir/checkpoint.h"
#include "ops/effects.h"
#include "ops/op.h"

namespace penstock::cut {

bool shows_operand(const Node& node) {
  const ops::OpFacts* op = ops::find_op(node.op);
  return op != nullptr && op->has(ops::kView) && operand_value(node, "self") != kNoValue;
}

bool reads_own_memory(const JointFacts& facts, std::size_t node, ValueId id) {
  const std::int32_t maker = facts.maker[facts.root[id]];
  return maker >= 0 && facts.checkpoint[node] >= 0 &&
         facts.checkpoint[maker] == facts.checkpoint[node];
}

namespace {

void find_roots(const Graph& joint, JointFacts& facts) {
  facts.root.resize(joint.values.size());
  std::iota(facts.root.begin(), facts.root.end(), ValueId{0});
  facts.maker.assign(joint.values.size(), -1);
  for (std::size_t i = 0; i < joint.nodes.size(); ++i) {
    const Node& node = joint.nodes[i];
    const bool view = shows_operand(node);
    for (ValueId result : node.results) {
      facts.maker[result] = static_cast<std::int32_t>(i);
      if (view) facts.root[result] = facts.root[operand_value(node, "self")];
    }
    facts.checkpoint.push_back(checkpoint_of(joint, node));
  }
}

bool is_number(const Input& input) {
  using enum InputKind;
  return input.kind == size || input.kind == scalar || input.kind == generator;
}

/// The program has no hold of it.
bool is_fixed(const Input& input) {
  return input.kind == InputKind::constant && input.source == kNoSource;
}

/// Which memory the program sees, and which outputs are values that lie in memory of their own.
void find_visible(const Graph& joint, JointFacts& facts) {
  const Interface& interface = joint.interface;
  facts.output.assign(joint.values.size(), -1);
  facts.visible.assign(joint.values.size(), false);
  for (ValueId id = 0; id < interface.inputs.size(); ++id) facts.visible[id] = true;
  std::vector<bool> moved(joint.outputs.size(), false);  // into an input
  for (const Mutation& mutation : interface.mutations)
    moved[static_cast<std::size_t>(mutation.output)] = true;
  for (std::size_t i = 0; i < own_outputs(interface); ++i) {
    const ValueId value = joint.outputs[i];
    facts.visible[facts.root[value]] = true;
    if (interface.outputs[i].alias.kind == OutputAlias::Kind::none && !moved[i])
      facts.output[value] = static_cast<std::int32_t>(i);
  }
}

/// By input: whether the graph writes its memory.
std::vector<bool> written_inputs(const Interface& interface) {
  std::unordered_set<std::int64_t> memories;
  for (const Mutation& mutation : interface.mutations)
    memories.insert(memory_of(interface, static_cast<std::size_t>(mutation.input)));
  std::vector<bool> written;
  for (std::size_t i = 0; i < interface.inputs.size(); ++i)
    written.push_back(memories.contains(memory_of(interface, i)));
  return written;
}

/// What derivatives alone read of memory that the program may write is read in backward, as torch
/// reads it: what depends on that is backward's too. `depends`: by value, on tangents.
void read_again_in_backward(const Graph& joint, JointFacts& facts, std::vector<bool> depends) {
  const std::vector<bool> written = written_inputs(joint.interface);
  const auto in_place = [&](ValueId id) {
    const ValueId root = facts.root[id];
    if (root >= joint.interface.inputs.size()) return facts.output[root] >= 0;
    const Input& input = joint.interface.inputs[root];
    return !is_number(input) && !is_fixed(input) && !written[root];
  };
  for (std::size_t i = 0; i < joint.nodes.size(); ++i) {
    const Node& node = joint.nodes[i];
    if (facts.forward[i]) continue;
    const bool view = shows_operand(node);
    bool backward = facts.backward[i];
    for_each_operand(
        node, [&](ValueId id) { backward = backward || depends[id] || (!view && in_place(id)); });
    for (ValueId result : node.results) depends[result] = backward;
    facts.backward[i] = backward;
  }
}

/// What depends on tangents is backward's, what outputs depend on forward's.
void find_parts(const Graph& joint, JointFacts& facts) {
  std::vector<bool> depends(joint.values.size(), false), needed(joint.values.size(), false);
  for (const Tangent& tangent : joint.interface.training.tangents)
    depends[static_cast<std::size_t>(tangent.input)] = true;
  for (const Node& node : joint.nodes) {
    bool backward = false;
    for_each_operand(node, [&](ValueId id) { backward = backward || depends[id]; });
    for (ValueId result : node.results) depends[result] = backward;
    facts.backward.push_back(backward);
  }
  for (std::size_t i = 0; i < own_outputs(joint.interface); ++i) needed[joint.outputs[i]] = true;
  facts.forward.assign(joint.nodes.size(), false);
  for (std::size_t i = joint.nodes.size(); i-- > 0;) {
    const Node& node = joint.nodes[i];
    // What has an effect is forward's, whoever needs it.
    bool forward = !facts.backward[i] && ops::has_effect(node);
    for (ValueId result : node.results) forward = forward || needed[result];
    if (!forward) continue;
    facts.forward[i] = true;
    for_each_operand(node, [&](ValueId id) { needed[id] = true; });
  }
  read_again_in_backward(joint, facts, std::move(depends));
}

/// What backward reads, and what of that it may read where the program has it.
void find_demands(const Graph& joint, JointFacts& facts) {
  const Interface& interface = joint.interface;
  std::vector<bool> by_formula(joint.values.size(), false);  // by root
  facts.demanded.assign(joint.values.size(), false);
  for (std::size_t i = 0; i < joint.nodes.size(); ++i) {
    if (facts.forward[i] && facts.checkpoint[i] < 0) continue;
    for_each_operand(joint.nodes[i], [&](ValueId id) {
      if (facts.backward[i]) facts.demanded[id] = true;
      if (!reads_own_memory(facts, i, id)) by_formula[facts.root[id]] = true;
    });
  }
  for (std::size_t i = own_outputs(interface); i < joint.outputs.size(); ++i) {
    facts.demanded[joint.outputs[i]] = true;
    by_formula[facts.root[joint.outputs[i]]] = true;
  }
  const std::vector<bool> written = written_inputs(interface);
  facts.shared.assign(joint.values.size(), false);
  for (ValueId id = 0; id < interface.inputs.size(); ++id) {
    const Input& input = interface.inputs[id];
    facts.shared[id] = is_number(input) || (!written[id] && (by_formula[id] || is_fixed(input)));
  }
  for (std::size_t id = interface.inputs.size(); id < joint.values.size(); ++id)
    facts.shared[id] = facts.output[id] >= 0 && by_formula[facts.root[id]];
}

/// What backward, where it has it without a copy, reads in memory that the program may change.
void find_bases(const Graph& joint, JointFacts& facts) {
  facts.base.assign(joint.values.size(), kNoValue);
  for (ValueId id = 0; id < joint.values.size(); ++id) {
    const bool input = id < joint.interface.inputs.size();
    const bool fixed =
        input && (is_number(joint.interface.inputs[id]) || is_fixed(joint.interface.inputs[id]));
    if (facts.shared[id] && !fixed) facts.base[id] = id;
  }
  for (const Node& node : joint.nodes) {
    if (!shows_operand(node)) continue;
    for (ValueId result : node.results) {
      if (facts.base[result] == kNoValue)
        facts.base[result] = facts.base[operand_value(node, "self")];
    }
  }
}

/// By value: whether a node that may be computed again reads it in place, or gives an output that a
/// formula reads where it is.
std::vector<bool> find_copied(const Graph& joint, const JointFacts& facts) {
  std::vector<bool> copied(joint.values.size(), false);
  for (std::size_t i = 0; i < joint.nodes.size(); ++i) {
    const Node& node = joint.nodes[i];
    if (!facts.forward[i] || facts.checkpoint[i] >= 0 || shows_operand(node)) continue;
    for_each_operand(node, [&](ValueId id) {
      if (facts.base[id] == kNoValue) return;
      copied[id] = copied[facts.base[id]] = true;
      for_each_view(joint, facts, id, [&](std::size_t view) {
        copied[operand_value(joint.nodes[view], "self")] = true;
      });
    });
    for (ValueId result : node.results) {
      if (facts.shared[result]) copied[result] = true;
    }
  }
  return copied;
}

/// The copies of what is read in place, for nodes that are computed again. An output of the
/// program's that a formula reads is read where it is, as torch does: what is computed again in its
/// place is the copy.
void add_copies(const Graph& joint, JointFacts& facts) {
  find_bases(joint, facts);
  const std::vector<bool> copied = find_copied(joint, facts);
  const auto remade_by = [&](ValueId id) {
    const std::int32_t maker = facts.maker[id];
    const bool itself =  // what the node makes in backward is no copy
        maker >= 0 && (facts.checkpoint[maker] >= 0 || shows_operand(joint.nodes[maker]));
    return itself ? -1 : maker;
  };
  facts.copy.assign(joint.values.size(), kNoValue);
  facts.remade_by = facts.maker;
  for (ValueId id = 0; id < joint.values.size(); ++id) {
    if (facts.output[id] >= 0 && facts.shared[id]) facts.remade_by[id] = -1;
    if (!copied[id]) continue;
    const auto copy = static_cast<ValueId>(facts.count());
    facts.copy[id] = copy;
    facts.copied.push_back(id);
    facts.root.push_back(copy);
    facts.remade_by.push_back(remade_by(id));
    facts.demanded.push_back(false);
    facts.output.push_back(-1);
    facts.visible.push_back(true);
    facts.shared.push_back(false);
  }
}

}  // namespace

std::size_t own_outputs(const Interface& joint) {
  return joint.outputs.size() - joint.training.gradients.size();
}

JointFacts joint_facts(const Graph& joint) {
  JointFacts facts;
  find_roots(joint, facts);
  find_visible(joint, facts);
  find_parts(joint, facts);
  find_demands(joint, facts);
  add_copies(joint, facts);
  return facts;
}

namespace {

/// What a price is in the network's whole numbers.
std::int64_t capacity(double picoseconds) {
  constexpr double kMost = 1e12;  // a second: what is more is chosen last in any case
  return std::llround(std::clamp(picoseconds, 0.0, kMost));
}

/// What backward has of a node that it computes again.
std::vector<ValueId> remade(const Graph& joint, const JointFacts& facts, std::size_t node) {
  std::vector<ValueId> out;
  for (ValueId result : joint.nodes[node].results) {
    const ValueId id = in_backward(joint, facts, node, result);
    if (facts.remade_by[id] == static_cast<std::int32_t>(node)) out.push_back(id);
  }
  return out;
}

/// Vertices of the nodes and values that are not backward's.
struct Vertices {
  FlowNetwork network;
  FlowNetwork::Vertex source = network.add_vertex(), sink = network.add_vertex();
  std::vector<FlowNetwork::Vertex> of_node, of_value;  ///< -1: none
};

Vertices make_network(const Graph& joint, const JointFacts& facts, const Prices& prices,
                      double byte_price) {
  Vertices v;
  v.of_node.assign(joint.nodes.size(), -1);
  v.of_value.assign(facts.count(), -1);
  const auto save_price = [&](ValueId id) {
    return capacity(prices.save[id] + byte_price * prices.bytes[id]);
  };
  const auto add_value = [&](ValueId id) {
    v.of_value[id] = v.network.add_vertex();
    if (facts.demanded[id]) v.network.add_edge(v.of_value[id], v.sink, FlowNetwork::kUncuttable);
  };
  for (ValueId id = 0; id < facts.count(); ++id) {
    const bool input = id < joint.interface.inputs.size();
    if (facts.remade_by[id] >= 0 || facts.is_view_of_copy(id) ||
        (input && joint.interface.inputs[id].kind == InputKind::tangent))
      continue;
    add_value(id);
    v.network.add_edge(v.source, v.of_value[id], save_price(id));
  }
  for (std::size_t i = 0; i < joint.nodes.size(); ++i) {
    if (facts.backward[i]) continue;
    const FlowNetwork::Vertex vertex = v.of_node[i] = v.network.add_vertex();
    std::int64_t all = 1;  // saving every result costs less than this
    for (ValueId result : remade(joint, facts, i)) {
      add_value(result);
      v.network.add_edge(vertex, v.of_value[result], save_price(result));
      all += save_price(result);
    }
    const double again = prices.recompute[i];
    v.network.add_edge(v.source, vertex, again == kNever ? all : capacity(again));
    for_each_read(joint, facts, i, [&](ValueId id) {
      v.network.add_edge(v.of_value[id], vertex, FlowNetwork::kUncuttable);
    });
  }
  return v;
}

}  // namespace

Choice CutModel::at_price(double byte_price) const {
  Vertices v = make_network(joint_, facts_, prices_, byte_price);
  const std::vector<bool> sink_side = v.network.sink_side(v.source, v.sink);
  Choice choice;
  choice.recomputed.assign(joint_.nodes.size(), false);
  choice.kept.assign(facts_.count(), false);
  for (std::size_t i = 0; i < joint_.nodes.size(); ++i)
    choice.recomputed[i] = v.of_node[i] >= 0 && sink_side[v.of_node[i]];
  for (ValueId id = 0; id < facts_.count(); ++id) {
    const std::int32_t maker = facts_.remade_by[id];
    choice.kept[id] = v.of_value[id] >= 0 && sink_side[v.of_value[id]] &&
                      (maker < 0 || !choice.recomputed[maker]);
  }
  return choice;
}

double CutModel::bytes(const Choice& choice) const {
  double sum = 0;
  for (ValueId id = 0; id < choice.kept.size(); ++id)
    sum += choice.kept[id] ? prices_.bytes[id] : 0;
  return sum;
}

double CutModel::picoseconds(const Choice& choice) const {
  double sum = 0;
  for (ValueId id = 0; id < choice.kept.size(); ++id) sum += choice.kept[id] ? prices_.save[id] : 0;
  for (std::size_t i = 0; i < choice.recomputed.size(); ++i)
    sum += choice.recomputed[i] ? prices_.recompute[i] : 0;
  return sum;
}

Choice CutModel::within(double bytes) const {
  constexpr double kLeastPrice = 1e-3, kMostPrice = 1e6, kStep = 8;
  constexpr int kHalvings = 24;
  Choice roomy = at_price(0);
  if (this->bytes(roomy) <= bytes) return roomy;
  double low = 0, high = kLeastPrice;
  Choice small = at_price(high);
  while (this->bytes(small) > bytes && high < kMostPrice) {
    low = high;
    roomy = std::move(small);
    high *= kStep;
    small = at_price(high);
  }
  if (this->bytes(small) > bytes) return small;
  for (int i = 0; i < kHalvings; ++i) {
    const double price = (low + high) / 2;
    Choice middle = at_price(price);
    const bool fits = this->bytes(middle) <= bytes;
    (fits ? small : roomy) = std::move(middle);
    (fits ? high : low) = price;
  }
  return between(roomy, small, bytes);
}

namespace {

/// Sets that grow together.
class Groups {
 public:
  explicit Groups(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

/// What to give up for memory: some nodes become recomputed, some values available.
struct Difference {
  std::vector<std::size_t> nodes;
  std::vector<ValueId> values;
  double bytes = 0, picoseconds = 0;
};

bool is_available(const Choice& choice, const JointFacts& facts, ValueId id) {
  const std::int32_t maker = facts.remade_by[id];
  return choice.kept[id] || (maker >= 0 && choice.recomputed[maker]);
}

/// The differences of two nested choices that do not depend on each other.
std::vector<Difference> differences(const Graph& joint, const JointFacts& facts,
                                    const Choice& roomy, const Choice& small) {
  const std::size_t nodes = joint.nodes.size();
  Groups groups(nodes + facts.count());
  const auto new_node = [&](std::size_t i) { return small.recomputed[i] && !roomy.recomputed[i]; };
  const auto new_value = [&](ValueId id) {
    return is_available(small, facts, id) && !is_available(roomy, facts, id);
  };
  for (std::size_t i = 0; i < nodes; ++i) {
    if (!new_node(i)) continue;
    const auto join = [&](ValueId id) {
      if (new_value(id)) groups.join(i, nodes + id);
    };
    for_each_read(joint, facts, i, join);
    std::ranges::for_each(remade(joint, facts, i), join);
  }
  std::vector<Difference> out;
  std::vector<std::int32_t> place(nodes + facts.count(), -1);
  const auto of = [&](std::size_t item) -> Difference& {
    std::int32_t& there = place[groups.find(item)];
    if (there < 0) {
      there = static_cast<std::int32_t>(out.size());
      out.emplace_back();
    }
    return out[static_cast<std::size_t>(there)];
  };
  for (std::size_t i = 0; i < nodes; ++i) {
    if (new_node(i)) of(i).nodes.push_back(i);
  }
  for (ValueId id = 0; id < facts.count(); ++id) {
    if (new_value(id)) of(nodes + id).values.push_back(id);
  }
  return out;
}

}  // namespace

Choice CutModel::between(const Choice& roomy, const Choice& small, double bytes) const {
  std::vector<Difference> all = differences(joint_, facts_, roomy, small);
  for (Difference& one : all) {
    const auto count = [&](ValueId id, double sign) {
      one.bytes += sign * prices_.bytes[id];
      one.picoseconds += sign * prices_.save[id];
    };
    for (std::size_t i : one.nodes) {
      one.picoseconds += prices_.recompute[i];
      for (ValueId id : remade(joint_, facts_, i)) {
        if (roomy.kept[id]) count(id, -1);
      }
    }
    for (ValueId id : one.values) {
      if (small.kept[id]) count(id, 1);
    }
  }
  std::ranges::stable_sort(all, {}, [](const Difference& one) {
    return one.bytes < 0 ? one.picoseconds / -one.bytes : std::numeric_limits<double>::infinity();
  });
  Choice choice = roomy;
  double held = this->bytes(roomy);
  for (const Difference& one : all) {
    if (held <= bytes) break;
    held += one.bytes;
    for (std::size_t i : one.nodes) {
      choice.recomputed[i] = true;
      for (ValueId id : remade(joint_, facts_, i)) choice.kept[id] = false;
    }
    for (ValueId id : one.values) choice.kept[id] = small.kept[id];
  }
  return choice;
}

}  // namespace penstock::cut
