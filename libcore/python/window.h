#pragma once

#include <span>

#include "python/frame.h"
#include "python/step.h"

namespace penstock::python {

/// How a native window ended.
enum class WindowEnd : std::uint8_t {
  reached,     ///< the frame stands before one of the exits, frame.unit() says which
  returned,    ///< the frame returned inside the window; the result is on top of its stack
  yielded,     ///< the generator yielded inside the window; `value` of the result
  raised,      ///< an exception left the frame (the evaluator unwound it); a Python error is set
  impossible,  ///< no window can be made here; nothing was executed
};

struct WindowResult {
  WindowEnd end;
  PyRef value;  ///< returned, yielded: the value
};

/// Lets CPython's evaluator run the frame from its place until it reaches one of `exits` (units at
/// which instructions start, not RESUME), or leaves the frame. Exceptions that the frame handles
/// are dispatched by the evaluator; give the handlers' targets as exits to get control there. The
/// code that runs is a copy with the exits patched, cached with the code object. Needs: the frame
/// linked, its state real. Leaves: the frame linked and real at the exit.
WindowResult run_window(Frame& frame, std::span<const int> exits);

/// A window of the one instruction at the frame's place: exits behind it, at its jump target and at
/// its handler.
WindowResult run_instruction_window(Frame& frame, const Instruction& instruction);

}  // namespace penstock::python
