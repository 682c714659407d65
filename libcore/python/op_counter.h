#pragma once

#include <cstdint>

namespace penstock::python {

/// Lets torch tell us of every op that it runs from now on, on all threads, as it tells its own profiler
/// (at::addGlobalCallback). False where this torch does not tell, or tells something else than we think:
/// ops_run() stays 0 then. Costs an op about 50 ns. Needs the GIL, and torch imported.
bool count_ops();

/// An op's result was found without running it: it counts as run.
void count_op_as_run();

/// ATen ops that this thread has run since count_ops(), those apart that another op ran.
std::int64_t ops_run();

}  // namespace penstock::python
