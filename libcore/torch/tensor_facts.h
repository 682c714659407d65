#pragma once

#include <Python.h>

#include <optional>

#include "ir/number.h"
#include "ir/tensor_type.h"
#include "torch/tensor_bridge.h"

namespace penstock::torch {

/// The type of a real tensor, as graphs hold it (storage -1), or nothing when torch cannot tell
/// (sparse layouts).
std::optional<TensorType> type_of_tensor(const TensorBridge& bridge, PyObject* tensor);

/// The one element of a tensor of integers in the CPU's memory.
std::optional<PythonNumber> element_of(const TensorView& view);

}  // namespace penstock::torch
