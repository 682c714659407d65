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

}  // namespace

NumberArgument number_argument(std::string_view op, std::string_view parameter) {
  if (find_op(op) == nullptr) return refused;
  const std::size_t first = op.find('.') + 1, last = op.rfind('.');
  std::string_view name = op.substr(first, last - first);
  if (name.ends_with('_')) name.remove_suffix(1);
  const auto row = std::find_if(
      std::begin(kRows), std::end(kRows),
      [&](const NumberArgumentRow& one) { return one.name == name && one.parameter == parameter; });
  return row == std::end(kRows) ? refused : row->how;
}

}  // namespace penstock::ops
