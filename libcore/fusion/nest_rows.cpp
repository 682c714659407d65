// Nest rows
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
// zip_ranges does the same with all dims as rows: one loop nest whose body computes several roots.
#include "fusion/alignment.h"
#include "fusion/group.h"
#include "fusion/loops.h"
#include "fusion/rewrite.h"
#include "ir/size_estimate.h"
#include "ops/op.h"

namespace penstock::fusion {

namespace {

constexpr double kLeastRows = 4;            ///< below, sharing a row loop costs parallelism …
constexpr double kSmallKernel = 16 * 1024;  ///< … unless it is all too small to split

/// Whether loops over these rows leave enough to run in parallel.
bool enough_rows(const FusionPlan& plan, const Sizes& rows, const Sizes& all) {
  return estimate(element_count(rows), plan.interface()) >= kLeastRows ||
         estimate(element_count(all), plan.interface()) <= kSmallKernel;
}

/// On a device the columns of a product's row are what keeps it busy: a block that took the row for
/// the sake of what is computed from it would do all of them alone.
bool spreads_columns(const FusionPlan& plan, std::int32_t group) {
  return plan.device != "cpu" &&
         std::ranges::any_of(plan.groups[group].roots, [&](std::int32_t root) {
           return ops::is_product(plan.node_of(plan.roots[root]).op);
         });
}

/// A common row loop for the reader of `access` and what it reads; nothing where the rows differ.
std::optional<Alignment> common_rows(const FusionPlan& plan, const Root& reader,
                                     const Access& access) {
  std::int32_t from = plan.roots[plan.values[access.value].root].group, into = reader.group;
  if (spreads_columns(plan, from) || spreads_columns(plan, into)) return std::nullopt;
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
    // A device's thread would take a whole row, of which there may be few: of channels, say.
    if (plan.device != "cpu") return std::nullopt;
    // A pointwise value for each row: worth a row loop when the innermost dim is not in it and long
    // enough for vectors.
    if (read.rows.empty() || covers(back) || back.back() >= 0) return std::nullopt;
    if (estimate(reads.rows.back(), plan.interface()) < kFewIterations) return std::nullopt;
  }
  return adopt(plan, from, into, back);
}

}  // namespace

void nest_rows(FusionPlan& plan) {
  GroupMerger merger(plan);
  merge_along_accesses(plan, merger, common_rows);
}

}  // namespace penstock::fusion
