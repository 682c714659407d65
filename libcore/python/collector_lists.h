#pragma once

#include "python/cpython.h"

// The collector's lists of containers, as gcmodule.c keeps them; for .cpp files of this room only.

namespace penstock::python {

inline PyObject* object_of(PyGC_Head* head) {
  return reinterpret_cast<PyObject*>(head + 1);
}

inline void link(PyGC_Head* one, PyGC_Head* next) {
  _PyGCHead_SET_NEXT(one, next);
  _PyGCHead_SET_PREV(next, one);
}

/// Moves those from `first` to `last`, which stand in a row in any list, to the end of `list`.
inline void move_to_end(PyGC_Head* first, PyGC_Head* last, PyGC_Head& list) {
  link(_PyGCHead_PREV(first), _PyGCHead_NEXT(last));
  link(_PyGCHead_PREV(&list), first);
  link(last, &list);
}

/// The collector is told of by gc.callbacks or gc.set_debug(), or runs.
inline bool is_watched(const _gc_runtime_state& collector) {
  return collector.collecting != 0 || collector.debug != 0 || collector.callbacks == nullptr ||
         PyList_GET_SIZE(collector.callbacks) != 0;
}

}  // namespace penstock::python
