#include "ops/number_arguments.h"

#include <algorithm>
#include <iterator>

#include "ops/op.h"

namespace penstock::ops {

namespace {

/// name       of the op, for all of its overloads and for its namesake that writes its argument
/// parameter  that may be a number input
struct NumberArgumentRow {
  std::string_view name, parameter;
  NumberArgument how;
};
using enum NumberArgument;
constexpr NumberArgumentRow kRows[] = {
    {"add", "other", wrapped},
    {"add", "alpha", checked},
    {"sub", "other", wrapped},
    {"sub", "alpha", checked},
    {"rsub", "other", wrapped},
    {"rsub", "alpha", checked},
    {"mul", "other", wrapped},
    {"div", "other", wrapped},
    {"floor_divide", "other", wrapped},
    {"fmod", "other", wrapped},
    {"remainder", "other", wrapped},
    {"where", "self", checked},
    {"where", "other", checked},
    {"eq", "other", checked},
    {"ne", "other", checked},
    {"lt", "other", checked},
    {"le", "other", checked},
    {"gt", "other", checked},
    {"ge", "other", checked},
    {"clamp", "min", checked},
    {"clamp", "max", checked},
    {"clamp_min", "min", checked},
    {"clamp_max", "max", checked},
    {"addcmul", "value", checked},
    {"addcdiv", "value", checked},
    {"lerp", "weight", checked},
    {"masked_fill", "value", checked},
    {"fill", "value", checked},
    {"full", "fill_value", checked},
    {"full_like", "fill_value", checked},
    {"new_full", "fill_value", checked},
};

/// name       of the op begins so
/// parameter  that says how large something is, or where it lies
struct SizeRow {
  std::string_view name, parameter;
};
constexpr SizeRow kSizeRows[] = {
    {"arange", "start"},
    {"arange", "end"},
    {"max_pool", "kernel_size"},
    {"max_pool", "stride"},
    {"max_pool", "padding"},
    {"max_pool", "dilation"},
    {"avg_pool", "kernel_size"},
    {"avg_pool", "stride"},
    {"avg_pool", "padding"},
    {"adaptive_max_pool", "output_size"},
    {"adaptive_avg_pool", "output_size"},
    {"unfold", "size"},
    {"unfold", "step"},
    {"diagonal", "offset"},
};

/// "add_" of "aten.add_.Tensor".
std::string_view name_of(std::string_view op) {
  const std::size_t first = op.find('.') + 1, last = op.rfind('.');
  return op.substr(first, last - first);
}

}  // namespace

bool takes_size(std::string_view op, std::string_view parameter) {
  if (find_op(op) == nullptr) return false;
  const std::string_view name = name_of(op);
  return std::ranges::any_of(kSizeRows, [&](const SizeRow& row) {
    return name.starts_with(row.name) && parameter == row.parameter;
  });
}

NumberArgument number_argument(std::string_view op, std::string_view parameter) {
  if (find_op(op) == nullptr) return refused;
  std::string_view name = name_of(op);
  if (name.ends_with('_')) name.remove_suffix(1);
  const auto row = std::find_if(
      std::begin(kRows), std::end(kRows),
      [&](const NumberArgumentRow& one) { return one.name == name && one.parameter == parameter; });
  return row == std::end(kRows) ? refused : row->how;
}

}  // namespace penstock::ops
