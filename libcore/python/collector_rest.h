#pragma once

#include <Python.h>

#include "python/object.h"

// The collector during imports of libraries.
//
// Problem. CPython looks for garbage in cycles each time that 700 containers more were made than
// freed, again in all of the younger ones after ten times, and in all there are after a hundred. An
// import of a library makes hundreds of thousands of them, nearly all of which stay: a tenth of an
// import's time is spent on looking at them, several times each.
//
// Idea. While a library is imported its containers are not counted. Afterwards they join the oldest
// generation, where those collections would have left them, and count as long-lived, as after a
// collection of everything. What garbage is among them the next one of those finds, or gc.collect()
// does. An import that makes few containers has them counted and changes nothing.
//
// Where the program has turned the collector off, or watches it by gc.callbacks or gc.set_debug(),
// it is left alone. A gc.collect() in the import collects, and from there on counting goes on.

namespace penstock::python {

/// While it lives, the collector does not start by itself: the module with these globals is
/// imported.
class CollectorRest {
 public:
  CollectorRest(PyInterpreterState* interpreter, PyObject* globals);
  ~CollectorRest();
  CollectorRest(const CollectorRest&) = delete;
  CollectorRest& operator=(const CollectorRest&) = delete;

 private:
  PyInterpreterState* interpreter_;
  PyRef name_;
  bool on_ = false;
  int counted_ = 0;  ///< containers that were counted before
  PyRef first_;      ///< what is made behind it belongs to the import
};

}  // namespace penstock::python
