#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/op.h"
#include "passes/decompose/decomposition.h"

namespace penstock::autodiff {

/// A term of a formula: a value of the graph, a number, or an argument of the node.
struct Term {
  Argument argument;
  Term(ValueId id) : argument(passes::value_argument(id)) {}  // NOLINT: meant to be implicit
  Term(double number) : argument(number) {}                   // NOLINT: meant to be implicit
  Term(const Argument& given) : argument(given) {}            // NOLINT: meant to be implicit
};

/// One node being differentiated: what a rule reads, and the nodes of backward that it makes. A
/// rule calls `give` for every argument that `needs` a gradient; one that it gives nothing has a
/// gradient of zeros. A vector-Jacobian product: `tangent` is the vector.
class Vjp : public passes::Decomposition {
 public:
  /// `tangents`: one for each result of the node; kNoValue: none comes. `tracked`: by value,
  /// whether a gradient of it is wanted. `makers`: by value, the node that makes it; null: none.
  Vjp(const ops::OpFacts& op, const Node& node, passes::Rewrite& rewrite, std::string_view detail,
      const std::vector<ValueId>& tangents, const std::vector<bool>& tracked,
      const std::vector<const Node*>& makers)
      : Decomposition(op, node, rewrite, detail),
        joint_(rewrite),
        tangents_(tangents),
        tracked_(tracked),
        makers_(makers) {}

  /// What comes for a result; zeros where nothing does.
  ValueId tangent(std::size_t result = 0);
  /// Whether something comes for a result.
  bool has_tangent(std::size_t result) const { return tangents_[result] != kNoValue; }
  /// A result of the node itself.
  ValueId output(std::size_t result = 0) const { return node().results[result]; }
  /// Whether the argument is a tensor (or a list with one) whose gradient is wanted.
  bool needs(std::string_view name) const;
  bool needs(ValueId id) const { return id < tracked_.size() && tracked_[id]; }

  /// `gradient` is the gradient of the argument: summed over the dims in which that was broadcast,
  /// and converted to its dtype.
  void give(std::string_view name, ValueId gradient);
  void give(ValueId argument, ValueId gradient);
  /// The same where only a part of the argument has one: from `start` on along a dim.
  void give_part(std::string_view name, ValueId gradient, std::int64_t dim, const SymExpr& start);
  /// The arguments have no gradient, not even zeros.
  void give_none() { gives_none_ = true; }
  bool gives_none() const { return gives_none_; }
  struct Given {
    ValueId argument, gradient;
    std::int64_t dim = -1;  ///< -1: the gradient is of all of the argument
    SymExpr start = 0;
  };
  const std::vector<Given>& given() const { return given_; }

  // Formulas. A number operand of a prim may stand where a tensor does.
  /// An argument as it is. Where the op itself converted or broadcast a tensor of the program's,
  /// that is done again: torch keeps what it was given.
  Term term(std::string_view name);
  ValueId as_tensor(std::string_view name);  ///< the same; a number is repeated like the result
  /// A number argument beside `like`: a constant, or a number input.
  Term number_term(std::string_view name, double otherwise, ValueId like) {
    return beside(like, real_or_input(name, otherwise));
  }
  ValueId add(const Term& a, const Term& b) { return binary("add", a.argument, b.argument); }
  ValueId sub(const Term& a, const Term& b) { return binary("sub", a.argument, b.argument); }
  ValueId mul(const Term& a, const Term& b) { return binary("mul", a.argument, b.argument); }
  ValueId div(const Term& a, const Term& b) { return binary("div", a.argument, b.argument); }
  ValueId compare(std::string_view prim, const Term& a, const Term& b) {
    return binary(prim, a.argument, b.argument);
  }
  /// Of two masks: `and`, `or`.
  ValueId both(std::string_view prim, ValueId a, ValueId b) {
    return binary(prim, passes::value_argument(a), passes::value_argument(b));
  }
  ValueId select(ValueId condition, const Term& a, const Term& b) {
    return where(condition, a.argument, b.argument);
  }
  ValueId zeros(const std::vector<SymExpr>& sizes, DType dtype);
  ValueId zeros_like(ValueId x) { return zeros(sizes(x), dtype_of(x)); }
  /// A scatter prim along `dim`. Of a GPU's threads one would have to do it all: there it fails,
  /// and torch is asked.
  ValueId put(std::string_view prim, ValueId self, ValueId index, ValueId src, std::int64_t dim);
  /// `terms` added up at the places of `index` along `dim`, in a tensor of `sizes`.
  ValueId add_at(const std::vector<SymExpr>& sizes, ValueId index, ValueId terms, std::int64_t dim);
  /// In the dtype that torch computes in: float32 for 16-bit floats.
  ValueId wide(ValueId x);
  /// `x` without `dims`, repeated along them to `sizes`.
  ValueId spread(ValueId x, const std::vector<SymExpr>& sizes,
                 const std::vector<std::int64_t>& dims);
  /// The same for a reduction's result, whose dims stayed as ones if it `keeps` them.
  ValueId spread_back(ValueId x, const std::vector<SymExpr>& sizes,
                      const std::vector<std::int64_t>& dims, bool keeps);

