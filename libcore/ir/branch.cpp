#include "ir/branch.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {

namespace {

/// Programs run nested branches by recursion.
constexpr std::size_t kMaxDepth = 64;

std::int64_t steps_of(const LibraryCall& call, std::string_view name) {
  const auto found = std::ranges::find(call.attributes, name, &NamedArgument::name);
  const auto* steps = found != call.attributes.end() ? found->value.as<std::int64_t>() : nullptr;
  return steps != nullptr ? *steps : 0;
}

}  // namespace

std::optional<Branch> branch_of(const LibraryCall& call) {
  if (call.name != "branch") return std::nullopt;
  return Branch{steps_of(call, "then"), steps_of(call, "otherwise")};
}

Result<void> verify_branches(const Branches& branches, const std::string& place) {
  std::vector<std::int64_t> ends;  ///< of the parts around a step, the innermost last
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const auto here = static_cast<std::int64_t>(i);
    while (!ends.empty() && ends.back() == here) ends.pop_back();
    if (!branches[i]) continue;
    const std::int64_t outer =
        ends.empty() ? static_cast<std::int64_t>(branches.size()) : ends.back();
    const std::int64_t left = outer - here - 1;
    const auto& [then, otherwise] = *branches[i];
    if (then < 0 || otherwise < 0 || then > left || otherwise > left - then) {
      return failure(Code::PS0205, fmt::format("a branch has more steps than there are behind it"),
                     fmt::format("{} steps[{}]", place, i));
    }
    ends.push_back(here + 1 + then + otherwise);
    if (then > 0) ends.push_back(here + 1 + then);
    if (ends.size() > 2 * kMaxDepth)
      return failure(Code::PS0205, "branches are nested too deeply", place);
  }
  return {};
}

}  // namespace penstock
