#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/argument.h"
#include "torch/autocast.h"

namespace penstock::torch {

/// What a parameter of an ATen schema takes.
enum class ParameterType : std::uint8_t {
  tensor,
  scalar,
  integer,
  floating,
  boolean,
  string,
  dtype,
  layout,
  device,
  memory_format,
  generator,
  name,
  other,
};

/// One parameter of a schema.
struct Parameter {
  ParameterType type = ParameterType::other;
  bool optional = false;        ///< None is a value of it
  bool list = false;            ///< a sequence of `type`
  bool optional_items = false;  ///< items may be None: "Tensor?[]"
  int fixed_size = 0;           ///< "int[2]": a single number stands for that many; 0: any length
  bool keyword_only = false;
  bool has_default = false;
  bool written = false;  ///< the op writes it: "Tensor(a!)"
  std::string name;
  std::string type_text;  ///< as the schema prints it, without aliases: "int[1]?"
};

/// A dispatcher overload, as torch prints its schema.
struct Schema {
  std::string name;      ///< "add"
  std::string overload;  ///< "Tensor"; "" for the default one
  std::vector<Parameter> parameters;
  int returns = 0;            ///< number of results
  bool returns_list = false;  ///< the only result is a list of tensors
  std::string op() const {    ///< "aten.add.Tensor"
    return "aten." + name + "." + (overload.empty() ? "default" : overload);
  }
  bool has_out() const;  ///< takes result tensors to write: its last parameters, by keyword
};

/// Reads "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"; nothing for
/// text that is no schema.
std::optional<Schema> parse_schema(std::string_view text);

/// The dispatcher's overloads of an op in the order in which torch's Python bindings try them.
/// Read from torch once per op name. Needs the GIL and an imported torch.
class SchemaTable {
 public:
  /// Empty when torch has no such op. `name` without namespace: "add", "add_".
  const std::vector<Schema>& overloads(const std::string& name);
  /// For tests: the overloads of one op, given their schemas' text, in dispatcher order.
  void set(const std::string& name, const std::vector<std::string>& schemas);

  CastPolicies cast_policies;  ///< of the same ops

 private:
  std::unordered_map<std::string, std::vector<Schema>> table_;
};

/// Puts overloads into the order in which torch's argument parser tries them: by their text, then
/// (in a stable topological order) those with Tensor before those with Scalar at the same place.
void sort_overloads(std::vector<Schema>& overloads);

}  // namespace penstock::torch
