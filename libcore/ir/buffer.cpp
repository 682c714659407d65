#include "ir/buffer.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace penstock {

namespace {
constexpr std::string_view kPostOps[] = {
    "relu", "gelu_erf", "gelu_tanh", "silu", "hardswish", "hardsigmoid", "sigmoid",
    "tanh", "clamp",    "scale",     "add",  "mul",       "sum"};
static_assert(std::size(kPostOps) == static_cast<int>(PostOp::Kind::sum) + 1);
}  // namespace

std::string_view to_string(PostOp::Kind kind) {
  return kPostOps[static_cast<int>(kind)];
}

double apply(const PostOp& op, double x, double operand, double before) {
  switch (op.kind) {
    case PostOp::Kind::relu:
      return std::isnan(x) ? x : std::max(x, 0.0);
    case PostOp::Kind::gelu_erf:
      return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
    case PostOp::Kind::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case PostOp::Kind::silu:
      return x / (1 + std::exp(-x));
    case PostOp::Kind::hardswish:
      return x * std::clamp(x + 3, 0.0, 6.0) / 6;
    case PostOp::Kind::hardsigmoid:
      return std::clamp(x + 3, 0.0, 6.0) / 6;
    case PostOp::Kind::sigmoid:
      return 1 / (1 + std::exp(-x));
    case PostOp::Kind::tanh:
      return std::tanh(x);
    // Bounds the wrong way round give the upper one, as torch's clamp does; std::clamp promises
    // nothing then.
    case PostOp::Kind::clamp:
      return std::min(std::max(x, op.alpha), op.beta);
    case PostOp::Kind::scale:
      return x * op.alpha;
    case PostOp::Kind::add:
      return x + operand;
    case PostOp::Kind::mul:
      return x * operand;
    case PostOp::Kind::sum:
      return x + before;
  }
  return x;
}

std::optional<PostOp::Kind> post_op_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kPostOps); ++i) {
    if (kPostOps[i] == name) return static_cast<PostOp::Kind>(i);
  }
  return std::nullopt;
}

}  // namespace penstock
