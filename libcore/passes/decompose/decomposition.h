#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "ops/promotion.h"
#include "ops/rules/inference.h"
#include "passes/rewrite.h"

namespace penstock::passes {

/// The operands of an elementwise op, made equal: one dtype to compute in, one shape.
struct Operands {
  std::vector<Argument> terms;  ///< values, or numbers that stand for a splat
  std::vector<SymExpr> sizes;
  DType promoted;  ///< what torch's promotion gives
  DType compute;   ///< what the terms are in: float32 for promoted 16-bit floats
};

/// What promotion does beyond the common rule.
enum class Promotion : std::uint8_t {
  same,      ///< the operands' common dtype
  to_float,  ///< integers and bools become float32
  opmath,  ///< as `same`, but a second operand without dims is not rounded to a 16-bit dtype first
  float_opmath,  ///< as `to_float`, likewise
  exact,         ///< no wider compute dtype: comparisons, selections
};

/// One ATen node being taken apart: its arguments to read (as a shape rule reads them) and prims to
/// emit. A decomposition calls `result` once per result of the node. Values that it reads may move
/// in memory with every emission: types are to be copied, not referred to.
class Decomposition : public ops::Inference {
 public:
  /// `node` holds current arguments; `detail` is the table's third column.
  Decomposition(const ops::OpFacts& op, const Node& node, Rewrite& rewrite, std::string_view detail)
      : Inference(op, node, rewrite.graph(), rewrite.shapes()),
        rewrite_(rewrite),
        detail_(detail) {}

  std::string_view detail() const { return detail_; }
  TensorType type(ValueId id) const { return rewrite_.type(id); }
  std::size_t rank(ValueId id) const { return rewrite_.type(id).rank(); }
  DType dtype_of(ValueId id) const { return rewrite_.type(id).dtype; }
  std::vector<SymExpr> sizes(ValueId id) const { return rewrite_.type(id).sizes; }

  /// Where the op's tensors lie, and what it is made of out of nothing must.
  std::string device() const;

  /// The op stays as it is: opaque, for these arguments.
  void keep() { kept_ = true; }
  bool kept() const { return kept_; }
  /// Writes `content` into the memory of `target`, broadcast and converted.
  void write(ValueId target, ValueId content);

  void result(ValueId id) { results_.push_back(id); }
  const std::vector<ValueId>& results() const { return results_; }

  /// The named arguments promoted, converted and broadcast.
  Operands operands(std::initializer_list<std::string_view> names, Promotion promotion);
  /// The number argument `name` in the dtype that `like` computes in: a constant, or the value of a
  /// number input.
  Argument factor(std::string_view name, double otherwise, const Operands& like);
  /// The number argument `name` to compute with: a constant, or a number input as a float64.
  Argument real_or_input(std::string_view name, double otherwise);
  /// Of two such numbers, in float64.
  Argument number_of(std::string_view prim, const Argument& a, const Argument& b);
  /// Such a number as a term beside `x`, of its dtype.
  Argument beside(ValueId x, const Argument& number);
  /// True unless the argument is the constant `number`.
  bool differs(std::string_view name, double number);
  /// The value that a term is; a number, where only a tensor will do, is an error.
  ValueId tensor_of(const Argument& term);
  /// A number as an element of `dtype`: a constant, or an integer that follows from sizes.
  static Argument number_as(const ops::Number& number, DType dtype);
  /// A term as a tensor: numbers become a splat.
  ValueId materialize(const Argument& term, const Operands& like);
  /// A value computed in `operands.compute` as the result of dtype `dtype`.
  void finish(ValueId value, DType dtype) { result(convert(value, dtype)); }

  /// Whether derivatives of the graph are still to be made: what is emitted must have them.
  bool before_derivatives() const { return rewrite_.before_derivatives(); }
  /// `x` as a constant to derivatives: what is added and taken away again has none.
  ValueId without_gradient(ValueId x);

  /// True when the graph writes to any tensor: a view must stay one then.
  bool graph_writes() const;

  /// The types of the results as the op's own rule gives them.
  std::vector<TensorType> inferred();
  /// The same; where the rule refuses, the op stays as it is and there are none.
  std::vector<TensorType> inferred_or_keep();

