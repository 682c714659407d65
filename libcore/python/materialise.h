#pragma once

#include <vector>

#include "python/frame.h"

namespace penstock::python {

/// All that a frame of a plain function holds in the middle of its code: enough to make it real.
struct FrameState {
  PyRef function;            ///< the function object that the frame runs
  std::vector<PyRef> slots;  ///< one per localsplus slot; null: unbound; cells as cell objects
  std::vector<PyRef> stack;  ///< operand stack, bottom first; null where CPython's holds a null
  int unit = 0;   ///< of the next instruction (for a generator: the one behind its yield)
  PyRef handled;  ///< the exception being handled (sys.exc_info), or null
};

/// The state of a frame at its place, with references of its own.
FrameState state_of(const Frame& frame);

/// Makes the frames of an inlined call real.
///
/// `caller` stands before the instruction that calls (its operand stack holds the original callable
/// and arguments) and is about to step it. `states` are the callee's frame and those below it,
/// outermost first; all but the last stand before their own calling instruction. When the call is
/// performed, the hook recognises each fresh frame by its code, its function and the frame that
/// called it, puts the state in place, and asks the driver's enter() with frame.unit() there:
/// conducted or native, the frame goes on from that place, and a middle frame's own call makes the
/// next one.
///
/// The functions' code, defaults and closures must be those of the time of capture; the callables
/// must be plain functions or bound methods of such. An exception with a traceback entry must not
/// be carried in a state: materialise before the instruction that raises.
void announce_frames(const Frame& caller, std::vector<FrameState> states);

/// Ends the announcement made for `caller`, after its call; the number of states that no frame
/// claimed (not 0: an error of ours, the call ran from its start).
std::size_t withdraw_frames(const Frame& caller);

/// True if this thread has announced anything.
bool states_announced();

/// Called by the hook for every frame about to run: true if it claimed an announced state, which is
/// then in place.
bool claim_state(PyThreadState* thread, _PyInterpreterFrame* raw);

/// Puts `state` into a generator (or coroutine) made by calling its function and never started; it
/// is suspended afterwards. False, with nothing changed, if it has been started.
bool materialise_generator(PyObject* generator, FrameState state);

/// Moves the state out of a suspended generator, which is left as if it had never been started and
/// runs nothing when it is closed. False if it is not suspended.
bool take_generator(PyObject* generator, FrameState& state);

}  // namespace penstock::python
