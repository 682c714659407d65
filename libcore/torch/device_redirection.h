#pragma once

#include <memory>

#include "python/object.h"

namespace penstock::torch {

/// Lets what the calling thread does with a GPU go to another stream, and takes its memory from a
/// pool of its own: for a graph that is recorded. All graphs of a device share the pool, which is
/// never given back.
class DeviceRedirection {
 public:
  explicit DeviceRedirection(int index) : index_(index) {}

  /// As long as what is returned. Null where torch cannot. Needs the GIL, at the end too.
  std::shared_ptr<void> begin(void* stream);

 private:
  void end(PyObject* before);

  int index_;
  python::PyRef pool_;    ///< torch's name of it
  bool is_kept_ = false;  ///< its first use is over, and was not given back
};

}  // namespace penstock::torch
