#pragma once

#include <functional>
#include <string_view>

#include "formats/safetensors.h"
#include "ir/interface.h"

namespace penstock::interchange {

/// Gives the tensor of a blob by its hash.
using TensorOf = std::function<Result<formats::TensorBlob>(std::string_view hash)>;

/// Whether the input is a tensor that the program keeps. What a call passes, or what stood on a
/// frame's stack where the graph begins in the middle of a function, has its recorded data in the
/// store, too.
bool is_weight(const Interface& interface, const Input& input);

/// The elements of a weight. PS0207 where the blob is another tensor.
Result<formats::TensorBlob> elements_of(const Input& weight, const TensorOf& tensor_of);

}  // namespace penstock::interchange
