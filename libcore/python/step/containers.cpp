#include "python/step/families.h"
#include "python/versions/private_api.h"

namespace penstock::python {
namespace {

Outcome binary_subscr(Frame& frame, const Instruction& i) {
  PyObject* result = PyObject_GetItem(frame.peek(1), frame.peek(0));
  release_operands(frame, 2);
  return push_result(frame, i, result);
}

Outcome store_subscr(Frame& frame, const Instruction& i) {
  const int status = PyObject_SetItem(frame.peek(1), frame.peek(0), frame.peek(2));
  release_operands(frame, 3);
  return checked(frame, i, status);
}

Outcome delete_subscr(Frame& frame, const Instruction& i) {
  const int status = PyObject_DelItem(frame.peek(1), frame.peek(0));
  release_operands(frame, 2);
  return checked(frame, i, status);
}

Outcome build_slice(Frame& frame, const Instruction& i) {
  PyRef step = i.argument == 3 ? frame.pop() : PyRef();
  const PyRef stop = frame.pop();
  const PyRef start = frame.pop();
  return push_result(frame, i, PySlice_New(start.get(), stop.get(), step.get()));
}

Outcome binary_slice(Frame& frame, const Instruction& i) {
  PyRef slice = PyRef::steal(PySlice_New(frame.peek(1), frame.peek(0), nullptr));
  PyObject* result = slice ? PyObject_GetItem(frame.peek(2), slice.get()) : nullptr;
  slice = nullptr;
  release_operands(frame, 3);
  return push_result(frame, i, result);
}

Outcome store_slice(Frame& frame, const Instruction& i) {
  PyRef slice = PyRef::steal(PySlice_New(frame.peek(1), frame.peek(0), nullptr));
  const int status = slice ? PyObject_SetItem(frame.peek(2), slice.get(), frame.peek(3)) : -1;
  slice = nullptr;
  release_operands(frame, 4);
  return checked(frame, i, status);
}

Outcome build_tuple(Frame& frame, const Instruction& i) {
  PyObject** items = frame.top() - i.argument;
  PyObject* tuple = tuple_of_owned(items, i.argument);
  if (tuple == nullptr) return Outcome::raised;
  frame.set_top(items);
  return push_result(frame, i, tuple);
}

Outcome build_list(Frame& frame, const Instruction& i) {
  PyObject* list = PyList_New(i.argument);
  if (list == nullptr) return Outcome::raised;
  for (int index = i.argument; index-- > 0;) PyList_SET_ITEM(list, index, frame.pop().release());
  return push_result(frame, i, list);
}

Outcome build_set(Frame& frame, const Instruction& i) {
  PyRef set = PyRef::steal(PySet_New(nullptr));
  if (!set) return Outcome::raised;
  int status = 0;
  for (int below = i.argument; below > 0 && status == 0; --below) {
    status = PySet_Add(set.get(), frame.peek(below - 1));
  }
  frame.drop(i.argument);
  if (status != 0) return Outcome::raised;
  return push_result(frame, i, set.release());
}

/// Fills `map` from keys and values lying on the stack at the given strides, then drops `count`.
Outcome build_map_from(Frame& frame, const Instruction& i, PyObject* const* keys, int key_stride,
                       PyObject* const* values, int value_stride, int count) {
  PyRef map = PyRef::steal(PyDict_New());
  if (!map) return Outcome::raised;
  for (int index = 0; index < i.argument; ++index) {
    if (PyDict_SetItem(map.get(), keys[index * key_stride], values[index * value_stride]) < 0) {
      return Outcome::raised;
    }
  }
  frame.drop(count);
  return push_result(frame, i, map.release());
}

Outcome build_map(Frame& frame, const Instruction& i) {
  PyObject** first = frame.top() - 2 * i.argument;
  return build_map_from(frame, i, first, 2, first + 1, 2, 2 * i.argument);
}

Outcome build_const_key_map(Frame& frame, const Instruction& i) {
  PyObject* keys = frame.peek();
  if (!PyTuple_CheckExact(keys) || PyTuple_GET_SIZE(keys) != i.argument)
    return Outcome::unsupported;
  return build_map_from(frame, i, &PyTuple_GET_ITEM(keys, 0), 1, frame.top() - 1 - i.argument, 1,
                        i.argument + 1);
}

Outcome build_string(Frame& frame, const Instruction& i) {
  const PyRef empty = PyRef::steal(PyUnicode_New(0, 0));
  PyObject* result = _PyUnicode_JoinArray(empty.get(), frame.top() - i.argument, i.argument);
  if (result == nullptr) return Outcome::raised;
  frame.drop(i.argument);
  return push_result(frame, i, result);
}

Outcome convert_value(Frame& frame, const Instruction& i) {
  constexpr reprfunc kConversions[] = {nullptr, PyObject_Str, PyObject_Repr, PyObject_ASCII};
  if (i.argument < 1 || i.argument > 3) return Outcome::unsupported;
  PyObject* result = kConversions[i.argument](frame.peek());
  release_operands(frame, 1);
  return push_result(frame, i, result);
}

Outcome format_value(Frame& frame, const Instruction& i) {
  constexpr int kConversionMask = 0x3, kHasSpec = 0x4;
  PyRef spec = (i.argument & kHasSpec) != 0 ? frame.pop() : PyRef();
  PyRef value = frame.pop();
  switch (i.argument & kConversionMask) {
    case 1:
      value = PyRef::steal(PyObject_Str(value.get()));
      break;
    case 2:
      value = PyRef::steal(PyObject_Repr(value.get()));
      break;
    case 3:
      value = PyRef::steal(PyObject_ASCII(value.get()));
      break;
    default:
      break;
  }
  if (!value) return Outcome::raised;
  if (PyUnicode_CheckExact(value.get()) && !spec) return push_result(frame, i, value.release());
  PyObject* result = PyObject_Format(value.get(), spec.get());
  value = nullptr;
  spec = nullptr;
  return push_result(frame, i, result);
}

Outcome list_to_tuple(Frame& frame, const Instruction& i) {
  const PyRef list = frame.pop();
  return push_result(frame, i, PyList_AsTuple(list.get()));
}

Outcome list_append(Frame& frame, const Instruction& i) {
  const PyRef value = frame.pop();
  return checked(frame, i, PyList_Append(frame.peek(i.argument - 1), value.get()));
}

Outcome set_add(Frame& frame, const Instruction& i) {
  const PyRef value = frame.pop();
  return checked(frame, i, PySet_Add(frame.peek(i.argument - 1), value.get()));
}

Outcome map_add(Frame& frame, const Instruction& i) {
  PyRef value = frame.pop();
  PyRef key = frame.pop();
  return checked(frame, i, PyDict_SetItem(frame.peek(i.argument - 1), key.get(), value.get()));
}

Outcome list_extend(Frame& frame, const Instruction& i) {
  PyObject* iterable = frame.peek();
  if (Py_TYPE(iterable)->tp_iter == nullptr && !PySequence_Check(iterable)) {
    return Outcome::unsupported;  // CPython words "Value after * must be an iterable"
  }
  const PyRef owned = frame.pop();
  PyObject* none =
      _PyList_Extend(reinterpret_cast<PyListObject*>(frame.peek(i.argument - 1)), owned.get());
  Py_XDECREF(none);
  return none == nullptr ? Outcome::raised : advance(frame, i);
}

Outcome set_update(Frame& frame, const Instruction& i) {
  const PyRef iterable = frame.pop();
  return checked(frame, i, _PySet_Update(frame.peek(i.argument - 1), iterable.get()));
}

Outcome dict_update(Frame& frame, const Instruction& i) {
  if (!PyDict_Check(frame.peek())) return Outcome::unsupported;
  const PyRef update = frame.pop();
  return checked(frame, i, PyDict_Update(frame.peek(i.argument - 1), update.get()));
}

Outcome dict_merge(Frame& frame, const Instruction& i) {
  // Only what cannot fail: an exact dict of new string keys. The wording of the rest is CPython's.
  PyObject* update = frame.peek();
  PyObject* into = frame.peek(i.argument);
  if (!PyDict_CheckExact(update)) return Outcome::unsupported;
  Py_ssize_t at = 0;
  PyObject *key, *value;
  while (PyDict_Next(update, &at, &key, &value) != 0) {
    if (!PyUnicode_CheckExact(key)) return Outcome::unsupported;
    if (PyDict_GET_SIZE(into) != 0 && PyDict_Contains(into, key) != 0) {
      PyErr_Clear();
      return Outcome::unsupported;
    }
  }
  const PyRef owned = frame.pop();
  return checked(frame, i, PyDict_Merge(frame.peek(i.argument - 1), owned.get(), 1));
}

Outcome unpack_sequence(Frame& frame, const Instruction& i) {
  PyObject* sequence = frame.peek();
  const bool tuple = PyTuple_CheckExact(sequence);
  if (!tuple && !PyList_CheckExact(sequence)) return Outcome::unsupported;
  if (PySequence_Fast_GET_SIZE(sequence) != i.argument) return Outcome::unsupported;
  const PyRef owned = frame.pop();
  PyObject** items = PySequence_Fast_ITEMS(sequence);
  for (int index = i.argument; index-- > 0;) frame.push(PyRef::borrow(items[index]));
  return advance(frame, i);
}

Outcome unpack_ex(Frame& frame, const Instruction& i) {
  const int before = i.argument & 0xFF, after = i.argument >> 8;
  PyObject* sequence = frame.peek();
  if (!PyTuple_CheckExact(sequence) && !PyList_CheckExact(sequence)) return Outcome::unsupported;
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(sequence);
  if (size < before + after) return Outcome::unsupported;
  PyRef rest = PyRef::steal(PyList_New(size - before - after));
  if (!rest) return Outcome::raised;
  PyObject** items = PySequence_Fast_ITEMS(sequence);
  for (Py_ssize_t index = before; index < size - after; ++index) {
    Py_INCREF(items[index]);
    PyList_SET_ITEM(rest.get(), index - before, items[index]);
  }
  const PyRef owned = frame.pop();
  for (Py_ssize_t index = size; index-- > size - after;) frame.push(PyRef::borrow(items[index]));
  frame.push(std::move(rest));
  for (int index = before; index-- > 0;) frame.push(PyRef::borrow(items[index]));
  return advance(frame, i);
}

Outcome get_len(Frame& frame, const Instruction& i) {
  const Py_ssize_t length = PyObject_Length(frame.peek());
  if (length < 0) return Outcome::raised;
  return push_result(frame, i, PyLong_FromSsize_t(length));
}

template <unsigned long Flag>
Outcome match_flag(Frame& frame, const Instruction& i) {
  frame.push(boolean((Py_TYPE(frame.peek())->tp_flags & Flag) != 0));
  return advance(frame, i);
}

constexpr StepRow kRows[] = {
    {Opcode::BINARY_SUBSCR, binary_subscr},
    {Opcode::STORE_SUBSCR, store_subscr},
    {Opcode::DELETE_SUBSCR, delete_subscr},
    {Opcode::BUILD_SLICE, build_slice},
    {Opcode::BINARY_SLICE, binary_slice},
    {Opcode::STORE_SLICE, store_slice},
    {Opcode::BUILD_TUPLE, build_tuple},
    {Opcode::BUILD_LIST, build_list},
    {Opcode::BUILD_SET, build_set},
    {Opcode::BUILD_MAP, build_map},
    {Opcode::BUILD_CONST_KEY_MAP, build_const_key_map},
    {Opcode::BUILD_STRING, build_string},
    {Opcode::CONVERT_VALUE, convert_value},
    {Opcode::FORMAT_VALUE, format_value},
    {Opcode::LIST_TO_TUPLE, list_to_tuple},
    {Opcode::LIST_APPEND, list_append},
    {Opcode::SET_ADD, set_add},
    {Opcode::MAP_ADD, map_add},
    {Opcode::LIST_EXTEND, list_extend},
    {Opcode::SET_UPDATE, set_update},
    {Opcode::DICT_UPDATE, dict_update},
    {Opcode::DICT_MERGE, dict_merge},
    {Opcode::UNPACK_SEQUENCE, unpack_sequence},
    {Opcode::UNPACK_EX, unpack_ex},
    {Opcode::GET_LEN, get_len},
    {Opcode::MATCH_MAPPING, match_flag<Py_TPFLAGS_MAPPING>},
    {Opcode::MATCH_SEQUENCE, match_flag<Py_TPFLAGS_SEQUENCE>},
};

}  // namespace

std::span<const StepRow> container_steps() {
  return kRows;
}

}  // namespace penstock::python
