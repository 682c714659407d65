#include <string_view>

#include "fusion/kernel_builder.h"
#include "ops/op.h"

namespace penstock::fusion {

namespace {

struct Row {
  ops::PrimGroup group;
  Lowering lowering;  ///< null: the loops around decide, see emit.cpp
};

constexpr Row kRows[] = {
    {ops::PrimGroup::none, nullptr},           {ops::PrimGroup::unary, lower_pointwise},
    {ops::PrimGroup::binary, lower_pointwise}, {ops::PrimGroup::ternary, lower_pointwise},
    {ops::PrimGroup::cast, lower_cast},        {ops::PrimGroup::view, lower_view},
    {ops::PrimGroup::join, lower_join},        {ops::PrimGroup::reduce, lower_reduce},
    {ops::PrimGroup::scan, nullptr},           {ops::PrimGroup::index, lower_index},
    {ops::PrimGroup::create, lower_create},    {ops::PrimGroup::effect, nullptr},
    {ops::PrimGroup::check, nullptr},          {ops::PrimGroup::draw, nullptr},
    {ops::PrimGroup::control, nullptr},        {ops::PrimGroup::decide, nullptr},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].group != static_cast<ops::PrimGroup>(i)) return false;
  }
  return std::size(kRows) == static_cast<std::size_t>(ops::PrimGroup::decide) + 1;
}
static_assert(in_order(), "every group of prims has a row, in the order of PrimGroup");

}  // namespace

Lowering lowering_of(std::string_view op) {
  if (op == "aten.embedding.default") return lower_index;
  if (ops::is_product(op)) return lower_product;
  if (op == "prim.scatter" || op == "prim.scatter_add") return nullptr;
  const ops::OpFacts* facts = ops::find_op(op);
  return facts != nullptr ? kRows[static_cast<std::size_t>(facts->group)].lowering : nullptr;
}

}  // namespace penstock::fusion
