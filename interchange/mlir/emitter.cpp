#include "interchange/mlir/emitter.h"

#include <fmt/format.h>

#include <utility>

#include "interchange/mlir/text.h"
#include "ir/float_format.h"

namespace penstock::mlir {

Emitter::Emitter(const Graph& graph) : graph_(graph), of_value_(graph.values.size()) {
  for (const Symbol& symbol : graph.interface.symbols)
    declared(symbol.name, symbol.minimum, symbol.maximum);
}

Typed Emitter::fresh(std::string_view stem, std::string type) {
  return {"%" + names_.fresh(value_name(stem)), std::move(type)};
}

void Emitter::line(std::string_view text) {
  body_ += fmt::format("    {}\n", text);
}

Operands Emitter::op_all(std::string_view name, const Operands& operands,
                         const std::vector<std::string>& types) {
  Operands results;
  std::string made, given, given_types;
  for (const std::string& type : types) {
    results.push_back(fresh(stem_, type));
    made += (made.empty() ? "" : ", ") + results.back().name;
  }
  for (const Typed& operand : operands) {
    given += (given.empty() ? "" : ", ") + operand.name;
    given_types += (given_types.empty() ? "" : ", ") + operand.type;
  }
  // A list's maker has a form of its own.
  const bool list = name == "prim.ListConstruct";
  line(fmt::format("{} = torch.{} {} : {}{}{} -> {}{}", made, name, given, list ? "(" : "",
                   given_types, list ? ")" : "", fmt::join(types, ", "), place_));
  return results;
}

Typed Emitter::op(std::string_view name, const Operands& operands, std::string type) {
  return op_all(name, operands, {std::move(type)}).front();
}

Typed Emitter::tensor(std::string_view name, const Operands& operands, const TensorType& type) {
  Typed made = op(name, operands, tensor_type(type));
  bind_sizes(made, type.sizes);
  return made;
}

Typed Emitter::constant(std::string_view kind, std::string_view value, std::string type) {
  auto [at, is_new] = constants_.try_emplace(fmt::format("{} {}", kind, value));
  if (is_new) {
    at->second = fresh(value.size() < 8 ? fmt::format("{}{}", kind, value) : kind, type);
    line(fmt::format("{} = torch.constant.{}{}{}", at->second.name, kind, value.empty() ? "" : " ",
                     value));
  }
  return at->second;
}

Typed Emitter::integer(std::int64_t value) {
  return constant("int", fmt::format("{}", value), kInt);
}

Typed Emitter::real(double value) {
  return constant("float", real_literal(value), kFloat);
}

Typed Emitter::boolean(bool value) {
  return constant("bool", value ? "true" : "false", kBool);
}

Typed Emitter::text(std::string_view value) {
  return constant("str", quoted(value), "!torch.str");
}

Typed Emitter::literal(std::string_view dense, DType dtype, const std::vector<std::int64_t>& sizes,
                       std::string_view stem) {
  TensorType type;
  type.dtype = dtype;
  type.sizes.assign(sizes.begin(), sizes.end());
  auto [at, is_new] = constants_.try_emplace(fmt::format("{} {}", tensor_type(type), dense));
  if (is_new) {
    at->second = fresh(stem, tensor_type(type));
    line(fmt::format("{} = torch.vtensor.literal({} : {}) : {}", at->second.name, dense,
                     builtin_type(dtype, sizes, true), at->second.type));
  }
  return at->second;
}

Typed Emitter::number(double value, DType dtype) {
  if (!is_floating(dtype) && !is_boolean(dtype))
    return number(static_cast<std::int64_t>(value), dtype);
  return literal(fmt::format("dense<{}>", element_literal(value, dtype)), dtype, {});
}

Typed Emitter::number(std::int64_t value, DType dtype) {
  if (!is_integral(dtype)) return number(static_cast<double>(value), dtype);
  return literal(fmt::format("dense<{}>", wrap_to(value, dtype)), dtype, {});
}

Typed Emitter::list(const Operands& items, std::string_view element) {
  return op("prim.ListConstruct", items, fmt::format("!torch.list<{}>", element));
}

Typed Emitter::ints(const std::vector<std::int64_t>& values) {
  return sizes({values.begin(), values.end()});
}

Typed Emitter::value(ValueId id) {
  if (id >= of_value_.size()) {
    fail("an operand is no tensor");
    return {};
  }
  if (of_value_[id].name.empty()) fail("an operand has no form here");
  return of_value_[id];
}

void Emitter::bind(ValueId id, Typed value) {
  of_value_[id] = std::move(value);
  see_symbols(id);
}

void Emitter::set_node(std::string_view stem, std::string place) {
  stem_ = stem;
  place_ = std::move(place);
}

void Emitter::fail(std::string message) {
  if (!error_) error_ = std::move(message);
}

std::string Emitter::take_body() {
  return symbols_ + body_;
}

}  // namespace penstock::mlir
