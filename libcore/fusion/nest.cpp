// Nest and zip
//
// Each root starts as a kernel of its own, whose outer loops, the rows, are the dims of its result.
// Two kernels become one when a row of the one needs from the other only the same row:
//
//   rows of a reduction are pinned; pointwise roots can take any of their dims as rows and leave
//   the others to inner loops. So max (rows i) and exp(x - max) over (i, j) share rows i.
//
// The reader's access says how dims correspond: reading max at [d0] inside exp's domain (d0, d1)
// makes exp's d0 the row. An alignment proposes rows for both groups; GroupMerger verifies it for
// every access between them and refuses what would close a cycle.
//
// Zip is the same with all dims as rows: one loop nest whose body computes several roots.
#include <algorithm>
#include <map>
#include <string>

#include "fusion/cost.h"
#include "fusion/group.h"
#include "fusion/rewrite.h"

namespace penstock::fusion {

namespace {

constexpr double kLeastRows = 4;            ///< below, sharing a row loop costs parallelism …
constexpr double kSmallKernel = 16 * 1024;  ///< … unless it is all too small to split

/// Only loops over independent elements and reductions merge.
bool mergeable(const FusionPlan& plan, std::int32_t group) {
  for (std::int32_t root : plan.groups[group].roots) {
    RootKind kind = plan.roots[root].kind;
    if (kind != RootKind::pointwise && kind != RootKind::reduction) return false;
  }
  return !plan.groups[group].roots.empty();
}

/// Renames the rows of all roots of a group by `map`: row r becomes map[r]; -1: an inner dim.
void rename_rows(const FusionPlan& plan, std::int32_t group, const std::vector<std::int32_t>& map,
                 Alignment& alignment) {
  for (std::int32_t root : plan.groups[group].roots) {
    std::vector<std::int32_t> rows = plan.roots[root].row_of;
    for (std::int32_t& row : rows) row = row < 0 ? -1 : map[row];
    alignment.row_of.emplace_back(root, std::move(rows));
  }
}

/// Rows as the group `keep` has them; row r of the group `change` is row map[r] of those.
Alignment adopt(const FusionPlan& plan, std::int32_t keep, std::int32_t change,
                const std::vector<std::int32_t>& map) {
  Alignment alignment;
  alignment.rows = plan.groups[keep].rows;
  alignment.pinned = true;
  rename_rows(plan, change, map, alignment);
  return alignment;
}

/// The correspondence that one access shows: for every row of the group that is read, the row of
/// the reader's group, or -1 where that is none.
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

/// The inverse of a partial map onto `size` numbers.
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

/// Whether loops over these rows leave enough to run in parallel.
bool enough_rows(const FusionPlan& plan, const Sizes& rows, const Sizes& all) {
  return estimate(element_count(rows), plan.interface()) >= kLeastRows ||
         estimate(element_count(all), plan.interface()) <= kSmallKernel;
}

/// A common row loop for the reader of `access` and what it reads; nothing where the rows differ.
std::optional<Alignment> common_rows(const FusionPlan& plan, const Root& reader,
                                     const Access& access) {
  std::int32_t from = plan.roots[plan.values[access.value].root].group, into = reader.group;
  const Group& read = plan.groups[from];
  const Group& reads = plan.groups[into];
  std::vector<std::int32_t> map = corresponding_rows(plan, reader, access);
  std::vector<std::int32_t> back = inverse(map, reads.rows.size());
  if (read.pinned && reads.pinned) {
    if (!covers(map) || !covers(back)) return std::nullopt;
    return adopt(plan, into, from, map);
  }
  if (reads.pinned) {  // what is read is pointwise: it takes the reader's rows
    if (!covers(back) || !enough_rows(plan, reads.rows, read.rows)) return std::nullopt;
    return adopt(plan, into, from, map);
  }
  if (!covers(map) || !enough_rows(plan, read.rows, reads.rows)) return std::nullopt;
  if (!read.pinned) {
    // A pointwise value for each row: worth a row loop when the innermost dim is not in it.
    if (read.rows.empty() || covers(back) || back.back() >= 0) return std::nullopt;
  }
  return adopt(plan, from, into, back);
}

}  // namespace

void nest_rows(FusionPlan& plan) {
  GroupMerger merger(plan);
  for (std::size_t r = 0; r < plan.roots.size(); ++r) {
    if (plan.roots[r].group < 0) continue;
    for (const Access& access : plan.roots[r].accesses) {
      const Root& reader = plan.roots[r];
      std::int32_t from = plan.roots[plan.values[access.value].root].group;
      if (from == reader.group || !mergeable(plan, from) || !mergeable(plan, reader.group))
        continue;
      if (auto alignment = common_rows(plan, reader, access)) {
        merger.merge(from, reader.group, *alignment);
      }
    }
  }
}

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
    if (plan.roots[r].group < 0 || !mergeable(plan, plan.roots[r].group)) continue;
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
      if (from == into || !mergeable(plan, from) ||
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
  for (std::size_t r = 0; r < plan.roots.size(); ++r) {
    if (plan.roots[r].group < 0) continue;
    for (const Access& access : plan.roots[r].accesses) {
      const Root& reader = plan.roots[r];
      std::int32_t from = plan.roots[plan.values[access.value].root].group;
      if (from == reader.group || !mergeable(plan, from) || !mergeable(plan, reader.group))
        continue;
      if (auto alignment = same_ranges(plan, reader, access)) {
        merger.merge(from, reader.group, *alignment);
      }
    }
  }
  zip_siblings(plan, merger);
}

}  // namespace penstock::fusion
