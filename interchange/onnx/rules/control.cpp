// If and Loop. What a subgraph takes has the names of the graph around it, which ONNX lets it see;
// of a loop what turns hand on are inputs of its body. ONNX asks the condition of a loop at the end
// of a turn and before the first, so it stands there twice.

#include "interchange/onnx/nodes.h"
#include "interchange/onnx/rules/rules.h"
#include "ir/subgraphs.h"

namespace penstock::onnx {

namespace {

std::vector<Name> operand_names(Rule& rule) {
  std::vector<Name> names;
  for (ValueId id : operands_of(rule.node()).value_or(std::vector<ValueId>()))
    names.push_back(rule.out().value(id));
  return names;
}

/// The subgraph that the node's argument names, or null.
const Graph* subgraph_of(Rule& rule, std::size_t number) {
  const auto names = subgraphs_of(rule.node());
  const Graph* found =
      number < names.size() ? find_subgraph(rule.out().graph().subgraphs, names[number]) : nullptr;
  if (found == nullptr) rule.refuse("it names no subgraph");
  return found;
}

/// Writes the subgraph's nodes; what stands for its outputs.
std::vector<Name> write(const Graph& subgraph, Emitter& inner) {
  std::vector<Name> names;
  if (auto done = write_nodes(subgraph, inner); !done) inner.fail(done.error().message);
  for (ValueId id : subgraph.outputs) names.push_back(inner.error() ? Name() : inner.output(id));
  return names;
}

Port port(Name name, const TensorType& type) {
  return {std::move(name), type.dtype, port_sizes(type)};
}

std::shared_ptr<const Body> branch(Rule& rule, const Graph& subgraph,
                                   const std::vector<Name>& operands) {
  Emitter inner(subgraph, rule.out(), operands);
  Body body{subgraph.interface.name, {}, {}, {}};
  const std::vector<Name> given = write(subgraph, inner);
  for (std::size_t i = 0; i < given.size(); ++i)
    body.outputs.push_back(port(given[i], subgraph.interface.outputs[i].type));
  body.operators = inner.take_body();
  return std::make_shared<const Body>(std::move(body));
}

void give_all(Rule& rule, const std::vector<Name>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) rule.give(results[i], i);
}

TensorType scalar_type(DType dtype) {
  TensorType type;
  type.dtype = dtype;
  return type;
}

/// A loop's body as it is written: first the number of the turn, whether it goes on, and what the
/// turn before hands on.
struct LoopBody {
  Name turn, going;
  std::vector<Name> carried;
  Body body;
};

LoopBody begin_body(Rule& rule, const Graph& subgraph, std::size_t carried) {
  LoopBody loop;
  loop.body.name = subgraph.interface.name;
  loop.turn = rule.out().names().fresh("turn");
  loop.going = rule.out().names().fresh("going");
  loop.body.inputs = {port(loop.turn, scalar_type(DType::int64)),
                      port(loop.going, scalar_type(DType::bool_))};
  for (std::size_t i = 0; i < carried; ++i) {
    const Input& input = subgraph.interface.inputs[i];
    loop.carried.push_back(rule.out().names().fresh(input.name));
    loop.body.inputs.push_back(port(loop.carried.back(), input.type));
  }
  return loop;
}

void write_while(Rule& rule) {
  const Graph *condition = subgraph_of(rule, 0), *turn = subgraph_of(rule, 1);
  if (rule.failed()) return;
  const std::vector<Name> operands = operand_names(rule);
  const std::size_t carried = rule.node().results.size();
  // Before the first turn the condition stands in the graph around the loop.
  Emitter before(*condition, rule.out(), operands);
  const std::vector<Name> first = write(*condition, before);
  rule.out().append(before.take_body());
  LoopBody loop = begin_body(rule, *turn, carried);
  std::vector<Name> inputs = operands;
  std::ranges::copy(loop.carried, inputs.begin());
  Emitter inner(*turn, rule.out(), inputs);
  const std::vector<Name> given = write(*turn, inner);
  loop.body.operators = inner.take_body();
  std::ranges::copy(given, inputs.begin());
  Emitter behind(*condition, rule.out(), inputs);
  const std::vector<Name> next = write(*condition, behind);
  std::ranges::move(behind.take_body(), std::back_inserter(loop.body.operators));
  if (rule.failed()) return;
  loop.body.outputs.push_back(port(next[0], scalar_type(DType::bool_)));
  for (std::size_t i = 0; i < given.size(); ++i)
    loop.body.outputs.push_back(port(given[i], turn->interface.outputs[i].type));
  std::vector<Name> taken{"", first[0]};
  taken.insert(taken.end(), operands.begin(),
               operands.begin() + static_cast<std::ptrdiff_t>(carried));
  give_all(rule, rule.out().emit_all("Loop", std::move(taken),
                                     {{"body", std::make_shared<const Body>(std::move(loop.body))}},
                                     carried));
}

void write_scan(Rule& rule) {
  const Graph* turn = subgraph_of(rule, 0);
  const auto parts = scan_parts(rule.node());
  if (rule.failed() || !parts) return;
  const std::vector<Name> operands = operand_names(rule);
  LoopBody loop = begin_body(rule, *turn, parts->carried);
  std::vector<Name> inputs = operands;
  std::ranges::copy(loop.carried, inputs.begin());
  Emitter rows(*turn, rule.out(), inputs);
  rows.set_node("row", "");
  for (std::size_t i = parts->carried; i < parts->carried + parts->scanned; ++i)
    inputs[i] = rows.emit("Gather", {operands[i], loop.turn}, {attribute("axis", std::int64_t{0})});
  const Name goes = rows.emit("Identity", {loop.going});
  loop.body.operators = rows.take_body();
  Emitter inner(*turn, rule.out(), inputs);
  const std::vector<Name> given = write(*turn, inner);
  std::ranges::move(inner.take_body(), std::back_inserter(loop.body.operators));
  if (rule.failed()) return;
  loop.body.outputs.push_back(port(goes, scalar_type(DType::bool_)));
  for (std::size_t i = 0; i < given.size(); ++i)
    loop.body.outputs.push_back(port(given[i], turn->interface.outputs[i].type));
  std::vector<Name> taken{rule.out().size_number(parts->length),
                          rule.out().constant(DType::bool_, {}, std::string(1, '\1'))};
  taken.insert(taken.end(), operands.begin(),
               operands.begin() + static_cast<std::ptrdiff_t>(parts->carried));
  give_all(rule, rule.out().emit_all("Loop", std::move(taken),
                                     {{"body", std::make_shared<const Body>(std::move(loop.body))}},
                                     given.size()));
}

}  // namespace

void conditional(Rule& rule) {
  const Graph *then = subgraph_of(rule, 0), *otherwise = subgraph_of(rule, 1);
  if (rule.failed()) return;
  const Name predicate = rule.in("predicate");
  const std::vector<Name> operands = operand_names(rule);
  if (rule.failed()) return;
  auto yes = branch(rule, *then, operands), no = branch(rule, *otherwise, operands);
  if (rule.failed()) return;
  give_all(rule, rule.out().emit_all("If", {predicate}, {{"then_branch", yes}, {"else_branch", no}},
                                     rule.node().results.size()));
}

void repeated(Rule& rule) {
  if (find_control_op(rule.node().op)->kind == ControlKind::scan)
    write_scan(rule);
  else
    write_while(rule);
}

void passed_on(Rule& rule) {
  const std::vector<Name> operands = operand_names(rule);
  for (std::size_t i = 0; i < rule.node().results.size(); ++i)
    rule.give(rule.emit("Identity", {operands[i]}), i);
}

}  // namespace penstock::onnx
