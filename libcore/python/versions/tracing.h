#pragma once

// Whether somebody watches what runs. For .cpp files of this room only.

#include <cstdint>

#include "python/cpython.h"

namespace penstock::python {

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
