#pragma once

// What stands in the slots of a frame: its variables, and its operand stack while CPython has it.
//
// Up to 3.13 these are objects. Since 3.14 they are tagged: the lowest bit says that the slot holds
// no reference of its own (immortal objects, what is borrowed from elsewhere in the frame, and
// null, which is that bit alone), the two lowest bits that it is a number, the unit at which an
// exception was raised that a handler is to raise again. A frame's variables stay as CPython keeps
// them, for it shows them to whoever asks. The operand stack of a frame that we run holds plain
// objects.

#include <Python.h>

#include <cstdint>

namespace penstock::python {

#if PY_VERSION_HEX >= 0x030e0000

inline constexpr bool kTaggedSlots = true;
inline constexpr std::uintptr_t kNotOwned = 1, kIsNumber = 3;

/// The object in a slot that holds no number; borrowed, null when it is empty.
inline PyObject* slot_object(PyObject* slot) {
  return reinterpret_cast<PyObject*>(reinterpret_cast<std::uintptr_t>(slot) & ~kNotOwned);
}
/// A slot that takes over the reference; null: an empty one.
inline PyObject* slot_with(PyObject* owned) {
  const std::uintptr_t tag = owned == nullptr ? kNotOwned : owned->ob_flags & kNotOwned;
  return reinterpret_cast<PyObject*>(reinterpret_cast<std::uintptr_t>(owned) | tag);
}
/// The slot's object with a reference of its own; the slot's is used up.
inline PyObject* slot_taken(PyObject* slot) {
  const bool owned = (reinterpret_cast<std::uintptr_t>(slot) & kNotOwned) == 0;
  return owned ? slot : Py_XNewRef(slot_object(slot));
}
inline bool is_number(PyObject* slot) {
  return (reinterpret_cast<std::uintptr_t>(slot) & kIsNumber) == kIsNumber;
}

/// Makes plain objects of [first, last); true if there are numbers among them. What is plain stays
/// as it is.
inline bool take_stack(PyObject** first, PyObject** last) {
  bool numbers = false;
  for (PyObject** slot = first; slot < last; ++slot) {
    if (!is_number(*slot)) {
      *slot = slot_taken(*slot);
      continue;
    }
    numbers = true;
    *slot = PyLong_FromLong(static_cast<long>(reinterpret_cast<std::intptr_t>(*slot) >> 2));
    if (*slot == nullptr) Py_FatalError("penstock: no memory for a number");
  }
  return numbers;
}
/// Gives [first, last) back to CPython; `is_place(i)`: the i-th of them, an int, is a number.
template <typename IsPlace>
void give_stack(PyObject** first, PyObject** last, const IsPlace& is_place) {
  for (PyObject** slot = first; slot < last; ++slot) {
    if (*slot == nullptr || !PyLong_CheckExact(*slot) ||
        !is_place(static_cast<int>(slot - first))) {
      *slot = slot_with(*slot);
      continue;
    }
    const long unit = PyLong_AsLong(*slot);
    Py_DECREF(*slot);
    *slot = reinterpret_cast<PyObject*>(static_cast<std::uintptr_t>(unit) << 2 | kIsNumber);
  }
}

#else

inline constexpr bool kTaggedSlots = false;

inline PyObject* slot_object(PyObject* slot) {
  return slot;
}
inline PyObject* slot_with(PyObject* owned) {
  return owned;
}
inline PyObject* slot_taken(PyObject* slot) {
  return slot;
}
inline bool take_stack(PyObject**, PyObject**) {
  return false;
}
template <typename IsPlace>
void give_stack(PyObject**, PyObject**, const IsPlace&) {}

#endif

/// The slots of a frame that someone else has, only to be looked at.
class Slots {
 public:
  explicit Slots(PyObject* const* first) : first_(first) {}
  /// Borrowed; null when it is empty.
  PyObject* operator[](int slot) const { return slot_object(first_[slot]); }

 private:
  PyObject* const* first_;
};

}  // namespace penstock::python
