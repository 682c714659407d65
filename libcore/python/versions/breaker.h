#pragma once

// The eval breaker: what a thread looks at to see whether the interpreter wants something done.

#include <Python.h>

#include <cstdint>

namespace penstock::python {

#if PY_VERSION_HEX >= 0x030d0000
using BreakerFlag = const volatile std::uintptr_t;
inline constexpr std::uintptr_t kBreakerEvents = 0xFF;  ///< the rest is a version of monitoring
#else
using BreakerFlag = const volatile int;
inline constexpr int kBreakerEvents = ~0;
#endif

}  // namespace penstock::python
