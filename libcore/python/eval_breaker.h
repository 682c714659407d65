#pragma once

#include "python/frame.h"
#include "python/versions/breaker.h"

namespace penstock::python {

/// True if the interpreter wants something done at the next safe place: a signal, a pending call,
/// another thread waiting for the GIL, an asynchronous exception.
inline bool breaker_set(BreakerFlag* flag) {
  return (*flag & kBreakerEvents) != 0;
}
/// The flag that the thread looks at.
BreakerFlag* breaker_flag(PyThreadState* thread);

/// True if CPython looks at the breaker after `instruction`; `jumped`: it took its jump.
bool checks_breaker(const Instruction& instruction, bool jumped);

/// Does what the breaker asks for, with the frame linked and real. False: a Python error is set.
bool serve_breaker();

/// The code of the function that serve_breaker() calls; it must never be conducted.
PyCodeObject* breaker_code();

/// Makes that function. False with a Python error set.
bool prepare_breaker();

}  // namespace penstock::python
