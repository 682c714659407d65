#include "interchange/onnx/rule.h"

#include <algorithm>
#include <utility>

namespace penstock::onnx {

namespace {

/// Whether operands of these sizes broadcast to `whole`: at every dim one of them is as large.
bool reaches(const std::vector<const std::vector<SymExpr>*>& parts,
             const std::vector<SymExpr>& whole) {
  for (std::size_t back = 1; back <= whole.size(); ++back) {
    const SymExpr& wanted = whole[whole.size() - back];
    const bool reached = wanted == SymExpr(1) || std::ranges::any_of(parts, [&](const auto* part) {
                           return back <= part->size() && (*part)[part->size() - back] == wanted;
                         });
    if (!reached) return false;
  }
  return true;
}

}  // namespace

Rule::Rule(const Node& node, Emitter& out, std::string_view detail)
    : node_(node), out_(out), detail_(detail), arguments_(node, out.graph()), mark_(out.mark()) {}

const TensorType& Rule::result(std::size_t i) const {
  static const TensorType none{};
  return i < node_.results.size() ? out_.type(node_.results[i]) : none;
}

Name Rule::in(std::string_view operand) {
  const ValueId id = arguments_.value(operand);
  return arguments_.failed() ? "" : out_.value(id);
}

Name Rule::optional(std::string_view operand) {
  return has(operand) ? in(operand) : "";
}

Name Rule::in_as(std::string_view operand, DType dtype) {
  const ops::Operand given = arguments_.operand(operand);
  if (arguments_.failed()) return "";
  if (given.is_tensor()) return out_.value(given.value);
  if (given.value != kNoValue) return cast(out_.value(given.value), dtype);
  const ops::Number& number = given.number;
  if (number.category == DTypeCategory::floating) return out_.number(number.real, dtype);
  if (const auto known = number.integer.constant()) return out_.integer(*known, dtype);
  return cast(out_.size_number(number.integer), dtype);
}

std::vector<Name> Rule::broadcast(std::initializer_list<std::string_view> operands, DType dtype) {
  std::vector<ops::Operand> given;
  for (std::string_view operand : operands) given.push_back(arguments_.operand(operand));
  if (arguments_.failed()) return std::vector<Name>(operands.size());
  std::vector<const std::vector<SymExpr>*> narrow, parts;
  for (const ops::Operand& each : given) {
    const auto* found = each.is_tensor() ? out_.narrow(each.value) : nullptr;
    narrow.push_back(found == nullptr ? nullptr : &found->sizes);
    if (each.is_tensor()) parts.push_back(found == nullptr ? &each.tensor->sizes : &found->sizes);
  }
  bool whole = !reaches(parts, result().sizes);
  std::vector<Name> names;
  std::size_t i = 0;
  for (std::string_view operand : operands) {
    const bool expands = narrow[i] != nullptr && whole;
    if (narrow[i] != nullptr && !expands)
      names.push_back(out_.narrow(given[i].value)->name);
    else
      names.push_back(in_as(operand, dtype));
    if (expands) whole = false;
    ++i;
  }
  return names;
}

DType Rule::dtype_of(std::initializer_list<std::string_view> operands) {
  for (std::string_view operand : operands) {
    const ops::Operand given = arguments_.operand(operand);
    if (given.is_tensor()) return given.tensor->dtype;
  }
  return result().dtype;
}

Name Rule::reshape(Name x, const std::vector<SymExpr>& sizes) {
  // A size of 0 means what it says.
  return emit("Reshape", {std::move(x), out_.sizes(sizes)},
              {attribute("allowzero", std::int64_t{1})});
}

void Rule::give(Name name, std::size_t i) {
  if (failed() || i >= node_.results.size()) return;
  const ValueId id = node_.results[i];
  out_.bind(id, out_.rename_since(mark_, name, out_.graph().values[id].name));
}

void Rule::refuse(std::string reason) {
  out_.fail(std::move(reason));
}

Attribute attribute(std::string_view name, std::vector<std::int64_t> values) {
  return {std::string(name), std::move(values)};
}
Attribute attribute(std::string_view name, std::int64_t value) {
  return {std::string(name), value};
}
Attribute attribute(std::string_view name, double value) {
  return {std::string(name), static_cast<float>(value)};
}
Attribute attribute(std::string_view name, std::string_view value) {
  return {std::string(name), std::string(value)};
}

}  // namespace penstock::onnx
