#include <fmt/format.h>

#include <unordered_set>

#include "ir/graph.h"
#include "ir/interface_verify.h"
#include "ir/subgraphs.h"

namespace penstock {

namespace {

class Checker {
 public:
  Checker(const Graph& graph, int depth)
      : graph_(graph),
        depth_(depth),
        known_(symbol_names(graph.interface.symbols)),
        value_(recorded_sizes(graph.interface.symbols)),
        defined_(graph.values.size(), false) {}

  Result<void> run() {
    if (graph_.level > Level::placed) {
      broken("", fmt::format("a Graph cannot be of level {}", to_string(graph_.level)));
    }
    check_values();
    check_calls();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) check_node(i);
    check_outputs();
    if (result_) result_ = verify_interface(graph_.interface);
    if (result_) check_subgraphs();
    return std::move(result_);
  }

 private:
  void broken(const std::string& place, std::string message) {
    if (!result_) return;
    result_ = failure(Code::PS0205, std::move(message),
                      fmt::format("graph {} {}", to_string(graph_.interface.id), place));
  }

  static constexpr int kMaxDepth = 16;

  /// Those of a placed graph are checked with it.
  void check_subgraphs() {
    if (depth_ > kMaxDepth) return broken("", "subgraphs are nested too deeply");
    std::vector<const Graph*> subgraphs;
    for (const Graph& subgraph : graph_.subgraphs) {
      subgraphs.push_back(&subgraph);
      if (result_) result_ = Checker(subgraph, depth_ + 1).run();
    }
    if (result_ && graph_.level != Level::placed) result_ = verify_subgraphs(graph_, subgraphs);
  }

  void check_values() {
    std::unordered_set<std::string_view> names;
    for (const Value& value : graph_.values) {
      std::string place = "%" + value.name;
      if (value.name.empty()) broken(place, "a value has no name");
      if (!names.insert(value.name).second) broken(place, "two values have this name");
      check_type(value, place);
    }
    std::size_t inputs = graph_.interface.inputs.size();
    if (inputs > graph_.values.size()) return broken("", "there are more inputs than values");
    for (std::size_t i = 0; i < inputs; ++i) defined_[i] = true;
  }

  void check_type(const Value& value, const std::string& place) {
    if (value.is_scalar) {
      value.expression.for_each_symbol([&](std::string_view name) {
        if (!known_.contains(name)) broken(place, fmt::format("symbol {} is not declared", name));
      });
    }
    if (auto checked = verify_type(value.type, known_, value_, place); !checked) {
      broken(place, checked.error().message);
    }
  }

  /// Calls may name values that a pass removed later: they are kept for reports only.
  void check_calls() {
    for (const Call& call : graph_.calls) {
      auto check = [&](ValueId id) {
        if (id >= graph_.values.size()) broken("call " + call.name, "names no value of the graph");
      };
      for (const Argument& argument : call.args) for_each_value(argument, check);
      for (const NamedArgument& argument : call.kwargs) for_each_value(argument.value, check);
      for_each_value(call.result, check);
    }
  }

  void check_node(std::size_t position) {
    const Node& node = graph_.nodes[position];
    std::string place = fmt::format("node {} ({})", position, node.op);
    if (node.op.empty()) broken(place, "a node has no op");
    if (node.call < -1 || node.call >= static_cast<std::int64_t>(graph_.calls.size())) {
      broken(place, fmt::format("call {} does not exist", node.call));
    }
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId id) {
        if (id >= graph_.values.size()) {
          broken(place, fmt::format("value {} does not exist", id));
        } else if (!defined_[id]) {
          broken(place, fmt::format("%{} is used before it is made", graph_.values[id].name));
        }
      });
    }
    for (ValueId id : node.results) {
      if (id >= graph_.values.size()) {
        broken(place, fmt::format("value {} does not exist", id));
      } else if (defined_[id]) {
        broken(place, fmt::format("%{} is made twice", graph_.values[id].name));
      } else {
        defined_[id] = true;
      }
    }
  }

  void check_outputs() {
    if (graph_.outputs.size() != graph_.interface.outputs.size()) {
      broken("", fmt::format("{} outputs are described, {} are given",
                             graph_.interface.outputs.size(), graph_.outputs.size()));
    }
    for (ValueId id : graph_.outputs) {
      if (id >= graph_.values.size() || !defined_[id])
        return broken("outputs", "an output is never made");
    }
    for (std::size_t i = 0; i < graph_.outputs.size() && result_; ++i) {
      const Value& value = graph_.values[graph_.outputs[i]];
      if (!fits(value.type, graph_.interface.outputs[i].type)) {
        broken(fmt::format("output {}", i), fmt::format("it is described as {}, and %{} is {}",
                                                        to_string(graph_.interface.outputs[i].type),
                                                        value.name, to_string(value.type)));
      }
    }
  }

  /// Whether both are of one dtype and, as far as they are known, one size.
  bool fits(const TensorType& a, const TensorType& b) const {
    if (a.dtype != b.dtype || a.rank() != b.rank()) return false;
    for (std::size_t i = 0; i < a.rank(); ++i) {
      const auto one = value_(a.sizes[i]), other = value_(b.sizes[i]);
      if (one && other && *one != *other) return false;
    }
    return true;
  }

  const Graph& graph_;
  int depth_;
  std::unordered_set<std::string_view> known_;
  SizeValue value_;
  std::vector<bool> defined_;
  Result<void> result_;
};

}  // namespace

Result<void> verify_structure(const Graph& graph) {
  return Checker(graph, 0).run();
}

}  // namespace penstock
