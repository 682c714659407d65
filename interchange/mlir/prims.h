#pragma once

#include <string_view>

#include "interchange/mlir/rule.h"

namespace penstock::mlir {

/// A row of prims.def.
struct PrimRow {
  RuleFunction function = nullptr;  ///< null: the op has no row
  std::string_view detail;
};

/// The row of the op called `name`; null where it has none.
const PrimRow* find_prim(std::string_view name);

}  // namespace penstock::mlir
