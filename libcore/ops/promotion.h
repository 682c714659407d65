#pragma once

#include <optional>

#include "ir/dtype.h"

namespace penstock::ops {

/// The dtype that two dtypes promote to (torch.promote_types).
DType promote(DType a, DType b);

/// torch.get_default_dtype() of a program that never set it.
inline constexpr DType kDefaultDType = DType::float32;

/// The dtype of a Python number of `category` on its own.
DType number_dtype(DTypeCategory category);

/// The dtype that elementwise arithmetic on `dtype` is done in: float32 for the 16-bit floats.
DType compute_dtype(DType dtype);

/// The dtype of a complex number's parts; any other dtype itself.
DType real_dtype(DType dtype);

/// What an op with several operands computes in (torch.result_type): tensors with dims decide, then
/// tensors without dims, then Python numbers, which win only by a higher category.
class ResultType {
 public:
  void add_tensor(DType dtype, bool has_dims);
  void add_number(DTypeCategory category);
  /// The dtype; bool when nothing was added.
  DType dtype() const;

 private:
  std::optional<DType> with_dims_, without_dims_, number_;
};

}  // namespace penstock::ops
