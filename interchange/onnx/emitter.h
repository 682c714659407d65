#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "interchange/common/naming.h"
#include "interchange/onnx/model.h"
#include "ir/graph.h"

namespace penstock::onnx {

using Name = std::string;
using interchange::Names;

/// Builds the operators of one graph: what stands for a value, a number or a size, and what
/// computes it. The first error sticks; whoever drives it looks at `error()`.
class Emitter {
 public:
  /// `inputs` has the name of each input of the graph.
  Emitter(const Graph& graph, Names names, std::vector<Name> inputs);
  /// Of a subgraph of the graph that `around` writes, which writes nothing until take_body():
  /// names are in use in both, and constants stand there.
  Emitter(const Graph& subgraph, Emitter& around, std::vector<Name> inputs);

  const Graph& graph() const { return graph_; }
  const TensorType& type(ValueId id) const { return graph_.values[id].type; }

  /// Applies an operator; the results have fresh names.
  std::vector<Name> emit_all(std::string_view type, std::vector<Name> inputs, Attributes attributes,
                             std::size_t results);
  Name emit(std::string_view type, std::vector<Name> inputs, Attributes attributes = {}) {
    return emit_all(type, std::move(inputs), std::move(attributes), 1).front();
  }
  Name cast(Name x, DType to);

  /// A row of integers, and numbers without dims. Equal ones are one initializer.
  Name ints(const std::vector<std::int64_t>& values);
  Name number(double value, DType dtype);
  Name integer(std::int64_t value, DType dtype);
  /// A tensor with these elements.
  Name constant(DType dtype, std::vector<std::int64_t> sizes, std::string elements);

  /// A size, an int64 tensor of one element, and the same without dims.
  Name size(const SymExpr& expression);
  Name size_number(const SymExpr& expression);
  /// A row of sizes: what Reshape and Expand take.
  Name sizes(const std::vector<SymExpr>& list);

  /// What stands for a value.
  Name value(ValueId id);
  /// `name` stands for the value from here on.
  void bind(ValueId id, Name name);
  /// `name`, once it is broadcast to the value's sizes, stands for it: an operator that broadcasts
  /// by itself takes `name` (narrow), which has the sizes `sizes`.
  void bind_narrow(ValueId id, Name name, std::vector<SymExpr> sizes);
  struct Narrow {
    Name name;
    std::vector<SymExpr> sizes;
  };
  const Narrow* narrow(ValueId id) const;

  /// The value, a number, is what the symbol stands for.
  void bind_symbol(std::string_view symbol, ValueId id) { see(SymExpr::symbol(symbol), id, -1); }

  /// The number of operators so far, and a nicer name for a result of one of those since.
  std::size_t mark() const { return operators_.size(); }
  Name rename_since(std::size_t mark, const Name& name, std::string_view wanted);
  /// The same with a name that is the graph's already: an output's.
  void rename_to(std::size_t mark, const Name& name, const Name& exact);
  void set_node(std::string_view stem, std::string place);

  void fail(std::string message);
  const std::optional<std::string>& error() const { return error_; }

  /// Takes operators over that were written apart.
  void append(std::vector<Operator> operators) {
    std::ranges::move(operators, std::back_inserter(operators_));
  }
  /// What stands for an output of a subgraph, computed in it.
  Name output(ValueId id);
  /// Ends a subgraph.
  std::vector<Operator> take_body();

  std::vector<Operator> take_operators() { return std::move(operators_); }
  std::vector<Initializer> take_constants() { return std::move(constants_); }
  Names& names() { return names_; }

 private:
  /// Where a symbol's value is seen: in a size, `factor * symbol + rest`, or in a number.
  struct Seen {
    ValueId value;
    int dim;  ///< -1: the value is the number
    std::int64_t factor, rest;
  };
  void see_symbols(ValueId id);
  void see(const SymExpr& size, ValueId id, int dim);
  Name symbol(std::string_view name);
  Name atom(const SymAtom& atom);
  Name compute(const SymExpr& expression);

  const Graph& graph_;
  Emitter* around_ = nullptr;
  Names names_;
  std::vector<Name> of_value_;
  std::unordered_map<ValueId, Narrow> narrow_;
  std::unordered_map<std::string, Seen> seen_;
  std::unordered_map<std::string, Name> sizes_, known_constants_;
  std::vector<Operator> operators_;
  std::vector<Initializer> constants_;
  std::string stem_, place_;
  std::optional<std::string> error_;
};

}  // namespace penstock::onnx
