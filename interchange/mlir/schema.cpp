#include "interchange/mlir/schema.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "ops/op.h"

namespace penstock::mlir {

namespace {

constexpr std::string_view kDefault = ".default";

struct Row {
  ops::OpId id;
  std::string_view schema;
};

constexpr Row kRows[] = {
#define PS_MLIR_ATEN(id, schema) {ops::OpId::id, schema},
#include "interchange/mlir/schemas.def"
#undef PS_MLIR_ATEN
};

/// "SymInt[2]? stride=[1, 1]"
Parameter parse_parameter(std::string_view text) {
  Parameter parameter;
  if (const auto equals = text.find('='); equals != std::string_view::npos) {
    parameter.otherwise = text.substr(equals + 1);
    text = text.substr(0, equals);
  }
  const auto space = text.rfind(' ');
  parameter.name = text.substr(space + 1);
  std::string_view type = text.substr(0, space);
  if (type.ends_with('?')) {
    parameter.optional = true;
    type.remove_suffix(1);
  }
  if (const auto open = type.find('['); open != std::string_view::npos) {
    parameter.list = true;
    std::from_chars(type.data() + open + 1, type.data() + type.size(), parameter.length);
    type = type.substr(0, open);
  }
  parameter.type = type;
  return parameter;
}

std::unordered_map<std::string_view, Schema> all_schemas() {
  std::unordered_map<std::string_view, Schema> schemas;
  for (const Row& row : kRows) {
    const std::string_view op = ops::facts(row.id).name;
    schemas.emplace(op, parse_schema(op, row.schema));
  }
  return schemas;
}

}  // namespace

Schema parse_schema(std::string_view op, std::string_view text) {
  Schema schema;
  if (op.ends_with(kDefault)) op.remove_suffix(kDefault.size());
  schema.name = op;
  const auto arrow = text.rfind(" -> ");
  const std::string_view results = text.substr(arrow);
  schema.results = 1 + static_cast<std::size_t>(std::ranges::count(results, ','));
  std::string_view rest = text.substr(1, arrow - 2);
  std::size_t depth = 0, begin = 0;
  for (std::size_t i = 0; i <= rest.size(); ++i) {
    if (i < rest.size()) {
      if (rest[i] == '[') ++depth;
      if (rest[i] == ']') --depth;
      if (rest[i] != ',' || depth > 0) continue;
    }
    std::string_view part = rest.substr(begin, i - begin);
    if (part.starts_with(' ')) part.remove_prefix(1);
    begin = i + 1;
    if (!part.empty() && part != "*") schema.parameters.push_back(parse_parameter(part));
  }
  return schema;
}

const Schema* find_schema(std::string_view op) {
  static const std::unordered_map<std::string_view, Schema> schemas = all_schemas();
  const auto found = schemas.find(op);
  return found == schemas.end() ? nullptr : &found->second;
}

}  // namespace penstock::mlir
