#pragma once

#include <Python.h>

#include <span>

namespace penstock::jit {

/// Tells torch that tensors' memory was written in place, each as often as it is named. False with a
/// Python error set. Tensors made under inference mode count nothing; they may be written only in it.
bool bump_versions(std::span<PyObject* const> tensors);

/// While it lives the collector does not start, so that making objects runs no finalizer.
class CollectorPause {
 public:
  CollectorPause() : was_enabled_(PyGC_Disable() != 0) {}
  ~CollectorPause() {
    if (was_enabled_) PyGC_Enable();
  }
  CollectorPause(const CollectorPause&) = delete;
  CollectorPause& operator=(const CollectorPause&) = delete;

 private:
  bool was_enabled_;
};

}  // namespace penstock::jit
