#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "interchange/mlir/emitter.h"
#include "ops/arguments.h"

namespace penstock::mlir {

/// One primitive node as its rule turns it into ATen ops.
class Rule {
 public:
  Rule(const Node& node, Emitter& out, std::string_view detail)
      : node_(node), out_(out), detail_(detail), arguments_(node, out.graph()) {}

  Emitter& out() { return out_; }
  ops::Arguments& arguments() { return arguments_; }
  const Node& node() const { return node_; }
  std::string_view detail() const { return detail_; }

  /// The type of a tensor argument; of the node's result `i`.
  const TensorType& type(std::string_view operand) { return arguments_.tensor(operand); }
  const TensorType& result(std::size_t i = 0) const;

  /// What stands for a tensor argument; for one that may be a number, which then is a tensor of
  /// `dtype` without dims.
  Typed in(std::string_view operand);
  Typed in_as(std::string_view operand, DType dtype);
  /// What stands for a number: "!torch.int" or "!torch.float".
  Typed number(std::string_view argument, DType dtype);
  /// The dtype of the first tensor among them.
  DType dtype_of(std::string_view operands);

  /// Applies an op to give a tensor of this type, of this dtype and these sizes, or like the node's
  /// result.
  Typed make(std::string_view op, const Operands& operands, const TensorType& type) {
    return out_.tensor(op, operands, type);
  }
  Typed make(std::string_view op, const Operands& operands, DType dtype,
             std::vector<SymExpr> sizes);
  Typed make(std::string_view op, const Operands& operands) {
    return out_.tensor(op, operands, result());
  }
  Typed cast(const Typed& x, DType dtype, const std::vector<SymExpr>& sizes);
  Typed view(const Typed& x, DType dtype, const std::vector<SymExpr>& sizes);
  /// x + y, and x - y.
  Typed sum(const Typed& x, const Typed& y, DType dtype, const std::vector<SymExpr>& sizes);

  /// Says what stands for the node's result `i`.
  void give(Typed value, std::size_t i = 0);
  /// The node has no form: a sentence without its end.
  void refuse(std::string reason) { out_.fail(std::move(reason)); }
  bool failed() const { return out_.error().has_value() || arguments_.failed(); }

 private:
  const Node& node_;
  Emitter& out_;
  std::string_view detail_;
  ops::Arguments arguments_;
};

using RuleFunction = void (*)(Rule&);

}  // namespace penstock::mlir
