// Keep
//
// In a kernel with row loops, a root that is not stored is computed again in every inner loop that
// asks for it. For cheap arithmetic on a row that is in the L1 cache by then, that is the best one
// can do. What costs more than a store and a load is kept: a scratch row, one for each thread. So
// is a row of a product, also for one reader: a sum over the left factor's row at each element is
// no loop of vectors. And so is what would be computed so often that a kernel grows faster than its
// ops.
#include <algorithm>

#include "fusion/cost.h"
#include "fusion/group.h"
#include "fusion/kernel_builder.h"
#include "fusion/loops.h"
#include "fusion/plan.h"
#include "fusion/rewrite.h"
#include "ops/op.h"

namespace penstock::fusion {

namespace {

constexpr int kWorthKeeping = 8;       ///< additions; a store and a load cost about two
constexpr int kWorthKeepingOften = 2;  ///< the same for what every column of a product reads
constexpr std::int64_t kMaxRow =
    32 * 1024;  ///< bytes: half of a usual L1 cache, with room beside it

/// Arithmetic for one element of a root, up to other roots and memory.
int weight_of(const FusionPlan& plan, const Root& root) {
  KernelBuilder builder(plan, -1, [&](KernelBuilder& asking, ValueId value, const Index&) {
    return std::optional(asking.constant(std::int64_t{0}, plan.type(value).dtype));
  });
  Index index = domain_variables(root.domain.size());
  for (std::size_t i = 0; i < index.size(); ++i) {
    builder.open_loop(root.domain[i], std::string(index[i].symbol_name()));
  }
  builder.compute(plan.node_of(root).results.front(), index);
  int weight = 0;
  for (std::int32_t node : builder.nodes()) {
    const std::string& op = plan.graph().nodes[node].op;
    weight += op_weight(std::string_view(op).substr(op.find('.') + 1));
  }
  return weight;
}

/// The length of the root's row in bytes; nothing when it is not constant.
std::optional<std::int64_t> row_bytes(const FusionPlan& plan, const Root& root) {
  std::int64_t bytes = facts(plan.type(plan.node_of(root).results.front()).dtype).size;
  bool inner = false;
  for (std::size_t i = 0; i < root.domain.size(); ++i) {
    if (root.row_of[i] >= 0 || root.domain[i] == SymExpr(1)) continue;
    auto size = root.domain[i].constant();
    if (!size) return std::nullopt;
    bytes *= *size;
    inner = true;
  }
  return inner ? std::optional(bytes) : std::nullopt;
}

/// Whether a loop of the row that the access does not vary with stands around one with which it
/// does: each element is asked for again in every iteration of that loop.
bool asks_again(const Root& root, const Access& access) {
  const Index variables = domain_variables(root.domain.size());
  bool varies_inside = false;
  for (std::size_t i = root.domain.size(); i-- > 0;) {
    if (root.row_of[i] >= 0 || root.domain[i] == SymExpr(1)) continue;
    const bool varies = std::ranges::any_of(
        access.index, [&](const SymExpr& e) { return mentions(e, variables[i].symbol_name()); });
    if (!varies && varies_inside) return true;
    varies_inside |= varies;
  }
  return false;
}

/// Keeps what would be computed again and again: a root that several inner loops ask for, each of
/// which is asked for by several in turn. Where no row of scratch memory holds it, it is stored.
/// From then on it is computed once.
class Repetitions {
 public:
  /// `leaves`: by value, whether another group reads it.
  Repetitions(FusionPlan& plan, const std::vector<bool>& leaves)
      : plan_(plan), leaves_(leaves), asked_(plan.roots.size(), 0) {}

  void limit() {
    for (const Group& group : plan_.groups) {
      for (auto number = group.roots.rbegin();
           group.roots.size() > 1 && number != group.roots.rend(); ++number)
        look_at(*number);
    }
  }

 private:
  bool is_once(const Root& root) const {
    const auto& results = plan_.node_of(root).results;
    const bool stored = std::ranges::all_of(
        results, [&](ValueId value) { return plan_.values[value].needed || leaves_[value]; });
    if (root.scratch || stored) return true;
    for (std::size_t i = 0; i < root.domain.size(); ++i) {
      if (root.row_of[i] < 0 && root.domain[i] != SymExpr(1)) return false;
    }
    return true;
  }

  /// Readers come later in a group, so they have been looked at.
  void look_at(std::int32_t number) {
    Root& root = plan_.roots[number];
    const double times = asked_[number];
    if (!is_once(root) && times > 1 && times * root.instructions > kMostAgain) keep(root);
    const double each = is_once(root) ? 1 : std::max(times, 1.0);
    for (const Access& access : root.accesses) {
      const std::int32_t read = plan_.values[access.value].root;
      if (plan_.roots[read].group == root.group)
        asked_[read] = std::min(asked_[read] + each, kMostTimes);
    }
  }

  void keep(Root& root) {
    const auto bytes = row_bytes(plan_, root);
    if (root.kind == RootKind::pointwise && bytes && *bytes <= kMaxRow) {
      root.scratch = true;
      return;
    }
    for (ValueId value : plan_.node_of(root).results) plan_.values[value].needed = true;
  }

  static constexpr double kMostAgain =
      512;  ///< instructions that are computed again rather than kept
  static constexpr double kMostTimes = 1e9;

  FusionPlan& plan_;
  const std::vector<bool>& leaves_;
  std::vector<double> asked_;  ///< by root: in how many places of its kernel
};

}  // namespace

void keep_rows(FusionPlan& plan) {
  std::vector<int> readers(plan.values.size(), 0);
  std::vector<bool> leaves(plan.values.size(), false), often(plan.values.size(), false);
  for (const Root& root : plan.roots) {
    if (root.group < 0) continue;
    for (const Access& access : root.accesses) {
      bool other = plan.roots[plan.values[access.value].root].group != root.group;
      if (other) leaves[access.value] = true;
      readers[access.value] += asks_again(root, access) ? 2 : 1;
      if (ops::is_product(plan.node_of(root).op)) often[access.value] = true;
    }
  }
  for (Root& root : plan.roots) {
    const bool product = ops::is_product(plan.node_of(root).op);
    if (root.group < 0 || (root.kind != RootKind::pointwise && !product)) continue;
    ValueId value = plan.node_of(root).results.front();
    if (plan.values[value].needed || leaves[value]) continue;
    if (!product && readers[value] < 2 && !often[value]) continue;
    auto bytes = row_bytes(plan, root);
    if (!bytes || *bytes > kMaxRow) continue;
    if (product || weight_of(plan, root) >= (often[value] ? kWorthKeepingOften : kWorthKeeping))
      root.scratch = true;
  }
  Repetitions(plan, leaves).limit();
}

}  // namespace penstock::fusion
