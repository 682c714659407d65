#include "fusion/group.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <queue>
#include <unordered_set>

#include "fusion/few_columns.h"
#include "fusion/plan.h"
#include "ir/size_estimate.h"
#include "ops/op.h"

namespace penstock::fusion {

namespace {

constexpr std::size_t kMaxRoots = 64;  ///< of a group
constexpr std::int32_t kMaxInstructions =
    2048;  ///< of a group: LLVM takes more than twice as long for twice as many
constexpr std::size_t kMaxVisited = 512;  ///< groups looked at for one merge: keeps merging linear

/// A kernel takes one product, with what stands around it: then the kernels of a network's layers
/// are alike, so that one is compiled for all and its code stays in the cache of instructions. All
/// in one kernel would be slower.
bool has_product(const FusionPlan& plan, const Group& group) {
  return std::ranges::any_of(group.roots, [&](std::int32_t root) {
    return ops::is_product(plan.node_of(plan.roots[root]).op);
  });
}

std::int32_t instructions(const FusionPlan& plan, const Group& group) {
  std::int32_t sum = 0;
  for (std::int32_t root : group.roots) sum += plan.roots[root].instructions;
  return sum;
}

}  // namespace

std::int32_t domain_variable(const SymExpr& expression) {
  std::string_view name = expression.symbol_name();
  if (!name.starts_with(kDomainVariable)) return -1;
  name.remove_prefix(1);
  std::int32_t number = -1;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : -1;
}

GroupMerger::GroupMerger(FusionPlan& plan) : plan_(plan), after_(plan.roots.size()) {
  // What overwrites an input, or what another root wrote, follows all that read that content; and
  // where the memory is the caller's, all that may refuse the run.
  std::map<BufferId, std::vector<std::int32_t>> writers_of_memory;
  std::map<ValueId, std::int32_t> writers;
  auto root_count = static_cast<std::int32_t>(plan.roots.size());
  // One check follows the other, so that a writer behind the last is behind all of them.
  std::int32_t last_check = -1;
  for (std::int32_t r = 0; r < root_count; ++r) {
    if (plan.roots[r].kind != RootKind::check || plan.roots[r].group < 0) continue;
    if (last_check >= 0) after_[r].push_back(last_check);
    last_check = r;
  }
  for (std::int32_t r = 0; r < root_count; ++r) {
    const Root& root = plan.roots[r];
    if (root.group < 0) continue;
    const bool copies = root.kind == RootKind::copy;
    const ValueId over = copies ? operand_value(plan.node_of(root), "self") : root.over;
    if (over == kNoValue) continue;
    const std::optional<Window>& memory = plan.values[over].window;
    const bool callers =
        copies || (memory && plan.buffers[memory->base].kind == Buffer::Kind::input);
    if (callers && last_check >= 0) after_[r].push_back(last_check);
    const bool first = plan.values[over].role == Role::memory;
    if (first)
      writers_of_memory[plan.values[over].window->base].push_back(r);
    else
      writers.emplace(over, r), after_[r].push_back(plan.values[over].root);
  }
  auto add = [&](std::int32_t reader, std::int32_t writer) {
    if (reader != writer && plan.roots[reader].node < plan.roots[writer].node)
      after_[writer].push_back(reader);
  };
  for (std::int32_t r = 0; r < root_count; ++r) {
    if (plan.roots[r].group < 0) continue;
    for (BufferId memory : plan.roots[r].reads) {
      auto found = writers_of_memory.find(memory);
      if (found == writers_of_memory.end()) continue;
      for (std::int32_t writer : found->second) add(r, writer);
    }
    for (const Access& access : plan.roots[r].accesses) {
      if (auto found = writers.find(access.value); found != writers.end()) add(r, found->second);
    }
  }
}

std::vector<std::int32_t> GroupMerger::predecessors(std::int32_t group) const {
  std::vector<std::int32_t> result;
  std::unordered_set<std::int32_t> seen;
  auto add = [&](std::int32_t root) {
    std::int32_t other = plan_.roots[root].group;
    if (other >= 0 && other != group && seen.insert(other).second) result.push_back(other);
  };
  for (std::int32_t root : plan_.groups[group].roots) {
    for (const Access& access : plan_.roots[root].accesses) add(plan_.values[access.value].root);
    for (std::int32_t earlier : after_[root]) add(earlier);
  }
  return result;
}

/// Whether a path leads from `target` to `start` through a third group; true when unsure.
bool GroupMerger::reaches(std::int32_t target, std::int32_t start) const {
  std::unordered_set<std::int32_t> visited;
  std::vector<std::int32_t> stack;
  for (std::int32_t group : predecessors(start)) {
    if (group != target) stack.push_back(group);
  }
  while (!stack.empty()) {
    std::int32_t group = stack.back();
    stack.pop_back();
    if (group == target) return true;
    if (!visited.insert(group).second) continue;
    if (visited.size() > kMaxVisited) return true;
    for (std::int32_t next : predecessors(group)) stack.push_back(next);
  }
  return false;
}

/// Whether every root of one group that reads a root of the other reads it in its own row.
bool GroupMerger::rows_agree(std::int32_t from, std::int32_t into) const {
  auto agrees = [&](std::int32_t reader_group, std::int32_t read_group) {
    for (std::int32_t number : plan_.groups[reader_group].roots) {
      const Root& reader = plan_.roots[number];
      for (const Access& access : reader.accesses) {
        const Root& read = plan_.roots[plan_.values[access.value].root];
        if (read.group != read_group) continue;
        for (std::size_t i = 0; i < access.index.size(); ++i) {
          if (read.row_of[i] < 0) continue;
          std::int32_t dim = domain_variable(access.index[i]);
          if (dim < 0 || reader.row_of[dim] != read.row_of[i]) return false;
        }
      }
    }
    return true;
  };
  return agrees(from, into) && agrees(into, from) && agrees(into, into) && agrees(from, from);
}

/// Whether the dims that become rows are as long as these: a pad has more of them than what it
/// reads.
bool GroupMerger::rows_fit(const Alignment& alignment) const {
  for (const auto& [number, rows] : alignment.row_of) {
    const Root& root = plan_.roots[number];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] >= 0 && root.domain[i] != alignment.rows[rows[i]]) return false;
    }
  }
  return true;
}

