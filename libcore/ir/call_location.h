#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace penstock {

/// The stack of the call at position `call`; null for a position of no call.
inline CallStack stack_of(const std::vector<Call>& calls, std::int32_t call) {
  if (call < 0 || static_cast<std::size_t>(call) >= calls.size()) return nullptr;
  return calls[static_cast<std::size_t>(call)].stack;
}

/// The one frame that is known of a place; null where the place is not known.
inline CallStack stack_of(const std::optional<Location>& location) {
  if (!location) return nullptr;
  return std::make_shared<const StackFrame>(StackFrame{{}, *location, nullptr});
}

/// Where the program made the call at position `call`; nothing for a position of no call.
inline std::optional<Location> location_of(const std::vector<Call>& calls, std::int32_t call) {
  const CallStack stack = stack_of(calls, call);
  return stack == nullptr ? std::nullopt : std::optional(stack->location);
}

/// Where the program made the first of the calls that a step of a compiled graph does.
inline std::optional<Location> location_of(const std::vector<Call>& calls,
                                           const std::vector<std::int32_t>& of_step) {
  return of_step.empty() ? std::nullopt : location_of(calls, of_step.front());
}

}  // namespace penstock
