#include "interchange/onnx/source_numbers.h"

namespace penstock::onnx {

namespace {

constexpr int kDeepest = 64;

struct Number {
  Name name;
  DType dtype;  ///< int64 or float64
};

class Reader {
 public:
  explicit Reader(Emitter& out) : out_(out), interface_(out.graph().interface) {}

  std::optional<Number> read(SourceId id, int depth = 0) {
    if (id == kNoSource || depth > kDeepest) return std::nullopt;
    const SourceStep& step = interface_.sources[id];
    if (step.kind == SourceKind::size) return size(step);
    if (step.kind == SourceKind::number) return literal(step.key);
    if (step.kind != SourceKind::computed) return std::nullopt;
    // Nothing is written for what cannot be written whole.
    if (operator_of(step.operation()).empty()) return std::nullopt;
    auto left = read(step.base, depth + 1);
    if (!left) return std::nullopt;
    if (step.operation() == NumberOp::negative)
      return Number{out_.emit("Neg", {left->name}), left->dtype};
    auto right = read(step.other, depth + 1);
    return right ? std::optional(compute(step.operation(), *left, *right)) : std::nullopt;
  }

 private:
  static std::string_view operator_of(NumberOp operation) {
    switch (operation) {
      case NumberOp::add:
        return "Add";
      case NumberOp::subtract:
        return "Sub";
      case NumberOp::multiply:
        return "Mul";
      case NumberOp::divide:
      case NumberOp::floordiv:
        return "Div";
      case NumberOp::modulo:
        return "Mod";
      case NumberOp::negative:
        return "Neg";
      case NumberOp::minimum:
        return "Min";
      case NumberOp::maximum:
        return "Max";
      default:
        return "";
    }
  }

  std::optional<Number> size(const SourceStep& step) {
    for (std::size_t i = 0; i < interface_.inputs.size(); ++i) {
      const Input& input = interface_.inputs[i];
      const auto dim = static_cast<std::size_t>(step.index);
      if (input.source != step.base || step.index < 0 || dim >= input.type.rank()) continue;
      return Number{out_.size_number(input.type.sizes[dim]), DType::int64};
    }
    return std::nullopt;
  }

  std::optional<Number> literal(const Argument& key) {
    if (const auto* integer = key.as<std::int64_t>())
      return Number{out_.integer(*integer, DType::int64), DType::int64};
    if (const auto* real = key.as<double>())
      return Number{out_.number(*real, DType::float64), DType::float64};
    return std::nullopt;
  }

  Number compute(NumberOp operation, Number a, Number b) {
    const bool real =
        a.dtype == DType::float64 || b.dtype == DType::float64 || operation == NumberOp::divide;
    const DType dtype = real ? DType::float64 : DType::int64;
    for (Number* each : {&a, &b})
      if (each->dtype != dtype) each->name = out_.cast(each->name, dtype);
    if (operation == NumberOp::floordiv || operation == NumberOp::modulo) {
      const Name whole = real ? out_.emit("Floor", {out_.emit("Div", {a.name, b.name})}) : "";
      Name rest = real ? out_.emit("Sub", {a.name, out_.emit("Mul", {whole, b.name})})
                       : out_.emit("Mod", {a.name, b.name});
      if (operation == NumberOp::modulo) return {rest, dtype};
      if (real) return {whole, dtype};
      a.name = out_.emit("Sub", {a.name, rest});
    }
    return {out_.emit(operator_of(operation), {a.name, b.name}), dtype};
  }

  Emitter& out_;
  const Interface& interface_;
};

}  // namespace

std::optional<Name> number_of_sizes(Emitter& out, const Input& input) {
  if (input.kind != InputKind::scalar && input.kind != InputKind::size) return std::nullopt;
  auto number = Reader(out).read(input.source);
  if (!number) return std::nullopt;
  return number->dtype == input.type.dtype ? number->name
                                           : out.cast(number->name, input.type.dtype);
}

}  // namespace penstock::onnx
