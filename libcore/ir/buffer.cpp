#include "ir/buffer.h"

#include <iterator>

namespace penstock {

namespace {
constexpr std::string_view kPostOps[] = {"relu", "gelu_erf", "gelu_tanh", "silu",
                                         "hardswish", "hardsigmoid", "sigmoid", "tanh",
                                         "clamp", "scale", "add", "mul", "sum"};
static_assert(std::size(kPostOps) == static_cast<int>(PostOp::Kind::sum) + 1);
}  // namespace

std::string_view to_string(PostOp::Kind kind) { return kPostOps[static_cast<int>(kind)]; }

std::optional<PostOp::Kind> post_op_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kPostOps); ++i) {
    if (kPostOps[i] == name) return static_cast<PostOp::Kind>(i);
  }
  return std::nullopt;
}

}  // namespace penstock
