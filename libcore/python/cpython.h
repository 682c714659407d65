#pragma once

// CPython's internal headers, for the .cpp files of this room only. Py_BUILD_CORE opens them; C++
// has no C atomics before C++23, the builtin fallback has the same layout.
#include <Python.h>

#define Py_BUILD_CORE
#undef _PyGC_FINALIZED
#undef HAVE_STD_ATOMIC
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#if __has_include(<internal/pycore_interpframe.h>)
#include <internal/pycore_genobject.h>
#include <internal/pycore_interpframe.h>
#endif
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#pragma GCC diagnostic pop
