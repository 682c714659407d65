#include "guards/size_program.h"

#include <algorithm>

namespace penstock::guards {
namespace {

constexpr int kInlineStack = 16;

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<std::int64_t>(-static_cast<std::uint64_t>(a));
  const std::int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

std::int64_t floor_modulo(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
}

std::int64_t wrapped_multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

std::int64_t wrapped_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

SizeProgram::SizeProgram(const SymExpr& expression,
                         const std::function<int(std::string_view)>& position) {
  if (const auto value = expression.constant()) {
    constant_ = *value;
    return;
  }
  compile(expression, position);
}

void SizeProgram::compile(const SymExpr& expression,
                          const std::function<int(std::string_view)>& position) {
  const auto push = [&](Op op, std::int64_t operand) {
    steps_.push_back({op, operand});
    max_depth_ = std::max(max_depth_, ++depth_);
  };
  const auto combine = [&](Op op) {
    steps_.push_back({op, 0});
    --depth_;
  };
  bool first = true;
  if (expression.constant_term() != 0 || expression.is_constant()) {
    push(Op::number, expression.constant_term());
    first = false;
  }
  if (expression.is_constant()) return;
  for (const SymTerm& term : expression.terms()) {
    bool started = false;
    if (term.coefficient != 1 || term.atoms.empty()) {
      push(Op::number, term.coefficient);
      started = true;
    }
    for (const auto& atom : term.atoms) {
      compile(*atom, position);
      if (started) combine(Op::multiply);
      started = true;
    }
    if (!first) combine(Op::add);
    first = false;
  }
}

void SizeProgram::compile(const SymAtom& atom,
                          const std::function<int(std::string_view)>& position) {
  if (atom.kind == SymAtom::Kind::symbol) {
    const int place = position(atom.text);
    if (place < 0) valid_ = false;
    steps_.push_back({Op::symbol, std::max(place, 0)});
    max_depth_ = std::max(max_depth_, ++depth_);
    return;
  }
  compile(atom.operands[0], position);
  compile(atom.operands[1], position);
  Op op = Op::floordiv;
  if (atom.kind == SymAtom::Kind::mod) op = Op::mod;
  if (atom.kind == SymAtom::Kind::minimum) op = Op::minimum;
  if (atom.kind == SymAtom::Kind::maximum) op = Op::maximum;
  steps_.push_back({op, 0});
  --depth_;
}

std::int64_t SizeProgram::run(const std::int64_t* symbols) const {
  std::int64_t inline_stack[kInlineStack];
  std::vector<std::int64_t> large;
  std::int64_t* stack = inline_stack;
  if (max_depth_ > kInlineStack) {
    large.resize(max_depth_);
    stack = large.data();
  }
  stack[0] = 0;
  std::int64_t* top = stack;
  for (const Step& step : steps_) {
    if (step.op == Op::number) {
      *top++ = step.operand;
      continue;
    }
    if (step.op == Op::symbol) {
      *top++ = symbols[step.operand];
      continue;
    }
    const std::int64_t right = *--top;
    std::int64_t& left = top[-1];
    switch (step.op) {
      case Op::add:
        left = wrapped_add(left, right);
        break;
      case Op::multiply:
        left = wrapped_multiply(left, right);
        break;
      case Op::floordiv:
        left = floor_divide(left, right);
        break;
      case Op::mod:
        left = floor_modulo(left, right);
        break;
      case Op::minimum:
        left = std::min(left, right);
        break;
      case Op::maximum:
        left = std::max(left, right);
        break;
      case Op::number:
      case Op::symbol:
        break;
    }
  }
  return stack[0];
}

}  // namespace penstock::guards
