#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ir/argument_text.h"
#include "ir/graph.h"

namespace penstock {

namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += ", ";
    out += part;
  }
  return out;
}

std::string describe(const Value& value) {
  return value.is_scalar ? value.expression.to_string() : to_string(value.type);
}

std::string text_of(const Graph& graph, ValueId id) {
  return id < graph.values.size() ? "%" + graph.values[id].name : std::string("%?");
}

std::string describe(const Symbol& symbol, const SourceTable& sources) {
  std::string text = symbol.name;
  text += symbol.source == kNoSource ? ": unbacked" : " = " + sources.text(symbol.source);
  fmt::format_to(std::back_inserter(text), " in [{}, {}]", symbol.minimum,
                 symbol.maximum == INT64_MAX ? "inf" : std::to_string(symbol.maximum));
  if (symbol.hint) fmt::format_to(std::back_inserter(text), ", hint {}", *symbol.hint);
  return text;
}

std::string describe(const Input& input, const SourceTable& sources) {
  std::string text =
      fmt::format("%{}: {} {}", input.name, to_string(input.type), to_string(input.kind));
  if (input.source != kNoSource) text += " = " + sources.text(input.source);
  return text;
}

}  // namespace

std::string to_string(const Guard& guard, const SourceTable& sources) {
  std::string text(facts(guard.kind).meaning);
  auto fill = [&](std::string_view mark, const std::string& with) {
    if (auto at = text.find(mark); at != std::string::npos) text.replace(at, mark.size(), with);
  };
  const auto* words = guard.expected.as<std::string>();
  std::string expected = guard.other != kNoSource ? sources.text(guard.other)
                         : guard.kind == GuardKind::no_overlap && words != nullptr ? *words
                         : guard.tensor    ? to_string(*guard.tensor)
                         : guard.condition ? to_string(*guard.condition)
                                           : to_string(guard.expected);
  fill("{source}", sources.text(guard.source));
  fill("{expected}", expected);
  return text;
}

namespace {

std::string text_of_gradients(const Interface& interface) {
  std::string out;
  auto line = std::back_inserter(out);
  const bool backward = interface.training.role == GraphRole::backward;
  const std::string_view there = backward ? "forward's " : "";
  for (const Tangent& tangent : interface.training.tangents) {
    fmt::format_to(line, "  input {} is the tangent of {}output {}\n", tangent.input, there,
                   tangent.output);
  }
  for (const Saved& saved : interface.training.saved) {
    fmt::format_to(line, "  input {} is forward's output {}\n", saved.input, saved.output);
  }
  for (const Passed& passed : interface.training.passed) {
    fmt::format_to(line, "  input {} is forward's input {}\n", passed.input, passed.forward);
  }
  for (const Gradient& gradient : interface.training.gradients) {
    fmt::format_to(line, "  output {} is the gradient of {}input {}\n", gradient.output, there,
                   gradient.input);
  }
  return out;
}

}  // namespace

std::string to_text(const Interface& interface) {
  std::string out;
  auto line = std::back_inserter(out);
  fmt::format_to(line, "graph [{}] {}", to_string(interface.id), interface.name);
  if (interface.training.role != GraphRole::inference)
    fmt::format_to(line, ", {}", to_string(interface.training.role));
  out += '\n';
  if (interface.location) {
    fmt::format_to(line, "  at {}:{}\n", interface.location->file.text(), interface.location->line);
  }
  if (!interface.after.empty()) fmt::format_to(line, "  after [{}]\n", interface.after);
  for (const Symbol& symbol : interface.symbols) {
    fmt::format_to(line, "  symbol {}\n", describe(symbol, interface.sources));
  }
  for (const Guard& guard : interface.guards) {
    fmt::format_to(line, "  guard {}\n", to_string(guard, interface.sources));
  }
  for (const Input& input : interface.inputs) {
    fmt::format_to(line, "  input {}\n", describe(input, interface.sources));
  }
  for (const Mutation& mutation : interface.mutations) {
    fmt::format_to(line, "  writes output {} to input {}\n", mutation.output, mutation.input);
  }
  return out + text_of_gradients(interface);
}

std::string to_text(const Graph& graph, const Node& node) {
  ValueName name = [&](ValueId id) { return text_of(graph, id); };
  std::vector<std::string> args, results, types;
  for (const NamedArgument& argument : node.args) {
    args.push_back(argument.name.empty() || argument.name == "self"
                       ? to_string(argument.value, name)
                       : argument.name + "=" + to_string(argument.value, name));
  }
  for (ValueId id : node.results) {
    results.push_back(name(id));
    if (id < graph.values.size()) types.push_back(describe(graph.values[id]));
  }
  std::string text =
      fmt::format("{}{}{}({})", join(results), results.empty() ? "" : " = ", node.op, join(args));
  if (!types.empty()) text += " -> " + join(types);
  return text;
}

std::string to_text(const Graph& graph) {
  std::string out = to_text(graph.interface);
  auto line = std::back_inserter(out);
  for (const Node& node : graph.nodes) fmt::format_to(line, "  {}\n", to_text(graph, node));
  std::vector<std::string> outputs;
  for (ValueId id : graph.outputs) outputs.push_back(text_of(graph, id));
  fmt::format_to(line, "  return {}\n", join(outputs));
  for (const Graph& subgraph : graph.subgraphs) out += subgraph_text(to_text(subgraph));
  return out;
}

std::string subgraph_text(std::string_view text) {
  std::string out;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    // Symbols and guards are those of the graph around it.
    const bool shown = !line.starts_with("  symbol ") && !line.starts_with("  guard ");
    if (first) {
      out +=
          "  sub" + std::string(line.substr(0, 5)) + std::string(line.substr(line.find(']') + 1));
      out += '\n';
    } else if (shown) {
      out += "  " + std::string(line) + '\n';
    }
    first = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace penstock
