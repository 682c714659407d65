#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/dtype.h"

namespace penstock::onnx {

/// The bytes of elements of `dtype` that have these values, rounded or wrapped to it.
std::string elements(DType dtype, const std::vector<double>& values);
std::string elements(DType dtype, const std::vector<std::int64_t>& values);

}  // namespace penstock::onnx
