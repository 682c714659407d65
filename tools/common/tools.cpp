#include "tools/common/tools.h"

#include <algorithm>

namespace penstock::tools {

const std::vector<ToolFacts>& all_tools() {
  static const std::vector<ToolFacts> rows = {
#define PS_TOOL(name, group, synopsis, level_in, level_out, summary) \
  {{#name, summary, synopsis, level_in, level_out}, #group},
#include "tools/common/tools.def"
#undef PS_TOOL
  };
  return rows;
}

const Tool& find_tool(std::string_view name) {
  const auto& rows = all_tools();
  return std::find_if(rows.begin(), rows.end(),
                      [&](const ToolFacts& row) { return row.tool.name == name; })
      ->tool;
}

}  // namespace penstock::tools
