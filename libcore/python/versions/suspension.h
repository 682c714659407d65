#pragma once

// Generators' states. For .cpp files of this room only.

#include "python/bytecode.h"
#include "python/cpython.h"

namespace penstock::python {

inline PyGenObject* generator_of(_PyInterpreterFrame* raw) {
#if PY_VERSION_HEX >= 0x030e0000
  return _PyGen_GetGeneratorFromFrame(raw);
#else
  return _PyFrame_GetGenerator(raw);
#endif
}
inline _PyInterpreterFrame* frame_of(PyGenObject* generator) {
  return reinterpret_cast<_PyInterpreterFrame*>(&generator->gi_iframe);
}

/// The generator is suspended by the instruction `yield`.
inline void set_suspended(PyGenObject* generator, [[maybe_unused]] const Instruction& yield) {
#if PY_VERSION_HEX >= 0x030d0000
  const bool delegates = yield.opcode == Opcode::YIELD_VALUE && yield.argument != 0;
  generator->gi_frame_state = delegates ? FRAME_SUSPENDED_YIELD_FROM : FRAME_SUSPENDED;
#else
  generator->gi_frame_state = FRAME_SUSPENDED;
#endif
}

/// What CPython notes when a generator's frame is suspended by the instruction `yield`. The frame
/// is not linked.
inline void note_suspended(PyThreadState* thread, _PyInterpreterFrame* raw,
                           const Instruction& yield) {
  PyGenObject* generator = generator_of(raw);
  set_suspended(generator, yield);
#if PY_VERSION_HEX >= 0x030c0000
  thread->exc_info = generator->gi_exc_state.previous_item;
  generator->gi_exc_state.previous_item = nullptr;
  raw->previous = nullptr;
#else
  static_cast<void>(thread);
#endif
}

inline bool is_suspended(const PyGenObject* generator) {
#if PY_VERSION_HEX >= 0x030d0000
  return FRAME_STATE_SUSPENDED(generator->gi_frame_state);
#else
  return generator->gi_frame_state == FRAME_SUSPENDED;
#endif
}

}  // namespace penstock::python
