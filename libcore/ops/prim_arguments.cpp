#include "ops/prim_arguments.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock::ops {

namespace {

/// Cuts the first word off a list of words.
std::string_view take_word(std::string_view& list) {
  const std::size_t end = std::min(list.find(' '), list.size());
  const std::string_view word = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return word;
}

/// A value that stands for a number: a size, or an input that is a Python number.
bool is_number_value(const Graph& graph, const Argument& argument) {
  const auto* value = argument.as<Argument::Value>();
  if (value == nullptr || value->id >= graph.values.size()) return false;
  if (graph.values[value->id].is_scalar) return true;
  if (value->id >= graph.interface.inputs.size()) return false;
  const InputKind kind = graph.interface.inputs[value->id].kind;
  return kind == InputKind::size || kind == InputKind::scalar;
}

bool is_size(const Graph& graph, const Argument& argument) {
  return argument.as<std::int64_t>() != nullptr || argument.as<SymExpr>() != nullptr ||
         is_number_value(graph, argument);
}

/// Counted from the front; that there are so many is for the shape rules.
bool is_dim(const Argument& argument) {
  const auto* number = argument.as<std::int64_t>();
  return number != nullptr && *number >= 0;
}

bool has_twice(const Argument::Sequence& dims) {
  std::vector<std::int64_t> sorted;
  for (const Argument& item : dims.items) sorted.push_back(*item.as<std::int64_t>());
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) != sorted.end();
}

}  // namespace

bool is_of_type(const Graph& graph, const Argument& argument, std::string_view type) {
  const auto all = [&](const auto& holds) {
    const auto* list = argument.as<Argument::Sequence>();
    return list != nullptr && std::ranges::all_of(list->items, holds);
  };
  if (type == "int") return is_size(graph, argument);
  if (type == "int?") return argument.is_none() || is_size(graph, argument);
  if (type == "ints") return all([&](const Argument& item) { return is_size(graph, item); });
  if (type == "dim") return is_dim(argument);
  if (type == "dims") return all(is_dim) && !has_twice(*argument.as<Argument::Sequence>());
  if (type == "number") {
    return is_size(graph, argument) || argument.as<bool>() != nullptr ||
           argument.as<double>() != nullptr;
  }
  if (type == "dtype") return argument.as<DType>() != nullptr;
  if (type == "flag") return argument.as<bool>() != nullptr;
  return type == "text" && argument.as<std::string>() != nullptr;
}

std::string wrong_arguments(const Graph& graph, const Node& node, const OpFacts& prim) {
  std::size_t found = 0;
  for (std::string_view operands = prim.operands; !operands.empty();) {
    const std::string_view name = take_word(operands);
    if (find_argument(node, name) == nullptr) return fmt::format("operand '{}' is missing", name);
    ++found;
  }
  for (std::string_view attributes = prim.attributes; !attributes.empty();) {
    const std::string_view row = take_word(attributes);
    const std::string_view name = row.substr(0, row.find(':')), type = row.substr(name.size() + 1);
    const Argument* argument = find_argument(node, name);
    if (argument == nullptr) return fmt::format("argument '{}' is missing", name);
    if (!is_of_type(graph, *argument, type))
      return fmt::format("argument '{}' is not of type {}", name, type);
    ++found;
  }
  // Where tensors are made, it may be said on which device.
  found += prim.group == PrimGroup::create && find_argument(node, "device") != nullptr;
  if (found == node.args.size()) return {};
  return fmt::format("has {} arguments, the op takes {}", node.args.size(), found);
}

}  // namespace penstock::ops
