#include "ops/arguments.h"

#include <algorithm>

namespace penstock::ops {

namespace {

const TensorType kNoTensor{};

/// True for an input that stands for a Python number, although its type is a tensor without dims.
/// To prims, which promote nothing, it is that tensor.
bool stands_for_number(const Node& node, const Graph& graph, ValueId id) {
  if (id >= graph.interface.inputs.size() || node.op.starts_with("prim.")) return false;
  InputKind kind = graph.interface.inputs[id].kind;
  return kind == InputKind::size || kind == InputKind::scalar;
}

}  // namespace

void Arguments::fail(std::string message) {
  record(Code::PS0603, std::move(message));
}

void Arguments::refuse(std::string message) {
  record(Code::PS0602, std::move(message));
}

void Arguments::record(Code code, std::string message) {
  if (error_) return;
  error_ =
      Diagnostic{code, node_.op + ": " + std::move(message), std::nullopt, {}, {}, Severity::error};
}

void Arguments::misfit(std::string_view name, std::string_view what) {
  if (failed()) return;
  fail("argument '" + std::string(name) + "' " + std::string(what));
  wrong_kind_ = true;
}

const Argument* Arguments::find(std::string_view name) const {
  const Argument* argument = find_argument(node_, name);
  return argument && !argument->is_none() ? argument : nullptr;
}

bool Arguments::is_number_input(std::string_view name) const {
  const Argument* argument = find(name);
  const auto* value = argument ? argument->as<Argument::Value>() : nullptr;
  return value && stands_for_number(node_, graph_, value->id);
}

ValueId Arguments::value(std::string_view name) {
  const Argument* argument = find(name);
  const auto* value = argument ? argument->as<Argument::Value>() : nullptr;
  if (value && value->id < graph_.values.size()) return value->id;
  misfit(name, "must be a tensor");
  return kNoValue;
}

const TensorType& Arguments::tensor(std::string_view name) {
  ValueId id = value(name);
  return id == kNoValue ? kNoTensor : graph_.values[id].type;
}

const TensorType* Arguments::optional_tensor(std::string_view name) {
  return has(name) ? &tensor(name) : nullptr;
}

std::vector<ValueId> Arguments::values(std::string_view name) {
  const Argument* argument = find(name);
  const auto* list = argument ? argument->as<Argument::Sequence>() : nullptr;
  std::vector<ValueId> ids;
  for (const Argument& item : list ? list->items : std::vector<Argument>{}) {
    const auto* value = item.as<Argument::Value>();
    if (!value || value->id >= graph_.values.size()) {
      misfit(name, "must be a list of tensors");
      return {};
    }
    ids.push_back(value->id);
  }
  if (ids.empty()) fail("argument '" + std::string(name) + "' must not be empty");
  return ids;
}

Operand Arguments::operand(std::string_view name) {
  const Argument* argument = find(name);
  Operand operand;
  if (!argument) {
    misfit(name, "is missing");
    return operand;
  }
  if (const auto* value = argument->as<Argument::Value>()) {
    // What a decomposition puts for a tensor that it did not get.
    if (value->id >= graph_.values.size()) {
      misfit(name, "must be a tensor or a number");
      return operand;
    }
    operand.value = value->id;
    const Value& made = graph_.values[value->id];
    if (!made.is_scalar && !stands_for_number(node_, graph_, value->id)) {
      operand.tensor = &made.type;
      return operand;
    }
  }
  if (auto number = as_number(*argument))
    operand.number = *number;
  else
    misfit(name, "must be a tensor or a number");
  return operand;
}

std::optional<SymExpr> Arguments::as_integer(const Argument& argument) const {
  if (auto* plain = argument.as<std::int64_t>()) return SymExpr(*plain);
  if (auto* symbolic = argument.as<SymExpr>()) return *symbolic;
  if (auto* truth = argument.as<bool>()) return SymExpr(*truth ? 1 : 0);
  if (auto* value = argument.as<Argument::Value>(); value && value->id < graph_.values.size()) {
    const Value& made = graph_.values[value->id];
    if (made.is_scalar) return made.expression;
  }
  return std::nullopt;
}

std::optional<Number> Arguments::as_number(const Argument& argument) const {
  if (auto* truth = argument.as<bool>())
    return Number{DTypeCategory::boolean, double(*truth), *truth ? 1 : 0};
  if (auto* real = argument.as<double>()) return Number{DTypeCategory::floating, *real, 0};
  if (auto* plane = argument.as<Argument::Complex>())
    return Number{DTypeCategory::complex, plane->real, 0};
  if (auto integer = as_integer(argument)) {
    double real = integer->is_constant() ? static_cast<double>(*integer->constant()) : 0;
    return Number{DTypeCategory::integral, real, *integer};
  }
  if (auto* value = argument.as<Argument::Value>();
      value && stands_for_number(node_, graph_, value->id)) {
    return Number{facts(graph_.values[value->id].type.dtype).category, 0, 0};
  }
  return std::nullopt;
}

SymExpr Arguments::integer(std::string_view name, SymExpr otherwise) {
  const Argument* argument = find(name);
  if (!argument) return otherwise;
  if (auto integer = as_integer(*argument)) return *integer;
  misfit(name, "must be an integer");
  return otherwise;
}

std::int64_t Arguments::constant(std::string_view name, std::int64_t otherwise) {
  SymExpr expression = integer(name, otherwise);
  if (auto plain = expression.constant()) return *plain;
  refuse("argument '" + std::string(name) + "' must not be symbolic");
  return otherwise;
}

std::vector<SymExpr> Arguments::integers(std::string_view name) {
  const Argument* argument = find(name);
  if (!argument) return {};
  const auto* list = argument->as<Argument::Sequence>();
  if (!list) return {integer(name)};
  std::vector<SymExpr> result;
  for (const Argument& item : list->items) {
    if (auto integer = as_integer(item))
      result.push_back(*integer);
    else
      misfit(name, "must be a list of integers");
  }
  return result;
}

std::vector<std::int64_t> Arguments::constants(std::string_view name) {
  std::vector<std::int64_t> result;
  for (const SymExpr& item : integers(name)) {
    if (!item.is_constant()) refuse("argument '" + std::string(name) + "' must not be symbolic");
    result.push_back(item.constant().value_or(0));
  }
  return result;
}

Number Arguments::number(std::string_view name, Number otherwise) {
  const Argument* argument = find(name);
  if (!argument) return otherwise;
  if (is_number_input(name)) {
    refuse("argument '" + std::string(name) + "' must not be an input");
    return otherwise;
  }
  if (auto number = as_number(*argument)) return *number;
  misfit(name, "must be a number");
  return otherwise;
}

double Arguments::real(std::string_view name, double otherwise) {
  const Number given = number(name, {DTypeCategory::floating, otherwise, 0});
  const bool known = given.category == DTypeCategory::floating || given.integer.is_constant();
  if (!known) refuse("argument '" + std::string(name) + "' must not be symbolic");
  return given.real;
}

bool Arguments::boolean(std::string_view name, bool otherwise) {
  const Argument* argument = find(name);
  if (!argument) return otherwise;
  if (const bool* truth = argument->as<bool>()) return *truth;
  return constant(name, otherwise) != 0;
}

std::optional<DType> Arguments::dtype(std::string_view name) {
  const Argument* argument = find(name);
  if (!argument) return std::nullopt;
  if (const DType* dtype = argument->as<DType>()) return *dtype;
  misfit(name, "must be a dtype");
  return std::nullopt;
}

std::string Arguments::text(std::string_view name, std::string otherwise) {
  const Argument* argument = find(name);
  if (!argument) return otherwise;
  if (const auto* text = argument->as<std::string>()) return *text;
  if (const auto* named = argument->as<Argument::Named>()) {
    return named->name.starts_with("torch.") ? named->name.substr(6) : named->name;
  }
  misfit(name, "must be a word");
  return otherwise;
}

std::int64_t Arguments::wrap_dim(std::int64_t dim, std::size_t rank) {
  auto limit = std::max<std::int64_t>(static_cast<std::int64_t>(rank), 1);
  if (dim >= -limit && dim < limit) return dim < 0 ? dim + limit : dim;
  fail("dim " + std::to_string(dim) + " is out of range for " + std::to_string(rank) + " dims");
  return 0;
}

std::int64_t Arguments::dim(std::string_view name, std::int64_t otherwise, std::size_t rank) {
  return wrap_dim(constant(name, otherwise), rank);
}

std::vector<std::int64_t> Arguments::dims(std::string_view name, std::size_t rank) {
  std::vector<std::int64_t> result = constants(name);
  if (result.empty()) {
    if (node_.op.ends_with(".dims") && find(name) != nullptr) return {};
    for (std::size_t i = 0; i < rank; ++i) result.push_back(static_cast<std::int64_t>(i));
    return result;
  }
  if (rank == 0) {
    for (std::int64_t dim : result) wrap_dim(dim, rank);
    return {};
  }
  for (std::int64_t& dim : result) dim = wrap_dim(dim, rank);
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) fail("a dim appears twice");
  return result;
}

}  // namespace penstock::ops
