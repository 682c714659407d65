#pragma once

// Whether somebody watches what runs. For .cpp files of this room only.

#include <cstdint>

#include "python/cpython.h"

namespace penstock::python {

#if PY_VERSION_HEX >= 0x030c0000
/// A tool of sys.monitoring has callbacks. The functions that it watches may be single ones
/// (set_local_events), which shows in their code alone, and of those that are called within a graph
/// nobody asks for their code.
inline bool has_tool(const PyInterpreterState& interpreter) {
  constexpr int kTools = 6;  // those behind them are sys.setprofile()'s and sys.settrace()'s
  for (int tool = 0; tool < kTools; ++tool) {
    if (interpreter.monitoring_tool_names[tool] == nullptr) continue;
    for (const PyObject* callback : interpreter.monitoring_callables[tool]) {
      if (callback != nullptr) return true;
    }
  }
  return false;
}
#endif

/// A tracer, a profiler or a tool of sys.monitoring is active for this code on this thread.
inline bool is_traced(PyThreadState* thread, [[maybe_unused]] PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030c0000
  // Those of sys.setprofile() and sys.settrace() stay when a thread ends that has set them: each
  // thread that is watched has a function of its own.
  constexpr unsigned int kProfiler = 1 << 6, kTracer = 1 << 7;
  const auto all = [](const auto& monitors) {
    unsigned int tools = 0;
    for (const std::uint8_t of_event : monitors.tools) tools |= of_event;
    return tools;
  };
  if (has_tool(*thread->interp)) return true;
  unsigned int tools = all(thread->interp->monitors);
  if (code->_co_monitoring != nullptr) tools |= all(code->_co_monitoring->local_monitors);
  if (tools == 0) return false;
  return (tools & ~(kProfiler | kTracer)) != 0 || thread->c_profilefunc != nullptr ||
         thread->c_tracefunc != nullptr;
#else
  return thread->cframe->use_tracing != 0;
#endif
}

}  // namespace penstock::python
