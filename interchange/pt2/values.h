#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "formats/json/field.h"
#include "ir/graph.h"

namespace penstock::pt2 {

/// What a graph of the file says of its values, by name, and which of them stand in our graph.
/// A subgraph has a scope of its own.
class Scope {
 public:
  /// Reads tensor_values, sym_int_values and sym_bool_values. Recorded values of symbols go to
  /// `hints`.
  Scope(formats::Record& graph, std::map<std::string, std::int64_t>& hints);

  /// The type of a tensor; null, and a problem at `field`, where nothing says it.
  const TensorType* type(const std::string& name, const formats::Field& field) const;
  void define(const std::string& name, ValueId id) { ids_.insert_or_assign(name, id); }
  /// The value that a tensor is in our graph; a problem where none is made before.
  ValueId value(const std::string& name, const formats::Field& field) const;
  /// The value of an integer; a problem where it is none.
  SymExpr size(const std::string& name, const formats::Field& field) const;
  /// What a truth is a comparison of; a problem where it is none.
  std::optional<Condition> truth(const std::string& name, const formats::Field& field) const;

 private:
  std::unordered_map<std::string, TensorType> types_;
  std::unordered_map<std::string, ValueId> ids_;
  std::unordered_map<std::string, SymExpr> sizes_;
  std::unordered_map<std::string, Result<Condition>> truths_;
};

/// A tensor's dtype, sizes, strides, device: TensorMeta. `hints` may be null.
TensorType read_type(const formats::Field& field, std::map<std::string, std::int64_t>* hints);

/// An argument of a node, an input or an output.
Argument read_argument(const formats::Field& field, const Scope& scope);

/// The tensor's name in a record that has nothing else.
std::string read_name(const formats::Field& field);

}  // namespace penstock::pt2
