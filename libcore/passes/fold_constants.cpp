// Constants. A tensor whose elements are all one known number (prim.full, and what views and
// conversions make of it) is put as that number into the ops that take one; ops that a neutral
// number turns into nothing go, and so do those whose result has no elements.
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "ir/float_format.h"
#include "ops/op.h"
#include "passes/core_passes.h"
#include "passes/rewrite.h"

namespace penstock::passes {

namespace {

bool is_constant_number(const Argument& argument) {
  return argument.as<double>() || argument.as<std::int64_t>() || argument.as<bool>();
}

double real_value(const Argument& number) {
  if (const auto* real = number.as<double>()) return *real;
  if (const auto* integer = number.as<std::int64_t>()) return static_cast<double>(*integer);
  return *number.as<bool>() ? 1 : 0;
}

/// `number` as an element of `dtype`; nothing when the conversion is not defined (a NaN to
/// integer).
std::optional<Argument> converted(const Argument& number, DType dtype) {
  if (is_boolean(dtype)) return Argument(real_value(number) != 0);
  if (is_floating(dtype)) return Argument(round_to(real_value(number), dtype));
  if (!is_integral(dtype)) return std::nullopt;
  if (const auto* truth = number.as<bool>()) return Argument(std::int64_t{*truth});
  // Never by way of a double, which holds no more than 53 bits.
  if (const auto* integer = number.as<std::int64_t>()) return Argument(wrap_to(*integer, dtype));
  double value = real_value(number);
  if (!(value > -9.2e18 && value < 9.2e18)) return std::nullopt;
  return Argument(static_cast<std::int64_t>(value));
}

class Folding {
 public:
  explicit Folding(Graph graph) : rewrite_(std::move(graph)) {}

  Result<Graph> run() {
    for (const Node& old : rewrite_.old_nodes()) {
      Node node = rewrite_.current(old);
      rewrite_.set_call(old.call);
      const ops::OpFacts* op = ops::find_op(node.op);
      if (op && op->is_prim() && node.results.size() == 1 && fold(*op, node)) continue;
      rewrite_.keep(std::move(node));
    }
    return rewrite_.finish();
  }

 private:
  /// The number that all elements of `argument` are.
  std::optional<Argument> uniform(const Argument& argument) const {
    if (is_constant_number(argument)) return argument;
    const auto* value = argument.as<Argument::Value>();
    auto found = value ? splats_.find(value->id) : splats_.end();
    return found == splats_.end() ? std::nullopt : std::optional(found->second);
  }

  /// True when something stands for the node's result already.
  bool fold(const ops::OpFacts& op, Node& node) {
    switch (op.group) {
      case ops::PrimGroup::create:
        if (op.id == ops::OpId::prim_full) {
          const Argument* number = find_argument(node, "value");
          if (number && is_constant_number(*number)) note_splat(node.results.front(), *number);
        }
        return false;
      case ops::PrimGroup::view:
      case ops::PrimGroup::cast:
        return fold_copy(op, node);
      case ops::PrimGroup::binary:
        return fold_binary(op, node);
      case ops::PrimGroup::join:
      case ops::PrimGroup::reduce:
      case ops::PrimGroup::scan:
      case ops::PrimGroup::index:
        return fold_nothing(node);
      case ops::PrimGroup::ternary:
        if (op.id == ops::OpId::prim_where) take_numbers(node, {"self", "other"});
        return false;
      default:
        return false;
    }
  }

  /// A tensor holds what its dtype makes of the number: 0.3 is no bfloat16.
  void note_splat(ValueId splat, const Argument& number) {
    const DType dtype = rewrite_.type(splat).dtype;
    const auto held = is_complex(dtype) ? std::optional(number) : converted(number, dtype);
    if (held) splats_.emplace(splat, *held);
  }

  bool fold_copy(const ops::OpFacts& op, const Node& node) {
    const TensorType type = rewrite_.type(node.results.front());
    const auto* self = find_argument(node, "self")->as<Argument::Value>();
    bool converts = op.id == ops::OpId::prim_convert;
    if (converts && self && rewrite_.type(self->id).dtype == type.dtype) {
      rewrite_.replace(node.results.front(), self->id);
      return true;
    }
    auto number = uniform(*find_argument(node, "self"));
    if (number && converts) number = converted(*number, type.dtype);
    if (!number || op.id == ops::OpId::prim_as_strided || type.device != "cpu") return false;
    ValueId splat = rewrite_.emit_one(
        "prim.full",
        {arg("size", list_of(type.sizes)), arg("value", *number), arg("dtype", type.dtype)});
    splats_.emplace(splat, *number);
    rewrite_.replace(node.results.front(), splat);
    return true;
  }

  /// A result without elements is made of nothing: its kernel would read where its operands, which
  /// have none either, have nothing to read.
  bool fold_nothing(const Node& node) {
    const TensorType type = rewrite_.type(node.results.front());
    const bool empty = std::ranges::find(type.sizes, SymExpr(0)) != type.sizes.end();
    if (!empty || type.device != "cpu" || is_complex(type.dtype)) return false;
    const Argument nothing = is_floating(type.dtype)  ? Argument(0.0)
                             : is_boolean(type.dtype) ? Argument(false)
                                                      : Argument(std::int64_t{0});
    const ValueId splat = rewrite_.emit_one(
        "prim.full",
        {arg("size", list_of(type.sizes)), arg("value", nothing), arg("dtype", type.dtype)});
    splats_.emplace(splat, nothing);
    rewrite_.replace(node.results.front(), splat);
    return true;
  }

  /// Puts numbers for splats among the named arguments, but for the last tensor.
  void take_numbers(Node& node, std::initializer_list<std::string_view> names) {
    std::size_t tensors = 0;
    for (std::string_view name : names)
      tensors += find_argument(node, name)->as<Argument::Value>() != nullptr;
    for (NamedArgument& argument : node.args) {
      bool named = std::find(names.begin(), names.end(), argument.name) != names.end();
      if (!named || tensors < 2 || !argument.value.as<Argument::Value>()) continue;
      if (auto number = uniform(argument.value)) {
        argument.value = *number;
        --tensors;
      }
    }
  }

  bool fold_binary(const ops::OpFacts& op, Node& node) {
    // The right operand first: divisors and exponents are what kernels know how to use.
    std::swap(node.args[0], node.args[1]);
    take_numbers(node, {"self", "other"});
    std::swap(node.args[0], node.args[1]);
    const auto* kept = find_argument(node, "self")->as<Argument::Value>();
    const Argument* right = find_argument(node, "other");
    if (!kept || !is_constant_number(*right)) return false;
    double number = real_value(*right);
    bool one = op.id == ops::OpId::prim_mul || op.id == ops::OpId::prim_div ||
               op.id == ops::OpId::prim_pow;
    // x + 0 is not x for x = -0; x - 0 is.
    bool integral = !is_floating(rewrite_.type(kept->id).dtype);
    bool zero = op.id == ops::OpId::prim_sub || (op.id == ops::OpId::prim_add && integral);
    bool neutral = (one && number == 1) || (zero && number == 0 && !std::signbit(number));
    if (neutral) rewrite_.replace(node.results.front(), kept->id);
    return neutral;
  }

  Rewrite rewrite_;
  std::unordered_map<ValueId, Argument>
      splats_;  ///< by value: the number that all its elements are
};

}  // namespace

Result<Graph> fold_constants(Graph graph) {
  return Folding(std::move(graph)).run();
}

}  // namespace penstock::passes
