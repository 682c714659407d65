// A joint graph in two
//
// What depends on tangents is backward, whatever is chosen. Of the rest, forward computes all that
// its own outputs need; what backward reads of it is saved or computed again, as the cheapest cut
// says (cut/model.h). Nodes that only the derivatives need (a mask, a reciprocal) cost the same on
// either side, so that backward computes them where it has what they read.
//
// Then the two parts become graphs that stand alone: saved values are outputs of the one and inputs
// of the other. What an earlier stage promised of outputs holds for these too, as they are laid out
// as such: memory of their own, dense.
#include "cut/cut.h"

#include <fmt/format.h>

#include <algorithm>

#include "cut/graphs.h"
#include "cut/lay_out_saved.h"
#include "cut/model.h"
#include "ops/contract.h"

namespace penstock::cut {

namespace {

Result<void> check_joint(const Graph& joint) {
  const Interface& interface = joint.interface;
  const auto wrong = [&](std::string message) {
    return failure(Code::PS0604, std::move(message), "graph " + to_string(interface.id));
  };
  if (joint.level != Level::core) return wrong("only graphs of level core are cut");
  if (interface.training.role != GraphRole::inference) return wrong("the graph is a part already");
  const auto first =
      static_cast<std::int32_t>(interface.inputs.size() - interface.training.tangents.size());
  const auto own = static_cast<std::int32_t>(own_outputs(interface));
  for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
    const bool tangent = interface.inputs[i].kind == InputKind::tangent;
    if (tangent != (static_cast<std::int32_t>(i) >= first))
      return wrong("tangents are the last inputs of a joint graph, and no others");
  }
  for (std::size_t i = 0; i < interface.training.tangents.size(); ++i) {
    if (interface.training.tangents[i].input != first + static_cast<std::int32_t>(i) ||
        interface.training.tangents[i].output >= own)
      return wrong("a tangent is not that of an output");
  }
  for (std::size_t i = 0; i < interface.training.gradients.size(); ++i) {
    if (interface.training.gradients[i].output != own + static_cast<std::int32_t>(i) ||
        interface.training.gradients[i].input >= first)
      return wrong("a gradient is not that of an input, or not one of the last outputs");
  }
  return {};
}

/// Where backward finds what it is given: saved values first, then what it shares with forward.
std::vector<Origin> find_origins(const Graph& joint, const JointFacts& facts,
                                 const Choice& choice) {
  auto next = static_cast<std::int32_t>(own_outputs(joint.interface));
  std::vector<Origin> saved, passed;
  for (ValueId id = 0; id < facts.count(); ++id) {
    if (!choice.kept[id]) continue;
    const bool input = id < joint.interface.inputs.size();
    if (facts.shared[id] && input)
      passed.push_back({id, static_cast<std::int32_t>(id), -1});
    else
      saved.push_back({id, -1, facts.shared[id] ? facts.output[id] : next++});
  }
  saved.insert(saved.end(), passed.begin(), passed.end());
  return saved;
}

/// Who reads each value in backward: the first op, and how many more do.
std::vector<std::string> readers(const Graph& joint, const JointFacts& facts, const Choice& choice,
                                 const std::vector<Origin>& origins) {
  std::vector<const Node*> first(facts.count(), nullptr);
  std::vector<int> count(facts.count(), 0);
  for (std::size_t i = 0; i < joint.nodes.size(); ++i) {
    if (!facts.backward[i] && !choice.recomputed[i]) continue;
    for_each_read(joint, facts, i, [&](ValueId id) {
      if (count[id]++ == 0) first[id] = &joint.nodes[i];
    });
  }
  std::vector<std::string> out;
  for (const Origin& origin : origins) {
    const int others = count[origin.value] - 1;
    out.push_back(others < 0 ? "it is a gradient"
                  : others == 0
                      ? fmt::format("{} reads it", first[origin.value]->op)
                      : fmt::format("{} and {} more read it", first[origin.value]->op, others));
  }
  return out;
}

std::vector<Kept> describe(const Graph& joint, const JointFacts& facts, const Prices& prices,
                           const std::vector<Origin>& origins,
                           const std::vector<std::string>& why) {
  std::vector<Kept> kept;
  for (std::size_t i = 0; i < origins.size(); ++i) {
    const ValueId id = origins[i].value;
    using enum Kept::Kind;
    const Kept::Kind kind = origins[i].input >= 0           ? input
                            : facts.shared[id]              ? output
                            : facts.visible[facts.root[id]] ? copy
                                                            : computed;
    kept.push_back({kind, joint.values[facts.original(id)].name, prices.bytes[id], why[i]});
  }
  return kept;
}

/// What saving comes to at prices from none up to that of the choice.
std::vector<CutPoint> curve_of(const CutModel& model, const Choice& chosen) {
  constexpr double kFirst = 1, kStep = 4, kLast = 1e5;
  constexpr double kPicosecondsPerMillisecond = 1e9;
  const auto point = [&](const Choice& choice) {
    return CutPoint{model.bytes(choice), model.picoseconds(choice) / kPicosecondsPerMillisecond};
  };
  const double least = model.bytes(chosen);
  std::vector<CutPoint> curve = {point(model.at_price(0))};
  for (double price = kFirst; price < kLast && curve.back().bytes > least; price *= kStep) {
    const CutPoint next = point(model.at_price(price));
    if (next.bytes > least && next.bytes < curve.back().bytes) curve.push_back(next);
  }
  if (least < curve.back().bytes) curve.push_back(point(chosen));
  return curve;
}

/// Nothing but views is computed again.
void keep_all(const JointFacts& facts, Prices& prices) {
  for (std::size_t i = 0; i < prices.recompute.size(); ++i) {
    if (facts.forward[i] && prices.recompute[i] > 0) prices.recompute[i] = kNever;
  }
}

Choice choose(const CutModel& model, const CutOptions& options) {
  if (!options.memory_budget) return model.at_price(options.byte_price);
  return model.within(*options.memory_budget * model.bytes(model.at_price(0)));
}

}  // namespace

