#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "interchange/common/naming.h"
#include "ir/graph.h"

namespace penstock::mlir {

/// A value of the function: its name with the %, and its type.
struct Typed {
  std::string name, type;
  bool is_tensor() const { return type.starts_with("!torch.vtensor"); }
};
using Operands = std::vector<Typed>;

inline const std::string kInt = "!torch.int", kFloat = "!torch.float", kBool = "!torch.bool";

/// Writes the operations of one function: what stands for a value, a number or a size, and what
/// computes it. The first error sticks; whoever drives it looks at `error()`.
class Emitter {
 public:
  explicit Emitter(const Graph& graph);

  const Graph& graph() const { return graph_; }
  const TensorType& type(ValueId id) const { return graph_.values[id].type; }

  /// Applies "torch.NAME". Of a tensor the symbols of its sizes are bound.
  Typed op(std::string_view name, const Operands& operands, std::string type);
  Typed tensor(std::string_view name, const Operands& operands, const TensorType& type);
  /// The same with several results.
  Operands op_all(std::string_view name, const Operands& operands,
                  const std::vector<std::string>& types);

  /// Constants; equal ones are one operation.
  Typed none() { return constant("none", "", "!torch.none"); }
  Typed integer(std::int64_t value);
  Typed real(double value);
  Typed boolean(bool value);
  Typed text(std::string_view value);
  Typed dtype(DType dtype) { return integer(facts(dtype).torch_scalar_type); }
  /// A tensor without dims.
  Typed number(double value, DType dtype);
  Typed number(std::int64_t value, DType dtype);
  /// A literal of `type` with what stands between the brackets of dense<>, or of dense_resource<>.
  Typed literal(std::string_view dense, DType dtype, const std::vector<std::int64_t>& sizes,
                std::string_view stem = "literal");

  /// A list of what has the type "!torch.ELEMENT".
  Typed list(const Operands& items, std::string_view element);
  Typed ints(const std::vector<std::int64_t>& values);

  Typed size(const SymExpr& expression);
  Typed sizes(const std::vector<SymExpr>& list);

  /// What stands for a value, and says so.
  Typed value(ValueId id);
  void bind(ValueId id, Typed value);
  /// The value, a number, is what the symbol stands for.
  void bind_symbol(std::string_view symbol, ValueId id) { see(SymExpr::symbol(symbol), id, -1); }
  /// Says what the sizes of a tensor are.
  void bind_sizes(const Typed& value, const std::vector<SymExpr>& sizes);

  /// What results are called from here on, and where in the Python program they are made.
  void set_node(std::string_view stem, std::string place);
  Typed fresh(std::string_view stem, std::string type);
  /// A line as it is.
  void line(std::string_view text);

  void fail(std::string message);
  const std::optional<std::string>& error() const { return error_; }
  /// The body: symbols, then operations.
  std::string take_body();

 private:
  /// Where a symbol's value is seen: in a size, `factor * symbol + rest`, or in a number.
  struct Seen {
    ValueId value;
    int dim;  ///< -1: the value is the number
    std::int64_t factor, rest;
  };
  Typed constant(std::string_view kind, std::string_view value, std::string type);
  void see_symbols(ValueId id);
  void see(const SymExpr& size, ValueId id, int dim);
  Typed symbol(std::string_view name);
  Typed atom(const SymAtom& atom);
  Typed compute(const SymExpr& expression);
  Typed arithmetic(std::string_view name, const Typed& a, const Typed& b);
  /// The operation that declares a symbol, made at the first use.
  const std::string& declared(std::string_view name, std::int64_t low, std::int64_t high);
  /// An expression over `symbols`, which grow by those that are new.
  std::string affine(const SymExpr& expression, std::vector<std::string>& symbols);
  std::string affine_atom(const SymAtom& atom, std::vector<std::string>& symbols);

  const Graph& graph_;
  interchange::Names names_;
  std::vector<Typed> of_value_;
  std::unordered_map<std::string, Seen> seen_;
  std::unordered_map<std::string, Typed> sizes_, constants_;
  std::unordered_map<std::string, std::string> declared_;
  std::string symbols_, body_, stem_, place_;
  std::optional<std::string> error_;
};

}  // namespace penstock::mlir
