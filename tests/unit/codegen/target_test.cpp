#include <doctest/doctest.h>

#include "codegen/compiler.h"

namespace penstock::codegen {
namespace {

TEST_CASE("levels are the same targets with LLVM and without") {
  for (const char* cpu : {"host", "x86-64-v3", "x86-64-v4"}) {
    for (int lanes : {0, 8, 16}) {
      auto level = level_target(cpu, lanes);
      auto llvm = find_target(cpu, lanes);
      REQUIRE(level.has_value() == llvm.has_value());
      if (!level) continue;
      CHECK(level->cpu == llvm->cpu);
      CHECK(level->features == llvm->features);
      CHECK(level->lanes == llvm->lanes);
      CHECK(level->avx512 == llvm->avx512);
    }
  }
}

TEST_CASE("other names and widths are left to LLVM") {
  CHECK(!level_target("znver4", 0));
  CHECK(!level_target("x86-64-v2", 0));
  CHECK(!level_target("host", 12));
}

}  // namespace
}  // namespace penstock::codegen
