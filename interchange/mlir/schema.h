#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::mlir {

/// An operand of an ATen op.
struct Parameter {
  std::string_view type;  ///< "Tensor", "int", "Scalar", without what follows
  std::string_view name;
  std::string_view otherwise;  ///< what it is where it is left out; empty: it has to be given
  bool optional = false;       ///< may be None
  bool list = false;
  std::size_t length = 0;  ///< of a list for which one number may stand; 0: none may
};

struct Schema {
  std::string name;  ///< the dialect's op: "aten.add.Tensor"
  std::vector<Parameter> parameters;
  std::size_t results = 1;
};

/// The schema of an op that the torch dialect has, by its name in a graph; null where it has none.
const Schema* find_schema(std::string_view op);

/// Reads one row of schemas.def.
Schema parse_schema(std::string_view op, std::string_view text);

}  // namespace penstock::mlir
