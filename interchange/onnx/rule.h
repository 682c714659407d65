#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "interchange/onnx/emitter.h"
#include "ops/arguments.h"

namespace penstock::onnx {

/// One node as its rule turns it into operators: its arguments, and what its results are called.
class Rule {
 public:
  Rule(const Node& node, Emitter& out, std::string_view detail);

  Emitter& out() { return out_; }
  ops::Arguments& arguments() { return arguments_; }
  const Node& node() const { return node_; }
  std::string_view detail() const { return detail_; }

  /// The type of a tensor argument; of the node's result `i`.
  const TensorType& type(std::string_view operand) { return arguments_.tensor(operand); }
  const TensorType& result(std::size_t i = 0) const;
  bool has(std::string_view name) const { return arguments_.has(name); }

  /// What stands for a tensor argument.
  Name in(std::string_view operand);
  /// The same, but "" where it is left out.
  Name optional(std::string_view operand);
  /// The same of an argument that may be a number, which then is one of `dtype`.
  Name in_as(std::string_view operand, DType dtype);
  /// Several such, for an operator that broadcasts them to the result's sizes by itself.
  std::vector<Name> broadcast(std::initializer_list<std::string_view> operands, DType dtype);
  /// The dtype of the first tensor among them.
  DType dtype_of(std::initializer_list<std::string_view> operands);

  Name emit(std::string_view type, std::vector<Name> inputs, Attributes attributes = {}) {
    return out_.emit(type, std::move(inputs), std::move(attributes));
  }
  Name cast(Name x, DType to) { return out_.cast(std::move(x), to); }
  Name number(double value, DType dtype) { return out_.number(value, dtype); }
  Name ints(const std::vector<std::int64_t>& values) { return out_.ints(values); }
  Name where(Name condition, Name a, Name b) {
    return emit("Where", {std::move(condition), std::move(a), std::move(b)});
  }
  Name negated(Name condition) { return emit("Not", {std::move(condition)}); }
  Name reshape(Name x, const std::vector<SymExpr>& sizes);

  /// Says what stands for the node's result `i`.
  void give(Name name, std::size_t i = 0);
  /// The node has no form in ONNX: a sentence without its end.
  void refuse(std::string reason);
  bool failed() const { return out_.error().has_value() || arguments_.failed(); }

 private:
  const Node& node_;
  Emitter& out_;
  std::string_view detail_;
  ops::Arguments arguments_;
  std::size_t mark_;
};

using RuleFunction = void (*)(Rule&);

/// Integers that a size list or dims are, for attributes.
Attribute attribute(std::string_view name, std::vector<std::int64_t> values);
Attribute attribute(std::string_view name, std::int64_t value);
Attribute attribute(std::string_view name, double value);
Attribute attribute(std::string_view name, std::string_view value);

}  // namespace penstock::onnx
