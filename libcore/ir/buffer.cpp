#include "ir/buffer.h"

#include <algorithm>
#include <array>

namespace penstock {

namespace {

constexpr std::array<std::string_view, 13> kPostOpNames = {
    "relu",        "gelu_erf", "gelu_tanh", "silu",  "hardswish", "hardsigmoid", "sigmoid",
    "tanh",        "clamp",    "scale",     "add",   "mul",       "sum"};
static_assert(kPostOpNames.size() == static_cast<std::size_t>(PostOp::Kind::sum) + 1,
              "every kind of PostOp has a name");

constexpr LibraryCallFacts kLibraryCalls[] = {
#define PS_LIBRARY_CALL(name, inputs, outputs, attributes, post_ops, prepack) \
  {#name, inputs, outputs, attributes, post_ops, prepack},
#include "ir/library_calls.def"
#undef PS_LIBRARY_CALL
};

}  // namespace

std::string_view to_string(PostOp::Kind kind) {
  return kPostOpNames[static_cast<std::size_t>(kind)];
}

std::optional<PostOp::Kind> post_op_from_name(std::string_view name) {
  auto found = std::find(kPostOpNames.begin(), kPostOpNames.end(), name);
  if (found == kPostOpNames.end()) return std::nullopt;
  return static_cast<PostOp::Kind>(found - kPostOpNames.begin());
}

std::span<const LibraryCallFacts> all_library_calls() { return kLibraryCalls; }

const LibraryCallFacts* find_library_call(std::string_view name) {
  for (const LibraryCallFacts& call : kLibraryCalls) {
    if (call.name == name) return &call;
  }
  return nullptr;
}

}  // namespace penstock
