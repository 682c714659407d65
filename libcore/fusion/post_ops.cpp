// Post-ops
//
// What a library can apply to its result, recognised in the expression that a kernel stores: each
// link a pattern of the table below around exactly one inner value, the innermost one the load of
// the result. The patterns are those that decompose writes for the activations; operands of
// commutative ops may stand either way.
#include "fusion/post_ops.h"

#include <cmath>
#include <numbers>

namespace penstock::fusion {

namespace {

bool collect(const Body& body, PointwiseKernel& kernel) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (const Loop* loop = as_loop(body[i])) {
      if (!loop->accumulators.empty() || i + 1 != body.size()) return false;
      kernel.loops.push_back(loop);
      return collect(loop->body, kernel);
    }
    const Instruction* instruction = as_instruction(body[i]);
    if (instruction->op == "store") {
      if (kernel.store != nullptr || instruction->operands.size() != 1) return false;
      kernel.store = instruction;
    } else {
      kernel.made[instruction->result] = instruction;
    }
  }
  return true;
}

/// Reads the expression of a kernel's value as post-ops on one buffer's elements.
class PostOpReader {
 public:
  PostOpReader(const PointwiseKernel& kernel, BufferId result) : kernel_(kernel), result_(result) {}

  std::optional<PostOpChain> read() {
    if (!chain(kernel_.store->operands.front()) || ops_.empty()) return std::nullopt;
    return PostOpChain{std::move(ops_), std::move(operands_)};
  }

 private:
  const Instruction& at(ScalarId scalar) const { return *kernel_.made.at(scalar); }
  bool is(ScalarId scalar, std::string_view op) const { return at(scalar).op == op; }

  bool is_constant(ScalarId scalar, double wanted) const {
    auto value = constant(scalar);
    return value && std::fabs(*value - wanted) <= 1e-6 * std::fabs(wanted);
  }
  std::optional<double> constant(ScalarId scalar) const {
    if (!is(scalar, "constant")) return std::nullopt;
    const Argument& number = at(scalar).immediate;
    if (const auto* real = number.as<double>()) return *real;
    if (const auto* integer = number.as<std::int64_t>()) return static_cast<double>(*integer);
    return std::nullopt;
  }

  /// The other operand of `scalar` = op(a, number), either way around for commutative ops.
  std::optional<ScalarId> against(ScalarId scalar, std::string_view op, double number) const {
    if (!is(scalar, op)) return std::nullopt;
    ScalarId a = at(scalar).operands[0], b = at(scalar).operands[1];
    if (is_constant(b, number)) return a;
    if (op != "div" && is_constant(a, number)) return b;
    return std::nullopt;
  }

  /// Both operands of a commutative op, in one order and the other.
  template <class Match>
  std::optional<ScalarId> either(ScalarId scalar, std::string_view op, const Match& match) const {
    if (!is(scalar, op)) return std::nullopt;
    ScalarId a = at(scalar).operands[0], b = at(scalar).operands[1];
    if (auto inner = match(a, b)) return inner;
    return match(b, a);
  }

  /// clamp(x, low, high) = minimum(maximum(x, low), high)
  std::optional<ScalarId> clamped(ScalarId scalar, double low, double high) const {
    auto below = against(scalar, "minimum", high);
    return below ? against(*below, "maximum", low) : std::nullopt;
  }

  /// gate(x) = clamp(x + 3, 0, 6)
  std::optional<ScalarId> hard_gate(ScalarId scalar) const {
    auto sum = clamped(scalar, 0, 6);
    return sum ? against(*sum, "add", 3) : std::nullopt;
  }

  using Result = std::optional<ScalarId>;

