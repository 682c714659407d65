#pragma once

#include <vector>

#include "python/bytecode.h"

namespace penstock::capture {

/// The test at the bottom of a `while` loop: CPython compiles it twice, in front of the body and
/// behind it.
struct LoopTest {
  std::int32_t body;   ///< unit of the body's first instruction
  std::int32_t begin;  ///< unit of the test's first instruction behind the body
  std::int32_t jump;   ///< unit of the jump back to the body
};

/// The loops of a code object whose test stands on lines of its own, above the body.
std::vector<LoopTest> loop_tests(const python::Bytecode& code);

}  // namespace penstock::capture
