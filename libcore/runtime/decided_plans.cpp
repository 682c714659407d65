#include "runtime/decided_plans.h"

#include <algorithm>
#include <utility>

namespace penstock::runtime {

namespace {

/// Beside the one at hand. Each has kernels of the library, which take some tens of kilobytes.
constexpr std::size_t kMostKept = 15;

/// Puts another plan at hand, and what was at hand in its place.
void exchange(const DecidedParts::Part& part, Plan& plan, Plan::DecidedPlan& now,
              Plan::DecidedPlan& other) {
  std::swap(now.sizes, other.sizes);
  std::swap(now.arena_bytes, other.arena_bytes);
  std::swap(now.scratch_bytes, other.scratch_bytes);
  for (std::size_t i = 0; i < part.buffers.size(); ++i) {
    const auto id = static_cast<std::size_t>(part.buffers[i]);
    std::swap(plan.windows[id], other.windows[i]);
    std::swap(plan.arena_offsets[id], other.arena_offsets[i]);
    std::swap(plan.output_bytes[id], other.output_bytes[i]);
  }
  auto start = other.pointer_start.begin();
  for (std::size_t i = 0; i < part.steps.size(); ++i) {
    PlannedStep& step = plan.steps[static_cast<std::size_t>(part.steps[i])];
    const auto first = plan.pointer_start.begin() + step.first;
    start = std::swap_ranges(first, first + step.count, start);
    std::swap(step, other.steps[i]);
  }
}

/// A plan for no size, whose steps have the places of those at hand.
Plan::DecidedPlan empty_plan(const DecidedParts::Part& part, const Plan& plan) {
  Plan::DecidedPlan made;
  made.windows.resize(part.buffers.size());
  made.arena_offsets.resize(part.buffers.size());
  made.output_bytes.resize(part.buffers.size());
  std::size_t pointers = 0;
  for (const std::int32_t number : part.steps) {
    const PlannedStep& step = plan.steps[static_cast<std::size_t>(number)];
    PlannedStep& own = made.steps.emplace_back();
    own.step = step.step;
    own.first = step.first;
    own.count = step.count;
    pointers += static_cast<std::size_t>(step.count);
  }
  made.pointer_start.resize(pointers);
  return made;
}

}  // namespace

std::vector<std::int64_t> decided_key(const DecidedParts& parts, const Plan& plan, std::size_t part,
                                      std::int64_t size) {
  std::vector<std::int64_t> key{size};
  for (const std::int32_t symbol : parts.parts[part].needs)
    key.push_back(plan.symbols[static_cast<std::size_t>(symbol)]);
  return key;
}

bool find_decided_plan(const DecidedParts& parts, Plan& plan, std::size_t part, std::int64_t size) {
  const std::vector<std::int32_t>& needs = parts.parts[part].needs;
  const auto is_for = [&](const Plan::DecidedPlan& planned) {
    if (planned.sizes.empty() || planned.sizes.front() != size) return false;
    return std::equal(needs.begin(), needs.end(), planned.sizes.begin() + 1,
                      [&](std::int32_t symbol, std::int64_t value) {
                        return plan.symbols[static_cast<std::size_t>(symbol)] == value;
                      });
  };
  Plan::Decided& decided = plan.decided[part];
  if (is_for(decided.now)) return true;
  const auto found = std::ranges::find_if(decided.kept, is_for);
  if (found == decided.kept.end()) return false;
  exchange(parts.parts[part], plan, decided.now, *found);
  std::rotate(decided.kept.begin(), found, found + 1);
  return true;
}

void keep_decided_plan(const DecidedParts& parts, Plan& plan, std::size_t part) {
  Plan::Decided& decided = plan.decided[part];
  if (decided.now.sizes.empty()) return;
  if (decided.kept.size() < kMostKept) decided.kept.push_back(empty_plan(parts.parts[part], plan));
  std::rotate(decided.kept.begin(), decided.kept.end() - 1, decided.kept.end());
  exchange(parts.parts[part], plan, decided.now, decided.kept.front());
  decided.now.sizes.clear();
}

}  // namespace penstock::runtime
