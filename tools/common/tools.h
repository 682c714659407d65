#pragma once

#include <string_view>
#include <vector>

#include "tools/common/command_line.h"

namespace penstock::tools {

/// A row of tools.def.
struct ToolFacts {
  Tool tool;
  std::string_view group;
};

/// All rows, in help's order.
const std::vector<ToolFacts>& all_tools();

/// The row called `name`, which must be one of tools.def.
const Tool& find_tool(std::string_view name);

}  // namespace penstock::tools
