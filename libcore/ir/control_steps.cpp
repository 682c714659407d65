#include "ir/control_steps.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {

namespace {

/// Programs run what is nested by recursion.
constexpr std::size_t kMaxDepth = 64;

std::int64_t number_of(const std::vector<NamedArgument>& attributes, std::string_view name) {
  const auto found = std::ranges::find(attributes, name, &NamedArgument::name);
  const auto* number = found != attributes.end() ? found->value.as<std::int64_t>() : nullptr;
  return number != nullptr ? *number : 0;
}

std::int64_t steps_of(const LibraryCall& call, std::string_view name) {
  return number_of(call.attributes, name);
}

}  // namespace

std::optional<ControlStep> control_step_of(const LibraryCall& call) {
  if (call.name == "branch")
    return ControlStep{ControlStep::Kind::branch, steps_of(call, "then"),
                       steps_of(call, "otherwise")};
  if (call.name == "while")
    return ControlStep{ControlStep::Kind::while_loop, steps_of(call, "condition"),
                       steps_of(call, "body")};
  if (call.name == "for")
    return ControlStep{ControlStep::Kind::for_loop, 0, steps_of(call, "body")};
  return std::nullopt;
}

std::int64_t trips_of(const std::vector<NamedArgument>& attributes) {
  return number_of(attributes, "trips");
}

Result<void> verify_control_steps(const ControlSteps& steps, const std::string& place) {
  std::vector<std::int64_t> ends;  ///< of the parts around a step, the innermost last
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto here = static_cast<std::int64_t>(i);
    while (!ends.empty() && ends.back() == here) ends.pop_back();
    if (!steps[i]) continue;
    const std::int64_t outer = ends.empty() ? static_cast<std::int64_t>(steps.size()) : ends.back();
    const std::int64_t left = outer - here - 1;
    const std::int64_t first = steps[i]->first, second = steps[i]->second;
    if (first < 0 || second < 0 || first > left || second > left - first) {
      return failure(Code::PS0205,
                     fmt::format("a branch or loop has more steps than there are behind it"),
                     fmt::format("{} steps[{}]", place, i));
    }
    ends.push_back(here + 1 + first + second);
    if (first > 0) ends.push_back(here + 1 + first);
    if (ends.size() > 2 * kMaxDepth)
      return failure(Code::PS0205, "branches and loops are nested too deeply", place);
  }
  return {};
}

}  // namespace penstock
