#include "fusion/last_readers.h"

#include <algorithm>
#include <set>

#include "fusion/plan.h"

namespace penstock::fusion {

bool is_scatter(const Node& node) {
  return node.op == "prim.scatter" || node.op == "prim.scatter_add" ||
         node.op == "prim.scatter_slice";
}

LastReaders last_readers(const FusionPlan& plan) {
  LastReaders last;
  auto note = [&](ValueId value, std::int32_t node) {
    std::int32_t& reader = last.of[value];
    reader = std::max(reader, node);
  };
  for (const Root& root : plan.roots) {
    if (root.group < 0) continue;
    if (root.kind == RootKind::check) last.check = std::max(last.check, root.node);
    for (const Access& access : root.accesses) note(access.value, root.node);
    for (BufferId memory : root.reads) {
      const Buffer& buffer = plan.buffers[memory];
      if (buffer.kind == Buffer::Kind::input) note(static_cast<ValueId>(buffer.index), root.node);
    }
  }
  for (const Region& region : plan.placed.regions) {
    if (region.placement == Placement::compiled) continue;
    for (std::int32_t i = region.first; i < region.last; ++i) {
      for (const NamedArgument& argument : plan.graph().nodes[i].args) {
        for_each_value(argument.value, [&](ValueId id) { note(plan.base_of(id), i); });
      }
    }
  }
  const auto end = static_cast<std::int32_t>(plan.graph().nodes.size());
  for (ValueId output : plan.graph().outputs) note(plan.base_of(output), end);
  return last;
}

bool compute_beforehand(FusionPlan& plan, const std::vector<std::int32_t>& writers) {
  std::set<ValueId> apart;
  for (std::int32_t number : writers) {
    const Node node = plan.node_of(plan.roots[number]);
    for (const char* name : {"src", "index"}) {
      const ValueId value = operand_value(node, name);
      if (value == kNoValue || plan.values[value].node < 0) continue;
      const Role role = plan.values[value].role;
      if (role != Role::view && role != Role::inlined) continue;
      make_root(plan, value);
      plan.values[value].needed = true;
      apart.insert(value);
    }
  }
  if (apart.empty()) return false;
  for (std::size_t id = 0; id < plan.values.size(); ++id) {
    if (apart.contains(plan.base_of(static_cast<ValueId>(id)))) plan.values[id].window.reset();
  }
  return true;
}

}  // namespace penstock::fusion
