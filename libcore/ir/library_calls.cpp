#include "ir/buffer.h"

namespace penstock {

namespace {

constexpr LibraryCallFacts kLibraryCalls[] = {
#define PS_LIBRARY_CALL(name, inputs, outputs, attributes, post_ops, prepack) \
  {#name, inputs, outputs, attributes, post_ops, prepack},
#include "ir/library_calls.def"
#undef PS_LIBRARY_CALL
};

}  // namespace

std::span<const LibraryCallFacts> all_library_calls() {
  return kLibraryCalls;
}

const LibraryCallFacts* find_library_call(std::string_view name) {
  for (const LibraryCallFacts& call : kLibraryCalls) {
    if (call.name == name) return &call;
  }
  return nullptr;
}

}  // namespace penstock
