#include "interchange/common/no_form.h"

#include <fmt/format.h>

#include "ir/call_location.h"

namespace penstock::interchange {

Diagnostic no_form(const Graph& graph, std::size_t position, std::string_view format,
                   std::string_view reason) {
  const Node& node = graph.nodes[position];
  return {Code::PS0602,
          fmt::format("{} has no form in {}: {}", node.op, format, reason),
          location_of(graph.calls, {node.call}),
          fmt::format("graph {} node {}", to_string(graph.interface.id), position),
          "Leave the op out of what is exported, or run the graph by `penstock run`.",
          Severity::error};
}

}  // namespace penstock::interchange
