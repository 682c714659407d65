#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace penstock::ops {

/// A number among an op's arguments: a Python constant or a size.
struct Number {
  DTypeCategory category = DTypeCategory::integral;
  double real = 0;  ///< the value of a float; of a constant integer or bool, too; a complex
                    ///< number's real part
  SymExpr integer;  ///< the value of an integer or bool
};

/// A tensor argument that may be given as a number: `other` of add(a, 1).
struct Operand {
  const TensorType* tensor = nullptr;  ///< null: a number
  ValueId value = kNoValue;            ///< the tensor's value, or a scalar input of the graph
  Number number;
  bool is_tensor() const { return tensor != nullptr; }
};

/// Reads a node's arguments by name. The first error sticks: reading goes on with neutral values,
/// and whoever drives the reading looks at `error()` once at the end; so rules read like their
/// formulas.
class Arguments {
 public:
  Arguments(const Node& node, const Graph& graph) : node_(node), graph_(graph) {}

  const Node& node() const { return node_; }
  const Graph& graph() const { return graph_; }
  const std::optional<Diagnostic>& error() const { return error_; }
  bool failed() const { return error_.has_value(); }
  /// Whether the error is that an argument is missing or of another kind than was asked for: no
  /// tensor, no integer.
  bool has_wrong_kind() const { return wrong_kind_; }
  /// Records `message` unless an error stands already.
  void fail(std::string message);
  /// The same for arguments that torch takes, and for which there is no rule here.
  void refuse(std::string message);

  /// The argument, or null when it is absent or None.
  const Argument* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// True for an argument that is an input of the graph which stands for a Python number.
  bool is_number_input(std::string_view name) const;

  ValueId value(std::string_view name);  ///< of a tensor argument; an error when it is none
  const TensorType& tensor(std::string_view name);
  const TensorType* optional_tensor(std::string_view name);
  std::vector<ValueId> values(std::string_view name);  ///< of a list of tensors
  Operand operand(std::string_view name);

  SymExpr integer(std::string_view name, SymExpr otherwise = 0);
  std::int64_t constant(std::string_view name, std::int64_t otherwise);  ///< not symbolic
  std::vector<SymExpr> integers(std::string_view name);                  ///< empty when absent
  std::vector<std::int64_t> constants(std::string_view name);
  double real(std::string_view name, double otherwise);
  Number number(std::string_view name, Number otherwise);  ///< a constant or a size
  bool boolean(std::string_view name, bool otherwise);
  std::optional<DType> dtype(std::string_view name);
  std::string text(std::string_view name, std::string otherwise);  ///< strings, memory formats

  /// `dim` counted from the front, 0 <= result < max(rank, 1).
  std::int64_t wrap_dim(std::int64_t dim, std::size_t rank);
  std::int64_t dim(std::string_view name, std::int64_t otherwise, std::size_t rank);
  /// One dim or a list of them, sorted; all dims when absent or empty, but of the overloads called
  /// "dims", which take an empty list at its word.
  std::vector<std::int64_t> dims(std::string_view name, std::size_t rank);

 private:
  void record(Code code, std::string message);
  std::optional<SymExpr> as_integer(const Argument& argument) const;
  std::optional<Number> as_number(const Argument& argument) const;

  /// Records that the argument is not what it "must" be.
  void misfit(std::string_view name, std::string_view what);

  const Node& node_;
  const Graph& graph_;
  std::optional<Diagnostic> error_;
  bool wrong_kind_ = false;
};

}  // namespace penstock::ops
