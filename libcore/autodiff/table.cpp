#include <algorithm>
#include <string>
#include <unordered_map>

#include "autodiff/vjp.h"
#include "passes/decompose/composites.h"

namespace penstock::autodiff {

namespace {

using ops::OpId;

struct Entry {
  VjpRow row;
  bool exists = false;
  bool twice = false;
};

struct Table {
  Entry entries[static_cast<std::size_t>(OpId::count)] = {};
  constexpr void add(OpId id, VjpRow row) {
    Entry& entry = entries[static_cast<std::size_t>(id)];
    entry = {row, true, entry.exists};
  }
};

constexpr Table make_table() {
  Table table;
#define PS_VJP(id, function, detail) \
  table.add(OpId::id, {VjpKind::rule, penstock::autodiff::function, detail});
#define PS_THROUGH(id) table.add(OpId::id, {VjpKind::through, nullptr, {}});
#define PS_CONSTANT(id) table.add(OpId::id, {VjpKind::constant, nullptr, {}});
#define PS_BY_TORCH(id) table.add(OpId::id, {VjpKind::by_torch, nullptr, {}});
#define PS_NO_VJP(id) table.add(OpId::id, {VjpKind::missing, nullptr, {}});
#include "autodiff/vjp.def"
  return table;
}

constexpr Table kTable = make_table();

/// Columns of the op tables that say whether a row must be there: in-place ops share that of their
/// namesake.
struct Duty {
  OpId id;
  bool in_place;
};
using namespace ops;  // the flags of ops.def are named without a qualifier
constexpr Duty kDuties[] = {
#define PS_PRIM(name, group, operands, attributes, result) {OpId::prim_##name, false},
#include "ops/prims.def"
#undef PS_PRIM
#define PS_OP(id, name, family, flags, rule, reference) \
  {OpId::id, OpFamily::family == OpFamily::in_place},
#include "ops/ops.def"
#undef PS_OP
};

constexpr bool is_complete() {
  for (const Duty& duty : kDuties) {
    const Entry& entry = kTable.entries[static_cast<std::size_t>(duty.id)];
    if (entry.exists == duty.in_place || entry.twice) return false;
  }
  return true;
}
static_assert(is_complete(), "every op has one row in vjp.def, unless it writes its argument");

VjpRow row_of_composite(std::string_view op) {
  static const auto* const rows = new std::unordered_map<std::string_view, VjpRow>{
#define PS_VJP_COMPOSITE(op, function, detail) \
  {op, {VjpKind::rule, penstock::autodiff::function, detail}},
#define PS_THROUGH_COMPOSITE(op) {op, {VjpKind::through, nullptr, {}}},
#include "autodiff/vjp.def"
  };
  const auto row = rows->find(op);
  if (row != rows->end()) return row->second;
  return {op.starts_with("aten.") ? VjpKind::by_torch : VjpKind::missing, nullptr, {}};
}

}  // namespace

VjpRow vjp_row(std::string_view name) {
  const OpFacts* op = find_op(name);
  if (op != nullptr && op->family == OpFamily::in_place) {
    op = functional_op(*op);
    if (op == nullptr) return {VjpKind::through, nullptr, {}};  // what it writes is an argument
  }
  if (op != nullptr) return kTable.entries[static_cast<std::size_t>(op->id)].row;
  if (!writes_by_name(name)) return row_of_composite(name);
  std::string pure(name);
  pure.erase(pure.rfind('.') - 1, 1);
  return row_of_composite(pure);
}

bool keeps_whole(std::string_view name) {
  const OpFacts* op = find_op(name);
  if (op != nullptr && op->is_prim()) return false;
  if (name == kDetach) return true;
  const VjpKind kind = vjp_row(name).kind;
  return kind == VjpKind::rule || kind == VjpKind::by_torch || kind == VjpKind::missing;
}

}  // namespace penstock::autodiff