  Result relu(ScalarId s) const { return against(s, "maximum", 0); }
  Result sigmoid(ScalarId s) const {
    return is(s, "sigmoid") ? Result(at(s).operands[0]) : Result();
  }
  Result tanh(ScalarId s) const { return is(s, "tanh") ? Result(at(s).operands[0]) : Result(); }
  Result silu(ScalarId s) const {
    return either(s, "mul", [&](ScalarId x, ScalarId gate) {
      return sigmoid(gate) == x ? Result(x) : Result();
    });
  }
  Result hardsigmoid(ScalarId s) const {
    auto gate = against(s, "div", 6);
    return gate ? hard_gate(*gate) : Result();
  }
  Result hardswish(ScalarId s) const {
    auto product = against(s, "div", 6);
    if (!product) return {};
    return either(*product, "mul", [&](ScalarId x, ScalarId gate) {
      return hard_gate(gate) == x ? Result(x) : Result();
    });
  }
  /// (x * 0.5) * (f + 1), where `inner` finds the x of f.
  template <class Inner>
  Result gelu(ScalarId s, const Inner& inner) const {
    return either(s, "mul", [&](ScalarId half, ScalarId factor) -> Result {
      auto x = against(half, "mul", 0.5);
      auto f = against(factor, "add", 1);
      return x && f && inner(*f) == x ? x : Result();
    });
  }
  Result gelu_erf(ScalarId s) const {
    return gelu(s, [&](ScalarId f) -> Result {
      return is(f, "erf") ? against(at(f).operands[0], "mul", std::numbers::sqrt2 / 2) : Result();
    });
  }
  /// tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x))
  Result gelu_tanh(ScalarId s) const {
    return gelu(s, [&](ScalarId f) -> Result {
      if (!is(f, "tanh")) return {};
      auto sum = against(at(f).operands[0], "mul", std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
      if (!sum) return {};
      return either(*sum, "add", [&](ScalarId x, ScalarId cubic) -> Result {
        auto cube = against(cubic, "mul", 0.044715);
        return cube && cube_of(*cube) == x ? Result(x) : Result();
      });
    });
  }
  Result cube_of(ScalarId s) const {
    return either(s, "mul", [&](ScalarId square, ScalarId x) -> Result {
      bool squares =
          is(square, "mul") && at(square).operands[0] == x && at(square).operands[1] == x;
      return squares ? Result(x) : Result();
    });
  }

  bool link(PostOp op, ScalarId inner) {
    if (!chain(inner)) return false;
    ops_.push_back(op);
    return true;
  }

  bool chain(ScalarId s) {
    const Instruction& made = at(s);
    if (made.op == "load") {
      return made.buffer == result_ && made.operands.empty() && made.index == kernel_.store->index;
    }
    struct Pattern {
      PostOp::Kind kind;
      Result (PostOpReader::*inner)(ScalarId) const;
    };
    // The larger patterns first: a hardswish is also a scale of something.
    constexpr Pattern kPatterns[] = {
        {PostOp::Kind::gelu_erf, &PostOpReader::gelu_erf},
        {PostOp::Kind::gelu_tanh, &PostOpReader::gelu_tanh},
        {PostOp::Kind::silu, &PostOpReader::silu},
        {PostOp::Kind::hardswish, &PostOpReader::hardswish},
        {PostOp::Kind::hardsigmoid, &PostOpReader::hardsigmoid},
        {PostOp::Kind::relu, &PostOpReader::relu},
        {PostOp::Kind::sigmoid, &PostOpReader::sigmoid},
        {PostOp::Kind::tanh, &PostOpReader::tanh},
    };
    for (const Pattern& pattern : kPatterns) {
      if (auto inner = (this->*pattern.inner)(s)) return link({pattern.kind}, *inner);
    }
    return clamp(s) || factor(s) || addend(s, "add", PostOp::Kind::add) ||
           addend(s, "mul", PostOp::Kind::mul);
  }

  bool clamp(ScalarId s) {
    if (!is(s, "minimum")) return false;
    auto high = constant(at(s).operands[1]);
    ScalarId below = at(s).operands[0];
    if (!high || !is(below, "maximum")) return false;
    auto low = constant(at(below).operands[1]);
    return low && link({PostOp::Kind::clamp, *low, *high}, at(below).operands[0]);
  }

  bool factor(ScalarId s) {
    if (!is(s, "mul")) return false;
    for (int i = 0; i < 2; ++i) {
      if (auto number = constant(at(s).operands[1 - i])) {
        return link({PostOp::Kind::scale, *number}, at(s).operands[i]);
      }
    }
    return false;
  }

  /// add or mul with what a load of another buffer gives, which `place` can describe.
  bool addend(ScalarId s, std::string_view op, PostOp::Kind kind) {
    if (!is(s, op)) return false;
    for (int i = 0; i < 2; ++i) {
      const Instruction& load = at(at(s).operands[1 - i]);
      if (load.op != "load" || !load.operands.empty() || load.buffer == result_) continue;
      std::size_t before = ops_.size(), loads = operands_.size();
      PostOp post_op{kind};
      if (link(post_op, at(s).operands[i])) {
        operands_.push_back(&load);
        return true;
      }
      ops_.resize(before);
      operands_.resize(loads);
    }
    return false;
  }

  const PointwiseKernel& kernel_;
  BufferId result_;
  std::vector<PostOp> ops_;
  std::vector<const Instruction*> operands_;
};

}  // namespace

bool collect_pointwise(const Body& body, PointwiseKernel& kernel) {
  return collect(body, kernel) && kernel.store != nullptr;
}

PointwiseKernel without_rounding(const PointwiseKernel& kernel, DType dtype,
                                 std::list<Instruction>& changed) {
  const auto number = [](DType type) { return type == DType::float32; };
  const auto source = [&](ScalarId scalar) {
    while (true) {
      const Instruction& made = *kernel.made.at(scalar);
      if (made.op != "convert" || (made.dtype != dtype && !number(made.dtype))) return scalar;
      const DType from = kernel.made.at(made.operands.front())->dtype;
      if (from != dtype && !number(from)) return scalar;
      scalar = made.operands.front();
    }
  };
  const auto copy = [&](const Instruction& instruction) {
    Instruction& made = changed.emplace_back(instruction);
    for (ScalarId& operand : made.operands) operand = source(operand);
    return &made;
  };
  PointwiseKernel without = kernel;
  for (auto& [scalar, instruction] : without.made) instruction = copy(*instruction);
  without.store = copy(*kernel.store);
  return without;
}

bool loops_over_all(const PointwiseKernel& kernel, const Buffer& result) {
  SymExpr count = 1, elements = 1;
  for (const Loop* loop : kernel.loops) count *= loop->extent;
  for (const SymExpr& size : result.sizes) elements *= size;
  return count == elements;
}

std::optional<PostOpChain> read_post_ops(const PointwiseKernel& kernel, BufferId result) {
  return PostOpReader(kernel, result).read();
}

}  // namespace penstock::fusion
