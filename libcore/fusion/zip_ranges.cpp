#include <map>
#include <string>
#include <utility>

#include "fusion/alignment.h"
#include "fusion/group.h"
#include "fusion/rewrite.h"

namespace penstock::fusion {

namespace {

/// One nest for a pointwise root and the pointwise reader of each of its elements.
std::optional<Alignment> same_ranges(const FusionPlan& plan, const Root& reader,
                                     const Access& access) {
  std::int32_t from = plan.roots[plan.values[access.value].root].group;
  if (plan.groups[from].pinned || plan.groups[reader.group].pinned) return std::nullopt;
  std::vector<std::int32_t> map = corresponding_rows(plan, reader, access);
  if (!covers(map) || !covers(inverse(map, plan.groups[reader.group].rows.size()))) {
    return std::nullopt;
  }
  Alignment alignment = adopt(plan, reader.group, from, map);
  alignment.pinned = false;
  return alignment;
}

/// Groups with equal rows that read the same memory or the same root, each tried with the one
/// before.
void zip_siblings(FusionPlan& plan, GroupMerger& merger) {
  std::map<std::string, std::int32_t> last;
  for (std::size_t r = 0; r < plan.roots.size(); ++r) {
    if (plan.roots[r].group < 0 || !is_mergeable(plan, plan.roots[r].group)) continue;
    const Group& group = plan.groups[plan.roots[r].group];
    std::string rows = std::to_string(group.region) + (group.pinned ? 'p' : 'f');
    for (const SymExpr& size : group.rows) rows += ',' + size.to_string();
    if (group.rows.empty()) continue;
    std::vector<std::string> keys;
    for (const Access& access : plan.roots[r].accesses)
      keys.push_back(rows + '%' + std::to_string(access.value));
    for (BufferId buffer : plan.roots[r].reads) keys.push_back(rows + '@' + std::to_string(buffer));
    for (const std::string& key : keys) {
      std::int32_t into = plan.roots[r].group;
      auto [found, is_new] = last.try_emplace(key, into);
      if (is_new) continue;
      std::int32_t from = std::exchange(found->second, into);
      if (from == into || !is_mergeable(plan, from) ||
          plan.groups[from].rows != plan.groups[into].rows ||
          plan.groups[from].pinned != plan.groups[into].pinned) {
        continue;
      }
      std::vector<std::int32_t> same(plan.groups[into].rows.size());
      for (std::size_t i = 0; i < same.size(); ++i) same[i] = static_cast<std::int32_t>(i);
      Alignment alignment = adopt(plan, into, from, same);
      alignment.pinned = plan.groups[into].pinned;
      merger.merge(from, into, alignment);
    }
  }
}

}  // namespace

void zip_ranges(FusionPlan& plan) {
  GroupMerger merger(plan);
  merge_along_accesses(plan, merger, same_ranges);
  zip_siblings(plan, merger);
}

}  // namespace penstock::fusion
