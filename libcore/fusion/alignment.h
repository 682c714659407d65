#pragma once

#include <optional>
#include <vector>

#include "fusion/group.h"

// How the rows of one group correspond to those of another that reads it: what nest_rows and
// zip_ranges merge by.
namespace penstock::fusion {

/// Only loops over independent elements and reductions merge.
bool is_mergeable(const FusionPlan& plan, std::int32_t group);

/// Rows as the group `keep` has them; row r of the group `change` is row map[r] of those.
Alignment adopt(const FusionPlan& plan, std::int32_t keep, std::int32_t change,
                const std::vector<std::int32_t>& map);

/// The correspondence that one access shows: for every row of the group that is read, the row of
/// the reader's group, or -1 where that is none.
std::vector<std::int32_t> corresponding_rows(const FusionPlan& plan, const Root& reader,
                                             const Access& access);

/// The inverse of a partial map onto `size` numbers.
std::vector<std::int32_t> inverse(const std::vector<std::int32_t>& map, std::size_t size);

/// Whether the map has a number for each.
bool covers(const std::vector<std::int32_t>& map);

/// Merges the group of every root with those that it reads, where `propose` has an alignment for
/// the access. Linear in accesses.
using ProposeAlignment = std::optional<Alignment> (*)(const FusionPlan& plan, const Root& reader,
                                                      const Access& access);
void merge_along_accesses(FusionPlan& plan, GroupMerger& merger, ProposeAlignment propose);

}  // namespace penstock::fusion
