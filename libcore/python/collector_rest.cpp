#include "python/collector_rest.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "python/collector_lists.h"
#include "python/last_collections.h"

namespace penstock::python {
namespace {

/// The count of new containers starts so low that it does not reach the collector's threshold.
constexpr int kFarBelow = -1'000'000'000;

/// No cycle passes through tuples and dicts of atoms: the collector forgets them as it looks at
/// them.
void forget_if_atomic(PyGC_Head* one) {
  PyObject* object = object_of(one);
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
    PyGC_Head* first = _PyGCHead_NEXT(&head);
    if (first != &head) move_to_end(first, _PyGCHead_PREV(&head), oldest);
    collector.generations[i].count = 0;
  }
}

}  // namespace

CollectorRest::CollectorRest(PyInterpreterState* interpreter, PyObject* globals)
    : interpreter_(interpreter), name_(PyRef::borrow(PyDict_GetItemString(globals, "__name__"))) {
  _gc_runtime_state& collector = interpreter->gc;
  const bool starts = collector.enabled != 0 && collector.generations[0].threshold != 0;
  on_ = starts && !is_watched(collector);
  if (!on_) return;
  counted_ = collector.generations[0].count;
  collector.generations[0].count = kFarBelow;
  first_ = PyRef::steal(PyList_New(0));
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
  if (!many || collector.enabled == 0 || is_watched(collector)) return;
  young.count = kFarBelow;
  PyRef last = PyRef::steal(PyList_New(0));
  grow_old(collector);
  if (name_ && first_ && last)
    import_ended(interpreter_, name_, std::move(first_), std::move(last));
}

}  // namespace penstock::python
