#include "ir/backend_event.h"

#include <algorithm>
#include <iterator>

namespace penstock {

namespace {

/// In the order of the outcomes.
constexpr std::string_view kNames[] = {"runs",    "slower", "untried", "missing", "declined",
                                       "crashed", "hung",   "failed",  "differs", "changed"};
static_assert(std::size(kNames) == static_cast<std::size_t>(BackendEvent::Outcome::changed) + 1);

}  // namespace

std::string_view to_string(BackendEvent::Outcome outcome) {
  return kNames[static_cast<std::size_t>(outcome)];
}

std::optional<BackendEvent::Outcome> backend_outcome_from_name(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<BackendEvent::Outcome>(found - std::begin(kNames));
}

}  // namespace penstock
