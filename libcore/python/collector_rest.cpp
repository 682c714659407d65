#include "python/collector_rest.h"

#include <algorithm>
#include <cstdint>

#include "python/cpython.h"

namespace penstock::python {
namespace {

/// The count of new containers starts so low that it does not reach the collector's threshold.
constexpr int kFarBelow = -1'000'000'000;

/// Moves what is in `from` to the end of `to`.
void append(PyGC_Head& from, PyGC_Head& to) {
  PyGC_Head *first = _PyGCHead_NEXT(&from), *last = _PyGCHead_PREV(&from);
  if (first == &from) return;
  PyGC_Head* tail = _PyGCHead_PREV(&to);
  _PyGCHead_SET_NEXT(tail, first);
  _PyGCHead_SET_PREV(first, tail);
  _PyGCHead_SET_NEXT(last, &to);
  _PyGCHead_SET_PREV(&to, last);
  from._gc_next = from._gc_prev = reinterpret_cast<std::uintptr_t>(&from);
}

/// No cycle passes through tuples and dicts of atoms: the collector forgets them as it looks at
/// them.
void forget_if_atomic(PyGC_Head* one) {
  auto* object = reinterpret_cast<PyObject*>(one + 1);
  if (PyTuple_CheckExact(object)) _PyTuple_MaybeUntrack(object);
  if (PyDict_CheckExact(object)) _PyDict_MaybeUntrack(object);
}

/// What is younger joins the oldest generation.
void grow_old(_gc_runtime_state& collector) {
  PyGC_Head& oldest = collector.generations[NUM_GENERATIONS - 1].head;
  for (int i = 0; i < NUM_GENERATIONS - 1; ++i) {
    PyGC_Head& head = collector.generations[i].head;
    PyGC_Head* next = nullptr;
    for (PyGC_Head* one = _PyGCHead_NEXT(&head); one != &head; one = next) {
      next = _PyGCHead_NEXT(one);
      forget_if_atomic(one);
      ++collector.long_lived_total;
    }
    append(head, oldest);
    collector.generations[i].count = 0;
  }
}

}  // namespace

CollectorRest::CollectorRest(PyInterpreterState* interpreter) : interpreter_(interpreter) {
  _gc_runtime_state& collector = interpreter->gc;
  const bool watched = collector.debug != 0 || collector.callbacks == nullptr ||
                       PyList_GET_SIZE(collector.callbacks) != 0;
  const bool starts = collector.enabled != 0 && collector.generations[0].threshold != 0;
  on_ = starts && collector.collecting == 0 && !watched;
  if (!on_) return;
  counted_ = collector.generations[0].count;
  collector.generations[0].count = kFarBelow;
}

CollectorRest::~CollectorRest() {
  _gc_runtime_state& collector = interpreter_->gc;
  gc_generation& young = collector.generations[0];
  // Not below: gc.collect() or gc.freeze() has begun a new count.
  if (!on_ || young.count >= 0) return;
  const int made = young.count - kFarBelow;
  young.count = counted_ + made;
  // So many the collector would have looked at twice.
  const bool many =
      made > std::int64_t{young.threshold} * std::max(collector.generations[1].threshold, 1);
  if (many && collector.enabled != 0 && collector.collecting == 0) grow_old(collector);
}

}  // namespace penstock::python
