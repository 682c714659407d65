#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace penstock {

/// Where the program made the call at position `call`; nothing for a position of no call.
inline std::optional<Location> location_of(const std::vector<Call>& calls, std::int32_t call) {
  if (call < 0 || static_cast<std::size_t>(call) >= calls.size()) return std::nullopt;
  const CallStack& stack = calls[static_cast<std::size_t>(call)].stack;
  return stack == nullptr ? std::nullopt : std::optional(stack->location);
}

/// Where the program made the first of the calls that a step of a compiled graph does.
inline std::optional<Location> location_of(const std::vector<Call>& calls,
                                           const std::vector<std::int32_t>& of_step) {
  return of_step.empty() ? std::nullopt : location_of(calls, of_step.front());
}

}  // namespace penstock
