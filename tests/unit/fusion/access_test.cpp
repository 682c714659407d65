#include "fusion/access.h"

#include <doctest/doctest.h>

namespace penstock::fusion {
namespace {

constexpr std::int64_t kRows = 6273, kColumns = 192;  // more iterations than are enumerated

Instruction instruction(const char* op, ScalarId result, DType dtype) {
  Instruction made;
  made.op = op;
  made.result = result;
  made.dtype = dtype;
  return made;
}

/// Whether `index` lies in 0 … last where floordiv(i0 + 27, 28) >= 1, which is from i0 = 1 on.
bool inside_behind_the_first_row(const SymExpr& index, std::int64_t last) {
  Loop rows, columns;
  rows.variable = "i0";
  rows.extent = kRows;
  columns.variable = "i1";
  columns.extent = kColumns;
  AccessProver prover({});
  prover.enter(rows);
  prover.enter(columns);
  Instruction block = instruction("index", 0, DType::int64);
  block.index = floordiv(SymExpr::symbol("i0") + 27, 28);
  Instruction one = instruction("constant", 1, DType::int64);
  one.immediate = std::int64_t{1};
  Instruction behind = instruction("ge", 2, DType::bool_);
  behind.operands = {0, 1};
  for (const Instruction& each : {block, one, behind}) prover.learn(each);
  return prover.inside(index, 0, last, 2);
}

TEST_CASE("of a loop that the index grows with evenly the ends are enumerated") {
  const SymExpr row = SymExpr::symbol("i0") - 1, column = SymExpr::symbol("i1");
  const std::int64_t last = (kRows - 1) * kColumns - 1;
  CHECK(inside_behind_the_first_row(row * kColumns + column, last));
  CHECK_FALSE(inside_behind_the_first_row(row * kColumns + column, last - 1));
  CHECK_FALSE(inside_behind_the_first_row(row * kColumns + column - 1, last));
  CHECK(inside_behind_the_first_row(row * kColumns - column + kColumns - 1, last));
  CHECK_FALSE(inside_behind_the_first_row(row * kColumns - column + kColumns - 2, last));
}

TEST_CASE("an index that grows unevenly is not taken to lie between its ends") {
  const SymExpr row = SymExpr::symbol("i0") - 1, column = SymExpr::symbol("i1");
  // At both ends of i1 it is row * 192.
  const SymExpr bulge = row * kColumns + column * (kColumns - 1 - column);
  CHECK_FALSE(inside_behind_the_first_row(bulge, (kRows - 1) * kColumns));
}

TEST_CASE("a place of data is inside of as many rows as a size says, in loops of constant length") {
  RangeFacts sizes;
  sizes.set("s0", {SymExpr(2), std::nullopt});
  Loop loop;
  loop.variable = "i0";
  loop.extent = 4;
  AccessProver prover(sizes);
  prover.enter(loop);
  const SymExpr rows = SymExpr::symbol("s0");
  Instruction place = instruction("load", 0, DType::int64);
  Instruction least = instruction("constant", 1, DType::int64);
  least.immediate = std::int64_t{0};
  Instruction most = instruction("index", 2, DType::int64);
  most.index = rows - 1;
  Instruction above = instruction("maximum", 3, DType::int64);
  above.operands = {0, 1};
  Instruction between = instruction("minimum", 4, DType::int64);
  between.operands = {3, 2};
  for (const Instruction& each : {place, least, most, above, between}) prover.learn(each);
  const SymExpr index = SymExpr::symbol("v4") * 4 + SymExpr::symbol("i0");
  CHECK(prover.inside(index, 0, rows * 4 - 1, -1));
  CHECK_FALSE(prover.inside(index, 0, rows * 4 - 2, -1));
  CHECK_FALSE(prover.inside(index, 1, rows * 4 - 1, -1));
}

}  // namespace
}  // namespace penstock::fusion
