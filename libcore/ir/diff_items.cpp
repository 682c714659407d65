// Graphs as lists of comparable things. Left out on purpose: names of values, places in the source
// and the calls as written (they follow the source, not the computation), blobs and times.

#include <fmt/format.h>

#include "ir/argument_text.h"
#include "ir/call_location.h"
#include "ir/diff.h"

namespace penstock {

namespace {

/// `recipe` in one line: "output 0", "[output 0, 3]", "L['x']".
std::string text_of(const Recipe& recipe, const SourceTable& sources) {
  switch (recipe.kind) {
    case Recipe::Kind::output:
    case Recipe::Kind::object:
      return fmt::format("{} {}", to_string(recipe.kind), recipe.index);
    case Recipe::Kind::source:
      return sources.text(recipe.source);
    case Recipe::Kind::literal:
      return to_string(recipe.literal);
    case Recipe::Kind::symbol:
      return recipe.expression.to_string();
    default:
      break;
  }
  std::string items;
  for (const Recipe& item : recipe.items) {
    if (!items.empty()) items += ", ";
    items += text_of(item, sources);
  }
  return fmt::format("{}({})", to_string(recipe.kind), items);
}

std::string text_of(const Restore& restore, const SourceTable& sources) {
  std::string text(to_string(restore.kind));
  if (restore.index >= 0) text += fmt::format(" {}", restore.index);
  if (!restore.name.empty()) text += " " + restore.name;
  auto part = [&](std::string_view what, const Recipe& recipe) {
    if (recipe.kind == Recipe::Kind::literal && recipe.literal.is_none()) return;
    text += fmt::format(" {} {}", what, text_of(recipe, sources));
  };
  part("of", restore.target);
  part("at", restore.key);
  part("=", restore.value);
  return text;
}

/// An item whose whole text is its label: it is there or not.
void add_line(DiffItems& items, std::string_view what, const std::string& text) {
  DiffItem item;
  item.label = item.title = item.text = fmt::format("{} {}", what, text);
  items.push_back(std::move(item));
}

void add_input(const Input& input, const SourceTable& sources, DiffItems& items) {
  DiffItem item;
  std::string from = input.source == kNoSource ? input.name : sources.text(input.source);
  item.label = fmt::format("input {} {}", to_string(input.kind), from);
  item.title = fmt::format("input %{} ({})", input.name, from);
  item.text = fmt::format("{}: {}", item.title, to_string(input.type));
  item.facts = {{"type", to_string(input.type)}};
  if (input.type.requires_grad) item.facts.push_back({"requires_grad", "True"});
  if (input.type.storage >= 0)
    item.facts.push_back({"storage", std::to_string(input.type.storage)});
  items.push_back(std::move(item));
}

void add_guard(const Guard& guard, const SourceTable& sources, DiffItems& items) {
  if (guard.condition) {
    add_line(items, "guard", to_string(*guard.condition));
    items.back().stack = stack_of(guard.location);
    return;
  }
  DiffItem item;
  item.stack = stack_of(guard.location);
  std::string about = guard.source == kNoSource ? "" : " of " + sources.text(guard.source);
  item.label = item.title = fmt::format("guard {}{}", facts(guard.kind).name, about);
  std::string expected = guard.tensor               ? to_string(*guard.tensor)
                         : guard.other != kNoSource ? sources.text(guard.other)
                                                    : to_string(guard.expected);
  item.facts = {{"expected", expected}};
  item.text = fmt::format("{}: {}", item.title, expected);
  items.push_back(std::move(item));
}

void add_symbol(const Symbol& symbol, const SourceTable& sources, DiffItems& items) {
  DiffItem item;
  item.label = item.title = fmt::format("symbol {}", symbol.name);
  item.facts = {{"source", symbol.source == kNoSource ? "none" : sources.text(symbol.source)},
                {"range", fmt::format("[{}, {}]", symbol.minimum, symbol.maximum)}};
  item.text = fmt::format("{} = {}", item.title, item.facts.front().text);
  items.push_back(std::move(item));
}

/// How the text of a node's line looks to people.
std::string line_of(const Node& node, const Graph& graph) {
  ValueName name = [&](ValueId id) { return "%" + graph.values[id].name; };
  std::string results, args;
  for (ValueId id : node.results) results += (results.empty() ? "" : ", ") + name(id);
  for (const NamedArgument& argument : node.args) {
    args += (args.empty() ? "" : ", ") + argument.name + "=" + to_string(argument.value, name);
  }
  return fmt::format("{}{}{}({})", results, results.empty() ? "" : " = ", node.op, args);
}

void add_node(const Node& node, const Graph& graph, std::vector<DiffItem::Operand>& maker,
              DiffItems& items) {
  DiffItem item;
  item.label = node.op;
  item.title = node.results.empty()
                   ? node.op
                   : fmt::format("%{} {}", graph.values[node.results[0]].name, node.op);
  item.text = line_of(node, graph);
  item.is_op = true;
  item.stack = stack_of(graph.calls, node.call);
  for (const NamedArgument& argument : node.args) {
    std::string text = diff_text(argument.value, maker, item);
    item.facts.push_back({"argument " + argument.name, std::move(text)});
  }
  for (std::size_t i = 0; i < node.results.size(); ++i) {
    const Value& value = graph.values[node.results[i]];
    item.facts.push_back({node.results.size() == 1 ? "type" : fmt::format("type of result {}", i),
                          value.is_scalar ? value.expression.to_string() : to_string(value.type)});
    maker[node.results[i]] = {static_cast<std::int32_t>(items.size()),
                              static_cast<std::int32_t>(i)};
  }
  items.push_back(std::move(item));
}

/// What a subgraph computes, each item labelled with its name.
void add_subgraph(const Graph& subgraph, const std::string& around, DiffItems& items) {
  const std::string name = around + subgraph.interface.name;
  const std::size_t first = items.size();
  std::vector<DiffItem::Operand> maker(subgraph.values.size());
  for (std::size_t i = 0; i < subgraph.interface.inputs.size(); ++i) {
    maker[i] = {static_cast<std::int32_t>(items.size()), 0};
    add_line(items, "input",
             fmt::format("{}: {}", i, to_string(subgraph.interface.inputs[i].type)));
  }
  for (const Node& node : subgraph.nodes) add_node(node, subgraph, maker, items);
  for (std::size_t i = 0; i < subgraph.outputs.size(); ++i) {
    add_line(items, "output", std::to_string(i));
    items.back().operands = {maker[subgraph.outputs[i]]};
  }
  for (std::size_t i = first; i < items.size(); ++i) {
    items[i].label = name + ": " + items[i].label;
    items[i].title = name + ": " + items[i].title;
    items[i].text = name + ": " + items[i].text;
  }
  for (const Graph& inner : subgraph.subgraphs) add_subgraph(inner, name + "/", items);
}

}  // namespace

std::string diff_text(const Argument& argument, const std::vector<DiffItem::Operand>& maker,
                      DiffItem& item) {
  return to_string(argument, [&](ValueId id) {
    item.operands.push_back(id < maker.size() ? maker[id] : DiffItem::Operand{});
    return fmt::format("#{}", item.operands.size() - 1);
  });
}

void add_items(const Interface& interface, DiffItems& items) {
  const SourceTable& sources = interface.sources;
  for (const Input& input : interface.inputs) add_input(input, sources, items);
  for (const Symbol& symbol : interface.symbols) add_symbol(symbol, sources, items);
  for (const Guard& guard : interface.guards) add_guard(guard, sources, items);
  for (const Mutation& mutation : interface.mutations) {
    add_line(items, "mutation",
             fmt::format("output {} to input {}", mutation.output, mutation.input));
  }
  for (const Tangent& tangent : interface.training.tangents) {
    add_line(items, "tangent", fmt::format("input {} of output {}", tangent.input, tangent.output));
  }
  for (const Gradient& gradient : interface.training.gradients) {
    add_line(items, "gradient",
             fmt::format("output {} of input {}", gradient.output, gradient.input));
  }
  if (interface.training.role != GraphRole::inference)
    add_line(items, "role", std::string(to_string(interface.training.role)));
  for (const Saved& saved : interface.training.saved) {
    add_line(items, "saved", fmt::format("input {} from output {}", saved.input, saved.output));
  }
  for (const Passed& passed : interface.training.passed) {
    add_line(items, "passed", fmt::format("input {} from input {}", passed.input, passed.forward));
  }
  for (const Recipe& object : interface.objects) {
    add_line(items, "object", text_of(object, sources));
  }
  add_line(items, "returns", text_of(interface.returns, sources));
  for (const Restore& restore : interface.restore) {
    add_line(items, "restore", text_of(restore, sources));
  }
  for (const InlinedFrame& frame : interface.frames) {
    add_line(items, "frame", frame.name + " at " + std::to_string(frame.offset));
    for (const Restore& restore : frame.restore) {
      add_line(items, "restore in " + frame.name, text_of(restore, sources));
    }
  }
  if (!interface.end.code.empty()) add_line(items, "ends with", interface.end.code);
}

DiffItems diff_items(const Graph& graph) {
  DiffItems items;
  add_items(graph.interface, items);
  std::vector<DiffItem::Operand> maker(graph.values.size());
  for (std::size_t i = 0; i < graph.interface.inputs.size(); ++i) {
    maker[i] = {static_cast<std::int32_t>(i), 0};
  }
  for (const Graph& subgraph : graph.subgraphs) add_subgraph(subgraph, {}, items);
  for (const Node& node : graph.nodes) add_node(node, graph, maker, items);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    DiffItem item;
    item.label = item.title = fmt::format("output {}", i);
    item.text = fmt::format("output {}: %{}", i, graph.values[graph.outputs[i]].name);
    item.operands = {maker[graph.outputs[i]]};
    item.facts = {{"type", to_string(graph.interface.outputs[i].type)}};
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace penstock
