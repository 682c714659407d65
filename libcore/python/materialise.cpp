#include "python/materialise.h"

#include <memory>

#include "python/versions/raw_frame.h"
#include "python/versions/suspension.h"

namespace penstock::python {
namespace {

/// States waiting for the frames of one call.
struct Announcement {
  const _PyInterpreterFrame* caller;    ///< who announced
  const _PyInterpreterFrame* expected;  ///< who must call the next frame
  std::vector<FrameState> states;
  std::size_t next = 0;
  std::unique_ptr<Announcement> outer;
};

// A stack per thread, in step with the thread's calls. A plain pointer, so that the hook's question
// "is anything announced?" is one load.
thread_local Announcement* t_announced __attribute__((tls_model("initial-exec"))) = nullptr;

/// Replaces everything in a frame that is not running.
void put(_PyInterpreterFrame* raw, FrameState& state) {
  std::vector<PyRef> old;  // released last: that may run code
  PyObject** slot = slots_of(raw);
  for (PyRef& value : state.slots) {
    old.push_back(PyRef::steal(slot_taken(*slot)));
    *slot++ = slot_with(value.release());
  }
  PyObject** const stack = slot;
  for (PyRef& value : state.stack) *slot++ = value.release();
  const Bytecode& code = bytecode_of(code_of(raw));
  give_stack(stack, slot, [&](int index) { return code.is_place(state.unit, index); });
  set_top_of(raw, slot);
  set_next_unit(raw, state.unit);
}

bool fits(const FrameState& state, const _PyInterpreterFrame* raw) {
  return function_of(raw) == state.function.get() &&
         code_of(raw) ==
             reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(state.function.get())) &&
         static_cast<int>(state.slots.size()) == code_of(raw)->co_nlocalsplus;
}

bool is_generator_like(PyObject* object) {
  return PyGen_CheckExact(object) || PyCoro_CheckExact(object) || PyAsyncGen_CheckExact(object);
}

}  // namespace

FrameState state_of(const Frame& frame) {
  FrameState state;
  state.function = PyRef::borrow(frame.function());
  for (int slot = 0; slot < frame.slot_count(); ++slot) {
    state.slots.push_back(PyRef::borrow(frame.local(slot)));
  }
  for (int index = 0; index < frame.depth(); ++index) {
    state.stack.push_back(PyRef::borrow(frame.stack()[index]));
  }
  state.unit = frame.unit();
  state.handled = PyRef::borrow(frame.thread()->exc_info->exc_value);
  return state;
}

void announce_frames(const Frame& caller, std::vector<FrameState> states) {
  auto made = std::make_unique<Announcement>();
  made->caller = made->expected = caller.raw();
  made->states = std::move(states);
  made->outer.reset(t_announced);
  t_announced = made.release();
}

std::size_t withdraw_frames(const Frame& caller) {
  if (t_announced == nullptr || t_announced->caller != caller.raw()) return 0;
  const std::unique_ptr<Announcement> ended(t_announced);
  t_announced = ended->outer.release();
  return ended->states.size() - ended->next;
}

bool states_announced() {
  return t_announced != nullptr;
}

bool claim_state(PyThreadState* thread, _PyInterpreterFrame* raw) {
  Announcement* announced = t_announced;
  if (announced == nullptr || announced->next == announced->states.size()) return false;
  FrameState& state = announced->states[announced->next];
  if (current_frame(thread) != announced->expected || !fits(state, raw)) return false;
  ++announced->next;
  announced->expected = raw;
  // What the frame handled when it was captured is what sys.exc_info() says from here on; the value
  // before it lies on the frame's own stack, where its POP_EXCEPT finds it.
  if (state.handled) {
    const PyRef before = PyRef::steal(thread->exc_info->exc_value);
    thread->exc_info->exc_value = PyRef(state.handled).release();
  }
  put(raw, state);
  return true;
}

bool materialise_generator(PyObject* generator, FrameState state) {
  if (!is_generator_like(generator)) return false;
  auto* made = reinterpret_cast<PyGenObject*>(generator);
  if (made->gi_frame_state != FRAME_CREATED || !fits(state, frame_of(made))) return false;
  put(frame_of(made), state);
  const PyRef before = PyRef::steal(made->gi_exc_state.exc_value);
  made->gi_exc_state.exc_value = state.handled.release();
  const Bytecode& code = bytecode_of(code_of(frame_of(made)));
  set_suspended(made, code.containing(state.unit - 1));
  return true;
}

bool take_generator(PyObject* generator, FrameState& state) {
  if (!is_generator_like(generator)) return false;
  auto* donor = reinterpret_cast<PyGenObject*>(generator);
  if (!is_suspended(donor)) return false;
  _PyInterpreterFrame* raw = frame_of(donor);
  const int slots = code_of(raw)->co_nlocalsplus;
  state.function = PyRef::borrow(function_of(raw));
  state.unit = next_unit(raw);
  PyObject** const first = slots_of(raw);
  PyObject** const stack = first + slots;
  PyObject** const top = top_of(raw);
  take_stack(stack, top);
  for (PyObject** slot = first; slot < stack; ++slot) {
    state.slots.push_back(PyRef::steal(slot_taken(std::exchange(*slot, slot_with(nullptr)))));
  }
  for (PyObject** slot = stack; slot < top; ++slot) {
    state.stack.push_back(PyRef::steal(std::exchange(*slot, slot_with(nullptr))));
  }
  state.handled = PyRef::steal(donor->gi_exc_state.exc_value);
  donor->gi_exc_state.exc_value = nullptr;
  set_top_of(raw, stack);
  set_next_unit(raw, 1);
  for (const Instruction& instruction : bytecode_of(code_of(raw)).instructions()) {
    if (instruction.opcode != Opcode::RETURN_GENERATOR) continue;
    set_next_unit(raw, instruction.next);
    break;
  }
  donor->gi_frame_state = FRAME_CREATED;
  return true;
}

}  // namespace penstock::python
