#pragma once

#include <Python.h>

namespace penstock::python {

/// What running frames asks the room torch, which this one does not know.
struct TensorFunctions {
  /// The truth of `object` if it is a tensor whose element is at hand; -1: Python is to be asked.
  int (*truth)(PyObject* object) = nullptr;
  /// This thread begins to run frames apart (Entry::native_apart), or is back from it. Both or
  /// none.
  void (*apart_begins)() = nullptr;
  void (*apart_ends)() = nullptr;
};

/// Needs: no hook installed. What is not set is not asked.
void set_tensor_functions(const TensorFunctions& functions);
const TensorFunctions& tensor_functions();

}  // namespace penstock::python