  /// A node of an op of torch's that no rule knows, with results of these types.
  std::vector<ValueId> emit_as(std::string_view op, std::vector<NamedArgument> args,
                               std::vector<TensorType> types);

  // Ops that run subgraphs.
  /// What an argument names; the node's op is one that runs subgraphs.
  const Graph& subgraph(std::string_view argument) const;
  /// Adds a subgraph to the graph under its name, or one like it that no other has, which it
  /// returns.
  std::string add_subgraph(Graph made);
  /// The nodes of a graph of level core on these inputs; its outputs.
  std::vector<ValueId> emit_all(const Graph& graph, const std::vector<ValueId>& inputs);
  /// A node of an op that runs subgraphs, whose results are of these types.
  std::vector<ValueId> emit_control(std::vector<NamedArgument> args, std::vector<TensorType> types);

 private:
  ValueId sum_to(ValueId x, const std::vector<SymExpr>& sizes);
  ValueId made_again(ValueId id);
  passes::Rewrite& joint_;
  const std::vector<ValueId>& tangents_;
  const std::vector<bool>& tracked_;
  const std::vector<const Node*>& makers_;
  std::vector<Given> given_;
  bool gives_none_ = false;
};

/// A tensor like another one whose elements lie side by side: what tangents and gradients are.
TensorType dense(const TensorType& like);
/// A node that gives `value`, as often as `like` has elements.
ValueId emit_full(passes::Rewrite& rewrite, const TensorType& like, double value);
inline ValueId emit_zeros(passes::Rewrite& rewrite, const TensorType& like) {
  return emit_full(rewrite, like, 0);
}

/// Ends the way of gradients: its result is the argument, as a constant.
inline constexpr std::string_view kDetach = "aten.detach.default";

/// True of an op whose result lies in its argument's memory, and is a constant to gradients.
inline bool detaches(const Node& node) {
  return node.op == kDetach || node.op == "aten.data.default";
}

/// How a row of the table says what an op's derivative is.
enum class VjpKind : std::uint8_t {
  rule,      ///< a function makes it
  through,   ///< the op is taken apart into ops that have rules
  constant,  ///< results do not depend on the arguments differentiably: they require no grad
  by_torch,  ///< torch's own rule gives it, when backward runs
  missing,   ///< here is none: gradients are torch's business
};

/// One row of vjp.def.
struct VjpRow {
  VjpKind kind = VjpKind::missing;
  void (*function)(Vjp&) = nullptr;
  std::string_view detail;
};

/// The row of an op; of in-place ops that of the op that does not write. Ops of torch's that no
/// table names are `by_torch`.
VjpRow vjp_row(std::string_view op);

/// Whether decompose leaves an op of torch's whole until its derivative is made.
bool keeps_whole(std::string_view op);

// The functions that the table names; a name that no file of vjp/ defines does not link.
#define PS_VJP(id, function, detail) void function(Vjp&);
#define PS_VJP_COMPOSITE(op, function, detail) void function(Vjp&);
#include "autodiff/vjp.def"

}  // namespace penstock::autodiff
