#pragma once

#include <Python.h>

#include <cstdint>

#include "diag/diagnostic.h"
#include "python/conductor.h"
#include "python/frame_counts.h"

namespace penstock::python {

/// Installs the frame evaluation hook of this interpreter with `driver` (not owned; must outlive
/// the hook). Counts go to `counts`, or to memory of ours. Runs a self-test first: exits, errors
/// and windows compared with plain evaluation (PS0110).
Result<void> install_hook(FrameDriver& driver, FrameCounts* counts = nullptr);

/// Puts the plain evaluator back; what is conducted now is conducted to its end.
void remove_hook();

/// Sets the hook that was installed, and removed, again.
void set_hook(FrameDriver& driver);

/// The installed hook's counts.
const FrameCounts& frame_counts();

/// Counts an activation that the driver walked, and its instructions.
void count_walked(std::uint64_t instructions, std::uint64_t followed);

/// In a forked child: the hook is set, whatever the parent was running without it, and counts go on
/// in memory of our own, for a child must not write its parent's.
void continue_in_child();

/// A tensor was made: an event (python/rest.h), behind which no code rests any longer that runs
/// now.
void note_tensor();

/// No other thread of Python's is there, which the hook could be missed by.
bool is_only_thread(PyThreadState* thread);

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
