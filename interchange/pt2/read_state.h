#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/json/field.h"
#include "interchange/pt2/tree.h"
#include "interchange/pt2/values.h"
#include "interchange/pt2/weights.h"
#include "ir/graph.h"

namespace penstock::pt2 {

/// What reading one program works on: its parts (read_inputs.cpp, read_nodes.cpp, read_outputs.cpp)
/// fill in the graph one after the other.
struct ReadState {
  Graph graph;
  std::map<std::string, std::int64_t> hints;  ///< of symbols, in the call that was exported
  std::int32_t next_storage = 0;
  std::map<std::string, ValueId> buffers, parameters,
      arguments;                                  ///< inputs by what specs call them
  std::map<std::string, SymExpr> argument_sizes;  ///< integers among the arguments

  /// Makes two values share their memory, for what is told of outputs and writes.
  void share(ValueId view, ValueId base);
};

/// Reads the inputs of the graph, their containers, weights, symbols and the conditions on them.
/// `graph` and `signature` are the records of the file, `program` the whole.
Result<void> read_inputs(ReadState& state, Scope& scope, const formats::Field& graph,
                         const formats::Field& signature, const formats::Field& program,
                         Weights& weights, const KeepTensor& keep);
/// What the program asks of its sizes beyond their ranges: guards_code.
void read_conditions(ReadState& state, const formats::Field& program);
/// Reads the ops, in order. What only asserts what types say already is left out, and what computes
/// sizes: expressions stand in their place.
void read_nodes(ReadState& state, Scope& scope, const formats::Field& nodes);
/// Reads the outputs, and what they are for: results in their containers, and new values of inputs.
Result<void> read_outputs(ReadState& state, const Scope& scope, const formats::Field& graph,
                          const formats::Field& signature, const formats::Field& program);

/// The signature of the whole call, as the file has it: its containers and its arguments' names.
struct CallSignature {
  Tree in, out;
  std::vector<std::string> names;
};
Result<CallSignature> read_signature(const formats::Field& program);

}  // namespace penstock::pt2