Result<ForwardBackward> cut_graph(const Graph& joint, const CutOptions& options) {
  if (auto valid = check_joint(joint); !valid) return tl::unexpected(valid.error());
  const JointFacts facts = joint_facts(joint);
  Prices prices = cut::prices(joint, facts);
  if (!options.recompute) keep_all(facts, prices);
  const CutModel model(joint, facts, prices);
  const Choice choice = choose(model, options);
  const std::vector<Origin> origins = find_origins(joint, facts, choice);
  for (const Origin& origin : origins) {
    const Value& value = joint.values[facts.original(origin.value)];
    if (!value.is_scalar || origin.input >= 0) continue;
    return failure(
        Code::PS0606,
        fmt::format("backward needs the number {}, which the graph computes", value.name),
        "graph " + to_string(joint.interface.id));
  }
  auto forward = forward_graph(joint, facts, origins);
  if (!forward) return tl::unexpected(std::move(forward.error()));
  if (auto laid_out = lay_out_saved(*forward, own_outputs(joint.interface)); !laid_out)
    return tl::unexpected(std::move(laid_out.error()));
  auto backward = backward_graph(joint, facts, choice, origins, *forward);
  if (!backward) return tl::unexpected(std::move(backward.error()));
  for (const Graph* part : {&*forward, &*backward}) {
    if (auto valid = ops::verify_contract(*part, Level::core); !valid)
      return tl::unexpected(valid.error());
  }
  CutReport report;
  report.kept = describe(joint, facts, prices, origins, readers(joint, facts, choice, origins));
  report.saved_bytes = model.bytes(choice);
  for (std::size_t i = 0; i < joint.nodes.size(); ++i)
    report.recomputed += choice.recomputed[i] && facts.forward[i] ? 1 : 0;
  if (options.curve) report.curve = curve_of(model, choice);
  return ForwardBackward{std::move(*forward), std::move(*backward), std::move(report)};
}

}  // namespace penstock::cut
