#include "interchange/mlir/prims.h"

#include "interchange/mlir/rules/rules.h"
#include "ops/op.h"

namespace penstock::mlir {

namespace {

struct Table {
  PrimRow rows[static_cast<std::size_t>(ops::OpId::count)] = {};
};

constexpr Table make_table() {
  Table table;
#define PS_MLIR(id, function, detail) \
  table.rows[static_cast<std::size_t>(ops::OpId::id)] = {penstock::mlir::function, detail};
#include "interchange/mlir/prims.def"
#undef PS_MLIR
  return table;
}

constexpr Table kTable = make_table();

/// Random draws give other numbers in every runtime, and modules have neither subgraphs nor sizes
/// that elements decide here.
constexpr bool is_complete() {
  for (std::size_t id = 0; id < static_cast<std::size_t>(ops::OpId::abs_default); ++id) {
    const bool left_out = id == static_cast<std::size_t>(ops::OpId::prim_bernoulli) ||
                          id == static_cast<std::size_t>(ops::OpId::prim_cond) ||
                          id == static_cast<std::size_t>(ops::OpId::prim_while_loop) ||
                          id == static_cast<std::size_t>(ops::OpId::prim_scan) ||
                          id == static_cast<std::size_t>(ops::OpId::prim_custom_vjp) ||
                          id == static_cast<std::size_t>(ops::OpId::prim_item) ||
                          id == static_cast<std::size_t>(ops::OpId::prim_nonzero);
    if ((kTable.rows[id].function == nullptr) != left_out) return false;
  }
  return true;
}
static_assert(is_complete(), "every primitive op has a row");

}  // namespace

const PrimRow* find_prim(std::string_view name) {
  const ops::OpFacts* op = ops::find_op(name);
  if (op == nullptr) return nullptr;
  const PrimRow& row = kTable.rows[static_cast<std::size_t>(op->id)];
  return row.function == nullptr ? nullptr : &row;
}

}  // namespace penstock::mlir
