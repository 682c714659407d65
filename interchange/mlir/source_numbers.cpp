#include "interchange/mlir/source_numbers.h"

#include <string_view>

namespace penstock::mlir {

namespace {

constexpr int kDeepest = 64;

/// The dialect's op on ints and on floats; empty: it has none.
struct Operator {
  std::string_view of_ints, of_floats;
};

Operator operator_of(NumberOp operation) {
  switch (operation) {
    case NumberOp::add:
      return {"aten.add.int", "aten.add.float"};
    case NumberOp::subtract:
      return {"aten.sub.int", "aten.sub.float"};
    case NumberOp::multiply:
      return {"aten.mul.int", "aten.mul.float"};
    case NumberOp::divide:
      return {"aten.div.int", "aten.div.float"};
    case NumberOp::floordiv:
      return {"aten.floordiv.int", ""};
    case NumberOp::modulo:
      return {"aten.remainder.int", ""};
    case NumberOp::minimum:
      return {"prim.min.int", ""};
    case NumberOp::maximum:
      return {"prim.max.int", ""};
    case NumberOp::negative:
      return {"aten.neg.int", "aten.neg.float"};
    default:
      return {};
  }
}

class Reader {
 public:
  explicit Reader(Emitter& out) : out_(out), interface_(out.graph().interface) {}

  std::optional<Typed> read(SourceId id, int depth = 0) {
    if (id == kNoSource || depth > kDeepest) return std::nullopt;
    const SourceStep& step = interface_.sources[id];
    if (step.kind == SourceKind::size) return size(step);
    if (step.kind == SourceKind::number) return literal(step.key);
    if (step.kind != SourceKind::computed) return std::nullopt;
    // Nothing is written for what cannot be written whole.
    const Operator known = operator_of(step.operation());
    if (known.of_ints.empty()) return std::nullopt;
    auto left = read(step.base, depth + 1);
    if (!left) return std::nullopt;
    if (step.operation() == NumberOp::negative) return apply(known, {*left}, left->type);
    auto right = read(step.other, depth + 1);
    if (!right) return std::nullopt;
    const bool real = left->type == kFloat || right->type == kFloat;
    if (!real) {
      const bool divides = step.operation() == NumberOp::divide;
      return out_.op(known.of_ints, {*left, *right}, divides ? kFloat : kInt);
    }
    return apply(known, {as_float(*left), as_float(*right)}, kFloat);
  }

 private:
  std::optional<Typed> apply(const Operator& known, const Operands& operands,
                             const std::string& type) {
    const std::string_view name = type == kFloat ? known.of_floats : known.of_ints;
    return name.empty() ? std::nullopt : std::optional(out_.op(name, operands, type));
  }

  Typed as_float(const Typed& number) {
    return number.type == kFloat ? number : out_.op("aten.Float.Scalar", {number}, kFloat);
  }

  std::optional<Typed> size(const SourceStep& step) {
    for (const Input& input : interface_.inputs) {
      const auto dim = static_cast<std::size_t>(step.index);
      if (input.source != step.base || step.index < 0 || dim >= input.type.rank()) continue;
      return out_.size(input.type.sizes[dim]);
    }
    return std::nullopt;
  }

  std::optional<Typed> literal(const Argument& key) {
    if (const auto* integer = key.as<std::int64_t>()) return out_.integer(*integer);
    if (const auto* real = key.as<double>()) return out_.real(*real);
    return std::nullopt;
  }

  Emitter& out_;
  const Interface& interface_;
};

}  // namespace

std::optional<Typed> number_of_sizes(Emitter& out, const Input& input) {
  auto number = Reader(out).read(input.source);
  const bool right = number && (number->type == kFloat) == is_floating(input.type.dtype);
  return right ? number : std::nullopt;
}

}  // namespace penstock::mlir
