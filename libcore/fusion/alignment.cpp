#include "fusion/alignment.h"

#include <algorithm>

namespace penstock::fusion {

namespace {

/// Renames the rows of all roots of a group by `map`: row r becomes map[r]; -1: an inner dim.
void rename_rows(const FusionPlan& plan, std::int32_t group, const std::vector<std::int32_t>& map,
                 Alignment& alignment) {
  for (std::int32_t root : plan.groups[group].roots) {
    std::vector<std::int32_t> rows = plan.roots[root].row_of;
    for (std::int32_t& row : rows) row = row < 0 ? -1 : map[row];
    alignment.row_of.emplace_back(root, std::move(rows));
  }
}

}  // namespace

bool is_mergeable(const FusionPlan& plan, std::int32_t group) {
  for (std::int32_t root : plan.groups[group].roots) {
    RootKind kind = plan.roots[root].kind;
    if (kind != RootKind::pointwise && kind != RootKind::reduction) return false;
  }
  return !plan.groups[group].roots.empty();
}

Alignment adopt(const FusionPlan& plan, std::int32_t keep, std::int32_t change,
                const std::vector<std::int32_t>& map) {
  Alignment alignment;
  alignment.rows = plan.groups[keep].rows;
  alignment.pinned = true;
  rename_rows(plan, change, map, alignment);
  return alignment;
}

std::vector<std::int32_t> corresponding_rows(const FusionPlan& plan, const Root& reader,
                                             const Access& access) {
  const Root& read = plan.roots[plan.values[access.value].root];
  std::vector<std::int32_t> map(plan.groups[read.group].rows.size(), -1);
  for (std::size_t i = 0; i < access.index.size(); ++i) {
    std::int32_t dim = domain_variable(access.index[i]);
    if (read.row_of[i] >= 0 && dim >= 0) map[read.row_of[i]] = reader.row_of[dim];
  }
  return map;
}

std::vector<std::int32_t> inverse(const std::vector<std::int32_t>& map, std::size_t size) {
  std::vector<std::int32_t> result(size, -1);
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (map[i] >= 0) result[map[i]] = static_cast<std::int32_t>(i);
  }
  return result;
}

bool covers(const std::vector<std::int32_t>& map) {
  return std::find(map.begin(), map.end(), -1) == map.end();
}

void merge_along_accesses(FusionPlan& plan, GroupMerger& merger, ProposeAlignment propose) {
  for (std::size_t r = 0; r < plan.roots.size(); ++r) {
    if (plan.roots[r].group < 0) continue;
    for (const Access& access : plan.roots[r].accesses) {
      const Root& reader = plan.roots[r];
      std::int32_t from = plan.roots[plan.values[access.value].root].group;
      if (from == reader.group || !is_mergeable(plan, from) || !is_mergeable(plan, reader.group))
        continue;
      if (auto alignment = propose(plan, reader, access)) {
        merger.merge(from, reader.group, *alignment);
      }
    }
  }
}

}  // namespace penstock::fusion
