#pragma once

#include <vector>

#include "python/frame.h"
#include "python/step.h"

namespace penstock::python {

/// What a driver decides about a frame that is about to run.
enum class Entry : std::uint8_t {
  conduct,
  native,
  /// Natively, and the driver has no use for it as long as nothing happens in it (python/rest.h).
  /// Only where the caller's thread records nothing.
  native_watched,
  /// Natively, and FrameDriver::ran() is told when the frame has ended.
  native_told,
  /// Natively, and torch's ops below are not counted (torch/op_counter.h).
  native_apart,
  /// As native_apart, and whatever it calls runs without the hook too. Only where no other thread
  /// of Python's is there.
  unhooked,
  /// As unhooked: a library is imported, and the collector rests (python/collector_rest.h).
  importing,
  /// The driver did all that the call does: Frame::attachment is the result, an owned reference, or
  /// null with a Python error set. Only for calls (not resumes); nothing else is called then. The
  /// frame ends without having run an instruction.
  finished,
};

/// What a driver wants done with the next instruction.
enum class Directive : std::uint8_t {
  step,      ///< the stepper executes it (or, if it cannot, a window)
  done,      ///< the driver executed it (and perhaps more) and moved locals, stack and place itself
  window,    ///< the evaluator executes it in a native window
  exit,      ///< the evaluator takes the rest of the frame. With a Python error set: raised here
  raised,    ///< the driver set a Python error: it is raised by this instruction
  returned,  ///< the frame ends here: its result is on top of its stack (and nothing below it)
};

/// How a conducted activation ended.
enum class Leaving : std::uint8_t {
  returned,  ///< `value` is the result
  yielded,   ///< `value` was yielded; the next resume is a new activation
  raised,    ///< a Python error is set and left the frame
  exited,    ///< the evaluator takes over now (the state is still real): called before it runs
};

/// Decides what happens to frames: implemented by capture, by jit and by the test harnesses. All
/// calls come with the GIL held, from any thread, for frames nested in each other to any depth:
/// per-frame state belongs into Frame::attachment. A driver must not leave a Python error set
/// unless it answers `raised` or `exit`.
class FrameDriver {
 public:
  virtual ~FrameDriver() = default;

  /// A frame is about to run: a call, or a generator's resume (Frame::resumed()). It is not
  /// linked yet: no foreign code may run. For `native` nothing else is called for this activation.
  virtual Entry enter(Frame& frame) = 0;
  /// Before each instruction, with the frame linked and all its state real.
  virtual Directive instruction(Frame& frame, const Instruction& instruction) = 0;
  /// The exits of a native window at `instruction` (units; run_window says which are possible).
  /// Empty: a window of this one instruction. Asked for Directive::window and for what cannot be
  /// stepped.
  virtual std::vector<int> window_exits(Frame&, const Instruction&) { return {}; }
  /// After an instruction that the conductor executed (step or window). With `raised` the error is
  /// set and not dispatched yet. Answering true leaves the frame to the evaluator here: at the next
  /// instruction, or with the error raised.
  virtual bool stepped(Frame&, const Instruction&, Outcome) { return false; }
  /// An exception was dispatched to a handler inside the frame: the stack was cut to `depth`, the
  /// exception pushed; frame.unit() is the handler.
  virtual void unwound(Frame&, int /*depth*/) {}
  /// A frame for which enter() answered `native_told` has ended: it `returned`, or a Python error
  /// is set.
  virtual void ran(PyThreadState*, bool /*returned*/) {}
  /// The activation ends. `value` is borrowed, null unless returned or yielded.
  virtual void leave(Frame&, Leaving, PyObject* /*value*/) {}
};

/// Runs `raw` to its end under `driver`: owns linking, the eval breaker, tracing, exception
/// dispatch, yields and returns. `throwing`: a generator is resumed by throw(), the error is set.
/// Returns what the evaluator would: the result, the yielded value, or null with an error set.
/// Needs: driver.enter() answered `conduct` for `frame`, which is not linked.
PyObject* conduct(Frame& frame, FrameDriver& driver, bool throwing);

/// Frames that are conducted now, on all threads: none of those that were left to the evaluator.
int frames_conducted();

}  // namespace penstock::python
