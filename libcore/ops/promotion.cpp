#include "ops/promotion.h"

#include <utility>

namespace penstock::ops {

namespace {

DType promote_integers(DType a, DType b) {
  if (facts(a).size < facts(b).size) std::swap(a, b);
  bool mixed = (a == DType::uint8) != (b == DType::uint8);
  return mixed && facts(a).size == 1 ? DType::int16 : a;
}

DType promote_floats(DType a, DType b) {
  if (facts(a).size == facts(b).size) return a == b ? a : DType::float32;
  return facts(a).size > facts(b).size ? a : b;
}

void combine(std::optional<DType>& known, DType dtype) {
  known = known ? promote(*known, dtype) : dtype;
}

/// c10's combine_categories: `lower` counts only when its category is the higher one.
std::optional<DType> prefer(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher) return lower;
  if (!lower || facts(*lower).category <= facts(*higher).category) return higher;
  return promote(*higher, *lower);
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (facts(a).category < facts(b).category) std::swap(a, b);
  DTypeCategory category = facts(a).category;
  if (category == DTypeCategory::complex) {
    bool wide = a == DType::complex128 || b == DType::complex128 || b == DType::float64;
    return wide ? DType::complex128 : DType::complex64;
  }
  if (category != facts(b).category) return a;
  return category == DTypeCategory::integral ? promote_integers(a, b) : promote_floats(a, b);
}

DType number_dtype(DTypeCategory category) {
  switch (category) {
    case DTypeCategory::boolean:
      return DType::bool_;
    case DTypeCategory::integral:
      return DType::int64;
    case DTypeCategory::floating:
      return kDefaultDType;
    case DTypeCategory::complex:
      return DType::complex64;
  }
  return kDefaultDType;
}

DType compute_dtype(DType dtype) {
  return is_floating(dtype) && facts(dtype).size == 2 ? DType::float32 : dtype;
}

DType real_dtype(DType dtype) {
  if (dtype == DType::complex64) return DType::float32;
  return dtype == DType::complex128 ? DType::float64 : dtype;
}

void ResultType::add_tensor(DType dtype, bool has_dims) {
  combine(has_dims ? with_dims_ : without_dims_, dtype);
}

void ResultType::add_number(DTypeCategory category) {
  combine(number_, number_dtype(category));
}

DType ResultType::dtype() const {
  return prefer(with_dims_, prefer(without_dims_, number_)).value_or(DType::bool_);
}

}  // namespace penstock::ops
