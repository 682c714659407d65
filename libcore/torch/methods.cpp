#include "torch/methods.h"

#include <algorithm>

#include "ops/op.h"

namespace penstock::torch {

namespace {

struct Row {
  std::string_view name;
  std::string_view value;
};

// Python's special methods and names that the dispatcher knows under another one.
constexpr Row kMethods[] = {
    {"__add__", "add"},
    {"__radd__", "add"},
    {"__iadd__", "add_"},
    {"__sub__", "sub"},
    {"__isub__", "sub_"},
    {"__mul__", "mul"},
    {"__rmul__", "mul"},
    {"__imul__", "mul_"},
    {"__truediv__", "div"},
    {"__div__", "div"},
    {"__idiv__", "div_"},
    {"__itruediv__", "div_"},
    {"__matmul__", "matmul"},
    {"__mod__", "remainder"},
    {"__imod__", "remainder_"},
    {"__neg__", "neg"},
    {"__abs__", "abs"},
    {"__pos__", "positive"},
    {"__invert__", "bitwise_not"},
    {"__rand__", "__and__"},
    {"__ror__", "__or__"},
    {"__rxor__", "__xor__"},
    {"__ifloordiv__", "floor_divide_"},
    {"__eq__", "eq"},
    {"__ne__", "ne"},
    {"__lt__", "lt"},
    {"__le__", "le"},
    {"__gt__", "gt"},
    {"__ge__", "ge"},
    {"absolute", "abs"},
};

constexpr Row kAttributes[] = {
    {"T", "numpy_T"}, {"mT", "mT"},     {"H", "matrix_H"},
    {"mH", "mH"},     {"real", "real"}, {"imag", "imag"},
};

/// Ops, or one overload of an op: what elements decide is the sizes of what it gives, where in its
/// argument that begins, or a Python number.
constexpr std::string_view kDataDependent[] = {
    "nonzero",
    "nonzero_numpy",
    "masked_select",
    "unique",
    "_unique",
    "_unique2",
    "unique_consecutive",
    "unique_dim",
    "unique_dim_consecutive",
    "where.default",
    "narrow.Tensor",
    "_pack_padded_sequence",
    "_pad_packed_sequence",
    "linalg_lstsq",  // its residuals
    "one_hot",       // unless it is told the number of classes
    "tensor_split.tensor_indices_or_sections",
    "bincount",
    "argwhere",
    "equal",
    "allclose",
    "item",
    "is_nonzero",
    "_local_scalar_dense",
    "repeat_interleave",
    "combinations",
};

constexpr Row kConversions[] = {
    {"float", "float32"}, {"double", "float64"}, {"half", "float16"},     {"bfloat16", "bfloat16"},
    {"int", "int32"},     {"long", "int64"},     {"short", "int16"},      {"char", "int8"},
    {"byte", "uint8"},    {"bool", "bool"},      {"cfloat", "complex64"}, {"cdouble", "complex128"},
};

template <class Rows>
const Row* find(const Rows& rows, std::string_view name) {
  auto found = std::find_if(std::begin(rows), std::end(rows),
                            [&](const Row& row) { return row.name == name; });
  return found == std::end(rows) ? nullptr : &*found;
}

}  // namespace

std::string_view op_of_method(std::string_view method) {
  const Row* row = find(kMethods, method);
  return row == nullptr ? method : row->value;
}

std::string_view op_of_attribute(std::string_view attribute) {
  const Row* row = find(kAttributes, attribute);
  return row == nullptr ? std::string_view() : row->value;
}

bool is_data_dependent(std::string_view op) {
  // Of an overload that has a row the row says it: repeat_interleave by a number is no data.
  if (const ops::OpFacts* facts = ops::find_op(op)) return facts->has(ops::kDataDependent);
  const std::string_view name = op.starts_with("aten.") ? op.substr(5) : op;
  const auto without_overload = [](std::string_view one) { return one.substr(0, one.find('.')); };
  return std::ranges::any_of(kDataDependent, [&](std::string_view row) {
    return row == name || row == without_overload(name) || without_overload(row) == name;
  });
}

std::string_view dtype_of_conversion(std::string_view method) {
  const Row* row = find(kConversions, method);
  return row == nullptr ? std::string_view() : row->value;
}

}  // namespace penstock::torch
