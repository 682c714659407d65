#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::torch {

/// Lets torch tell us of every op that it runs from now on, on all threads, as it tells its own
/// profiler (at::addGlobalCallback). `is_factory` tells by an op's name without "aten::" whether it
/// makes tensors of nothing. False where this torch does not tell, or tells something else than we
/// think: ops_run() stays 0 then. Costs an op about 100 ns. Needs the GIL, and torch imported.
bool count_ops(bool (*is_factory)(std::string_view name));

/// The same until stop_counting_ops(), which is called as often. What was counted before and
/// between stays.
bool start_counting_ops(bool (*is_factory)(std::string_view name));
void stop_counting_ops();

/// An op's result was found without running it: it counts as run.
void count_op_as_run();

/// ATen ops that this thread has run while they were counted, those apart that another op ran.
std::int64_t ops_run();
/// Those of them that make tensors of nothing.
std::int64_t factory_ops_run();

/// This thread's ops are not counted from here to end_ops_apart(), which is called as often.
void begin_ops_apart();
void end_ops_apart();

}  // namespace penstock::torch
