#pragma once

#include <optional>
#include <vector>

#include "fusion/fusion_plan.h"

namespace penstock::fusion {

/// How two groups would run as one: for every root of both, which row each dim of its domain is.
struct Alignment {
  Sizes rows;
  bool pinned = false;
  std::vector<std::pair<std::int32_t, std::vector<std::int32_t>>> row_of;  ///< by root
};

/// Merging groups of a plan, with the checks that keep it free of cycles.
class GroupMerger {
 public:
  explicit GroupMerger(FusionPlan& plan);

  /// Puts the roots of `from` into `into` if the rows of both agree wherever one reads the other,
  /// and no third group stands between. On a device few columns are reduced by themselves: what
  /// reads them all would walk memory as they do. Returns whether it did.
  bool merge(std::int32_t from, std::int32_t into, const Alignment& alignment);

  /// Groups that `group` reads or must follow.
  std::vector<std::int32_t> predecessors(std::int32_t group) const;

  /// Groups in an order in which they may run; dissolved ones are left out.
  std::vector<std::int32_t> order() const;

 private:
  bool reaches(std::int32_t target, std::int32_t start) const;
  bool rows_fit(const Alignment& alignment) const;
  bool rows_agree(std::int32_t from, std::int32_t into) const;
  bool has_few_columns(const Root& root) const;
  bool walks_columns(std::int32_t from, std::int32_t into) const;

  FusionPlan& plan_;
  std::vector<std::vector<std::int32_t>> after_;  ///< by root: roots that it must follow besides
};

/// The number of the domain variable that `expression` is; -1 for anything else.
std::int32_t domain_variable(const SymExpr& expression);

}  // namespace penstock::fusion
