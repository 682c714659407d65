#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/argument.h"
#include "ir/interface.h"
#include "ir/tensor_type.h"

namespace penstock {

/// Levels of a document; each has a C++ type of its own: Graph (torch, core), PlacedGraph
/// (partition/placed_graph.h), LoopProgram (fusion/loop_program.h), KernelBundle
/// (bundle/kernel_bundle.h).
enum class Level : std::uint8_t { torch, core, placed, loops, kernels };
std::string_view to_string(Level level);
std::optional<Level> level_from_name(std::string_view name);

/// The Python stack at a call: a frame, and those that it was called from, which the calls made in
/// them share.
struct StackFrame {
  SharedText function;
  Location location;
  std::shared_ptr<const StackFrame> caller;  ///< null: outermost
};
using CallStack = std::shared_ptr<const StackFrame>;  ///< the innermost frame; null: not known

/// A public call as the program wrote it: what FX prints.
struct Call {
  std::string opcode;          ///< "call_function" or "call_method"
  std::string name;            ///< unique: "truediv", "truediv_1"
  std::string target;          ///< "operator.truediv", "torch.relu", "add_"
  std::vector<Argument> args;  ///< values are those that the nodes of earlier calls made
  std::vector<NamedArgument> kwargs;
  CallStack stack;
  Argument result;               ///< what it gave, in values: one value, a list of them, None
  std::int32_t checkpoint = -1;  ///< which activation checkpoint it ran in (ir/checkpoint.h)
};

/// A value of the graph: an input, or one result of a node.
struct Value {
  std::string name;  ///< unique in the graph
  TensorType type;
  /// A scalar result (sym_size, item): an integer expression instead of a tensor.
  bool is_scalar = false;
  SymExpr expression;
};

/// An op applied to values. `op` is "aten.NAME.OVERLOAD" (torch and core levels) or "prim.NAME".
struct Node {
  std::string op;
  std::vector<NamedArgument>
      args;                      ///< by schema name and in schema order; defaults may be left out
  std::vector<ValueId> results;  ///< none for an effect, several for a multi-output op
  std::int32_t call = -1;        ///< position in Graph::calls; -1: made by a pass
};

/// What add_value knows of the names in a graph, so that a fresh one costs no search: filled on
/// demand from the values that were added since. Values must not be renamed behind its back to
/// names of the form that add_value makes.
struct NameIndex {
  std::unordered_map<std::string, std::uint32_t> next;  ///< name in use -> next suffix to try
  std::size_t indexed = 0;                              ///< values that stand in `next`
};

/// A graph of the levels `torch` and `core`. Nodes stand in execution order; every value is made
/// once and before its use. Values 0 … inputs-1 are the inputs.
struct Graph {
  Level level = Level::torch;
  Interface interface;
  std::vector<Value> values;
  std::vector<Call> calls;  ///< kept through all passes for reports
  std::vector<Node> nodes;
  std::vector<ValueId> outputs;  ///< one per Interface::outputs
  /// Graphs that nodes run, which name them by Interface::name (ir/subgraphs.h). Of the same level;
  /// those of a placed graph stand in PlacedGraph.
  std::vector<Graph> subgraphs;
  NameIndex names;  ///< add_value's; no part of the graph's meaning
};

/// The argument called `name`, or null when it stands at its default.
const Argument* find_argument(const Node& node, std::string_view name);
/// The tensor operand `name`; kNoValue when it is a number or left out.
ValueId operand_value(const Node& node, std::string_view name);
/// Gives the argument `name` another value, also where it stood at its default.
void set_argument(Node& node, std::string_view name, Argument value);

/// Appends a value with a unique name: `stem`, else `stem`_1, `stem`_2, …
ValueId add_value(Graph& graph, std::string_view stem, TensorType type);

/// Checks what holds at graph.level for every producer: order, single definition, names unique,
/// arity of outputs, known symbols. Room ops adds what needs op facts (ops/contract.h).
Result<void> verify_structure(const Graph& graph);

/// One node of FX-like text, without a newline: "%y = prim.exp(%x) -> float32[8]".
std::string to_text(const Graph& graph, const Node& node);
/// FX-like text: one line a node, types behind it.
std::string to_text(const Graph& graph);

/// The text of a subgraph, as it stands below that of the graph around it.
std::string subgraph_text(std::string_view text);

/// The part of the text that all levels share: name, symbols, inputs, outputs, guards, ends.
std::string to_text(const Interface& interface);

}  // namespace penstock
