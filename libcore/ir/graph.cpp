#include "ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace penstock {

namespace {
constexpr std::string_view kLevels[] = {"torch", "core", "placed", "loops", "kernels"};
}  // namespace

std::string_view to_string(Level level) {
  return kLevels[static_cast<int>(level)];
}

std::optional<Level> level_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kLevels); ++i) {
    if (kLevels[i] == name) return static_cast<Level>(i);
  }
  return std::nullopt;
}

const Argument* find_argument(const Node& node, std::string_view name) {
  for (const NamedArgument& argument : node.args) {
    if (argument.name == name) return &argument.value;
  }
  return nullptr;
}

ValueId operand_value(const Node& node, std::string_view name) {
  const Argument* argument = find_argument(node, name);
  const auto* value = argument != nullptr ? argument->as<Argument::Value>() : nullptr;
  return value != nullptr ? value->id : kNoValue;
}

void set_argument(Node& node, std::string_view name, Argument value) {
  const auto found = std::ranges::find(node.args, name, &NamedArgument::name);
  if (found == node.args.end())
    node.args.push_back({std::string(name), std::move(value)});
  else
    found->value = std::move(value);
}

ValueId add_value(Graph& graph, std::string_view stem, TensorType type) {
  NameIndex& index = graph.names;
  if (index.indexed > graph.values.size()) index = {};
  for (; index.indexed < graph.values.size(); ++index.indexed) {
    index.next.try_emplace(graph.values[index.indexed].name, 1);
  }
  std::string name(stem);
  if (auto [used, is_new] = index.next.try_emplace(name, 1); !is_new) {
    std::uint32_t suffix = used->second;
    do {
      name = fmt::format("{}_{}", stem, suffix++);
    } while (!index.next.try_emplace(name, 1).second);
    index.next[std::string(stem)] = suffix;
  }
  ++index.indexed;
  graph.values.push_back({std::move(name), std::move(type), false, {}});
  return static_cast<ValueId>(graph.values.size() - 1);
}

}  // namespace penstock