  // Emission. All take and give values of the graph; no-ops give their argument back.
  ValueId unary(std::string_view prim, ValueId x);
  ValueId binary(std::string_view prim, Argument a, Argument b);
  ValueId where(ValueId condition, Argument a, Argument b);
  ValueId convert(ValueId x, DType dtype);
  ValueId broadcast(ValueId x, const std::vector<SymExpr>& sizes);  ///< trailing dims line up
  ValueId broadcast(ValueId x, const std::vector<SymExpr>& sizes,
                    const std::vector<std::int64_t>& dims);
  ValueId reshape(ValueId x, const std::vector<SymExpr>& sizes);
  ValueId permute(ValueId x, const std::vector<std::int64_t>& dims);
  ValueId swap_last(ValueId x);  ///< transposes the last two dims
  ValueId slice(ValueId x, std::int64_t dim, const SymExpr& start, const SymExpr& length,
                const SymExpr& step);
  /// Whether a reduction would leave a GPU idle, so that the op stays torch's.
  bool leaves_to_torch(ValueId x, const std::vector<std::int64_t>& dims) const;
  ValueId reduce(std::string_view prim, ValueId x, const std::vector<std::int64_t>& dims,
                 bool keep);
  ValueId full(const std::vector<SymExpr>& sizes, Argument value, DType dtype);
  ValueId contiguous(ValueId x);
  ValueId pad(ValueId x, const std::vector<SymExpr>& low, const std::vector<SymExpr>& high,
              Argument value);
  /// Windows over `dim`: it counts them, a new last dim holds their elements.
  ValueId unfold(ValueId x, std::int64_t dim, const SymExpr& size, const SymExpr& step,
                 const SymExpr& dilation);
  ValueId index_select(ValueId x, ValueId index, std::int64_t dim);
  ValueId iota(const SymExpr& length);  ///< 0, 1, …, of int64
  ValueId emit(std::string_view op, std::vector<NamedArgument> args) {
    const bool is_made = op == "prim.full" || op == "prim.iota";
    if (std::string where = is_made ? device() : "cpu"; where != "cpu")
      args.push_back({"device", Argument::Named{Argument::Named::Kind::device, std::move(where)}});
    return failed() ? kNoValue : check(rewrite_.emit_one(op, std::move(args)));
  }
  /// What an op of ops.def gives for these arguments, taken apart as if it stood in the graph; it
  /// stays whole where it would there. So a composite reads like the calls that torch makes,
  /// layouts and roundings included.
  std::vector<ValueId> apply_all(std::string_view op, std::vector<NamedArgument> args);
  ValueId apply(std::string_view op, std::vector<NamedArgument> args);  ///< of one result
  /// The same for an elementwise op of two operands, tensors or numbers: "mul" is aten.mul.Tensor.
  ValueId apply(std::string_view op, Argument a, Argument b);
  /// An error at run time unless the elements of `index` are below `size`, and at least 0 or, if it
  /// `wraps`, -size.
  void check_index(ValueId index, std::int64_t dim, const SymExpr& size, bool wraps);
  /// For ops whose results are as large as elements say (decided_sizes.h): the size, and what makes
  /// it of the one element of `x`, int64. Emitted before what mentions the size.
  const SymExpr& decided() const { return decided_; }
  void set_decided(SymExpr size) { decided_ = std::move(size); }
  ValueId decide(ValueId x);
  /// A matrix product (ops::is_product). Of half precision it is one of float32, rounded once, as
  /// torch's is.
  ValueId product(std::string_view op, std::vector<NamedArgument> args);
  std::vector<ValueId> emit_all(std::string_view op, std::vector<NamedArgument> args);

  /// x broadcast against sizes and combined; b may lack leading dims (a weight, a statistic).
  ValueId binary_broadcast(std::string_view prim, ValueId a, ValueId b);
  /// The number of elements of some dims, as a number for prims.
  SymExpr count(const std::vector<SymExpr>& sizes, const std::vector<std::int64_t>& dims) const;
  /// An integer as an argument: plain when it is constant.
  static Argument integer_argument(const SymExpr& value);

 private:
  ValueId check(ValueId id);
  Rewrite& rewrite_;
  std::string_view detail_;
  std::vector<ValueId> results_;
  SymExpr decided_ = 0;
  bool kept_ = false;
};

/// Argument for the value `id`.
inline Argument value_argument(ValueId id) {
  return Argument::Value{id};
}

}  // namespace penstock::passes
