#pragma once

#include <Python.h>

#include <cstdint>

#include "diag/diagnostic.h"
#include "python/conductor.h"

namespace penstock::python {

/// Why a frame ran natively although a driver is installed.
enum class Native : std::uint8_t {
  driver,     ///< the driver's enter() said so
  traced,     ///< a tracer or profiler was active on the thread
  stack,      ///< too little C stack or recursion depth left
  generator,  ///< the call that makes a generator object: it runs no code of the body
  skipped,    ///< code marked by skip_code
  count
};

/// What the hook has seen since it was installed: activations, that is calls and resumes of generators.
/// Written with the GIL held; plain data, so that it may lie in memory shared with the parent process.
struct FrameCounts {
  std::uint64_t seen = 0;
  std::uint64_t conducted = 0;  ///< to their end (return, yield or exception)
  std::uint64_t exited = 0;     ///< conducted first, then left to the evaluator
  std::uint64_t native[static_cast<int>(Native::count)] = {};
};

/// Installs the frame evaluation hook of this interpreter with `driver` (not owned; must outlive
/// the hook). Runs a self-test first: one exit, one throw, one window compared with plain
/// evaluation.
Result<void> install_hook(FrameDriver& driver);

/// Puts the plain evaluator back.
void remove_hook();

/// The installed hook's counts.
const FrameCounts& frame_counts();

/// Continues the counts in memory of our own: for a forked child, which must not write its parent's.
void keep_own_counts();

/// Never conducts frames of this code object (for code of ours).
void skip_code(PyCodeObject* code);

/// Suspends the hook for the current thread's calls while it lives: frames run natively, not
/// counted.
class HookPause {
 public:
  HookPause();
  ~HookPause();
  HookPause(const HookPause&) = delete;
  HookPause& operator=(const HookPause&) = delete;
};

/// Bytes of C stack left to the current thread.
std::size_t stack_left();

}  // namespace penstock::python
