#pragma once

#include <string_view>

#include "interchange/onnx/rule.h"

namespace penstock::onnx {

/// A row of operators.def.
struct OperatorRow {
  RuleFunction function = nullptr;  ///< null: the op has no row
  std::string_view detail;
  /// Of an op of torch's that is not taken apart where this holds; null: any node of the op is
  /// written by the row.
  bool (*whole)(ops::Arguments&) = nullptr;
};

/// The row of the op called `name`; null where it has none.
const OperatorRow* find_row(std::string_view name);

/// Whether the node is one operator of ONNX: decompose leaves it whole then.
bool stays_whole(const Graph& graph, const Node& node);

}  // namespace penstock::onnx