bool GroupMerger::has_few_columns(const Root& root) const {
  const Node& node = plan_.node_of(root);
  const ops::OpFacts* op = ops::find_op(node.op);
  if (op == nullptr || op->group != ops::PrimGroup::reduce) return false;
  const TensorType& self = plan_.type(operand_value(node, "self"));
  double length = 1;
  bool rows = false;
  for (const std::int64_t dim : integer_list(node, "dims")) {
    const auto at = static_cast<std::size_t>(dim);
    length *= estimate(self.sizes[at], plan_.interface());
    rows = rows || (self.strides[at] == SymExpr(1) && self.sizes[at] != SymExpr(1));
  }
  double columns = 1;
  for (const SymExpr& size : root.domain) columns *= estimate(size, plan_.interface());
  return !rows && are_few_columns(columns, length);
}

/// Whether loops inside of the rows would read what comes of few columns of theirs.
bool GroupMerger::walks_columns(std::int32_t from, std::int32_t into) const {
  if (plan_.device == "cpu") return false;
  const std::int32_t groups[] = {from, into};
  const auto of_rows = [](const Root& root) { return std::ranges::count(root.row_of, -1) == 0; };
  const auto any = [&](const auto& holds) {
    return std::ranges::any_of(groups, [&](std::int32_t group) {
      return std::ranges::any_of(plan_.groups[group].roots,
                                 [&](std::int32_t number) { return holds(plan_.roots[number]); });
    });
  };
  if (!any([&](const Root& root) { return has_few_columns(root); })) return false;
  return any([&](const Root& reader) {
    const bool loops = reader.kind != RootKind::pointwise || !of_rows(reader);
    return loops && std::ranges::any_of(reader.accesses, [&](const Access& access) {
             const Root& read = plan_.roots[plan_.values[access.value].root];
             return (read.group == from || read.group == into) && of_rows(read);
           });
  });
}

bool GroupMerger::merge(std::int32_t from, std::int32_t into, const Alignment& alignment) {
  Group& a = plan_.groups[from];
  Group& b = plan_.groups[into];
  if (a.region != b.region || a.roots.size() + b.roots.size() > kMaxRoots) return false;
  if (instructions(plan_, a) + instructions(plan_, b) > kMaxInstructions) return false;
  if (has_product(plan_, a) && has_product(plan_, b)) return false;
  if (!rows_fit(alignment)) return false;
  if (reaches(from, into) || reaches(into, from)) return false;
  std::vector<std::vector<std::int32_t>> before;
  for (const auto& [root, rows] : alignment.row_of) {
    before.push_back(std::exchange(plan_.roots[root].row_of, rows));
  }
  if (!rows_agree(from, into) || walks_columns(from, into)) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      plan_.roots[alignment.row_of[i].first].row_of = std::move(before[i]);
    }
    return false;
  }
  b.rows = alignment.rows;
  b.pinned = alignment.pinned;
  for (std::int32_t root : a.roots) {
    plan_.roots[root].group = into;
    b.roots.push_back(root);
  }
  a.roots.clear();
  std::sort(b.roots.begin(), b.roots.end(), [&](std::int32_t x, std::int32_t y) {
    return plan_.roots[x].node < plan_.roots[y].node;
  });
  return true;
}

std::vector<std::int32_t> GroupMerger::order() const {
  // By region, and within one the first node of a group decides among groups that are ready.
  using Entry = std::pair<std::int32_t, std::int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<std::vector<std::int32_t>> successors(plan_.groups.size());
  std::vector<std::int32_t> missing(plan_.groups.size(), 0);
  std::vector<std::int32_t> result;
  auto make_ready = [&](std::int32_t group) {
    ready.emplace(plan_.roots[plan_.groups[group].roots.front()].node, group);
  };
  for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
    if (plan_.groups[g].roots.empty()) continue;
    auto number = static_cast<std::int32_t>(g);
    for (std::int32_t before : predecessors(number)) {
      successors[before].push_back(number);
      ++missing[g];
    }
    if (missing[g] == 0) make_ready(number);
  }
  while (!ready.empty()) {
    std::int32_t group = ready.top().second;
    ready.pop();
    result.push_back(group);
    for (std::int32_t next : successors[group]) {
      if (--missing[next] == 0) make_ready(next);
    }
  }
  return result;
}

}  // namespace penstock::fusion
