#pragma once

#include <Python.h>

#include <string>

#include "ir/tensor_type.h"
#include "store/store.h"

namespace penstock::tools {

/// Keeps the elements of a tensor of the program's, row-major, and gives their hash; an empty one
/// for what is no tensor or has no elements to read. PS0210 where the store has no room.
Result<std::string> keep_tensor(store::Store& store, PyObject* tensor, const TensorType& type);

}  // namespace penstock::tools
