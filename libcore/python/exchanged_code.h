#pragma once

#include <cstdint>

// Functions that are given other code.
//
// A function is known by its identity, as another one would be another object; its code is not
// looked at in every call. `f.__code__ = …` (autoreload of notebooks, mocks, some profilers) makes
// it do something else all the same, so that what was recorded through it is true no more. It is
// rare: the assignment counts, and what was recorded before it serves no more.

namespace penstock::python {

/// How many functions were given other code since count_exchanged_code(), of those whose code had
/// run under the hook before. Any thread.
std::uint64_t code_exchanges();

/// From now on they are counted, for the life of the process: `__code__` of functions gets a setter
/// that does what CPython's does, and counts. Needs the GIL. Where `__code__` is no attribute of C
/// nothing is counted.
void count_exchanged_code();

}  // namespace penstock::python
