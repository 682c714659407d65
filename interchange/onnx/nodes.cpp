#include "interchange/onnx/nodes.h"

#include <fmt/format.h>

#include "interchange/common/no_form.h"
#include "interchange/onnx/operators.h"
#include "ir/call_location.h"

namespace penstock::onnx {

std::vector<Port::Size> port_sizes(const TensorType& type) {
  std::vector<Port::Size> sizes;
  for (const SymExpr& size : type.sizes) {
    if (const auto number = size.constant())
      sizes.emplace_back(*number);
    else
      sizes.emplace_back(size.to_string());
  }
  return sizes;
}

Result<void> write_nodes(const Graph& graph, Emitter& out) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const auto no_form = [&](std::string_view reason) -> Result<void> {
      return tl::unexpected(interchange::no_form(graph, i, "ONNX", reason));
    };
    const OperatorRow* row = find_row(node.op);
    if (row == nullptr) return no_form("ONNX has no operator for it");
    if (row->whole != nullptr && !stays_whole(graph, node))
      return no_form("ONNX has no operator for it with these arguments");
    for (const NamedArgument& argument : node.args) {
      bool complex = false;
      for_each_value(argument.value,
                     [&](ValueId id) { complex |= is_complex(graph.values[id].type.dtype); });
      if (complex) return no_form("ONNX has no arithmetic of complex numbers");
    }
    const auto location = location_of(graph.calls, {node.call});
    out.set_node(node.results.empty() ? node.op : graph.values[node.results.front()].name,
                 location ? fmt::format("{}:{}", location->file.text(), location->line) : "");
    Rule rule(node, out, row->detail);
    row->function(rule);
    if (rule.arguments().failed()) return no_form(rule.arguments().error()->message);
    if (out.error()) return no_form(*out.error());
  }
  return {};
}

}  // namespace penstock::onnx
