#include "ir/index_range.h"

#include <algorithm>

namespace penstock {

IndexRange index_range(std::span<const NamedArgument> attributes) {
  const auto integer = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = std::ranges::find(attributes, name, &NamedArgument::name);
    const auto* number = found == attributes.end() ? nullptr : found->value.as<std::int64_t>();
    return number == nullptr ? std::nullopt : std::optional(*number);
  };
  const auto wraps = std::ranges::find(attributes, "wraps", &NamedArgument::name);
  return {integer("dim").value_or(0), integer("size").value_or(0),
          wraps != attributes.end() && wraps->value == Argument(true), integer("ignored")};
}

}  // namespace penstock
