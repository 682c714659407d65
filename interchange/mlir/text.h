#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor_type.h"

namespace penstock::mlir {

/// A string literal, with its quotes.
std::string quoted(std::string_view text);
/// What may stand behind a % of any name.
std::string value_name(std::string_view name);

/// A floating literal of float64, which MLIR takes for any floating type; bits where it is not
/// finite.
std::string real_literal(double value);
/// A number of `dtype` as an element of a dense literal.
std::string element_literal(double value, DType dtype);

/// "!torch.vtensor<[?,4],si64>"
std::string tensor_type(const TensorType& type);
/// "tensor<3x4xi64>" of the builtin dialect, which has no signs; `sign` writes "si64".
std::string builtin_type(DType dtype, const std::vector<std::int64_t>& sizes, bool sign);

/// All elements of a tensor, which has some: a nest of brackets of bools, else the key of a
/// resource.
std::string nested_bools(std::string_view bytes, const std::vector<std::int64_t>& sizes);
/// Bytes as a resource of the file: their alignment before them.
std::string hexadecimal(std::string_view bytes);

}  // namespace penstock::mlir
