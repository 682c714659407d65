#include "ops/number_arguments.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "ops/op.h"

namespace penstock::ops {

namespace {

/// name       of the op, for all of its overloads or the one that it names, and for the namesake
///            that writes its argument, where that has no row of its own
/// parameter  that may be a number input
/// taken      how, and what must hold of it
///
/// Parameters of type Scalar that have no row are `checked`, those of type float `wrapped`.
struct NumberArgumentRow {
  std::string_view name, parameter;
  NumberTaken taken;
};
using enum NumberArgument;
constexpr NumberBound kNotZero{NumberOp::not_equal, 0}, kAboveZero{NumberOp::greater, 0},
    kNotBelowZero{NumberOp::greater_equal, 0};
constexpr NumberArgumentRow kRows[] = {
    {"add", "other", {wrapped}},
    {"sub", "other", {wrapped}},
    {"rsub", "other", {wrapped}},
    {"mul", "other", {wrapped}},
    {"div", "other", {wrapped}},
    {"div.Tensor_mode", "other", {divisor}},
    {"div.Scalar_mode", "other", {divisor}},
    {"floor_divide", "other", {divisor}},
    {"fmod", "other", {divisor}},
    {"remainder", "other", {divisor}},
    {"bitwise_and", "other", {wrapped}},
    {"bitwise_or", "other", {wrapped}},
    {"bitwise_xor", "other", {wrapped}},
    {"pow", "self", {promoted}},
    {"pow", "exponent", {exponent}},
    {"float_power", "self", {wrapped}},
    {"float_power", "exponent", {wrapped}},
    // The slope of what is written is read off the result, whose sign must be the argument's.
    {"leaky_relu_", "negative_slope", {checked, {kNotBelowZero}}},
    {"elu_", "alpha", {checked, {kNotBelowZero}}},
    {"celu_", "alpha", {checked, {kAboveZero}}},
    {"celu", "alpha", {checked, {kNotZero}}},
    {"softshrink", "lambd", {checked, {kNotBelowZero}}},
    {"logit", "eps", {wrapped, {kNotBelowZero, NumberBound{NumberOp::less_equal, 0.5}}}},
    {"huber_loss", "delta", {wrapped, {kAboveZero}}},
    {"smooth_l1_loss", "beta", {wrapped, {kAboveZero}}},
    {"cross_entropy_loss",
     "label_smoothing",
     {wrapped, {kAboveZero, NumberBound{NumberOp::less_equal, 1}}}},
    // Times 0 something is not read at all.
    {"addmm", "beta", {checked, {kNotZero}}},
    {"baddbmm", "beta", {checked, {kNotZero}}},
    {"addbmm", "beta", {checked, {kNotZero}}},
    {"addmv", "beta", {checked, {kNotZero}}},
    {"addr", "beta", {checked, {kNotZero}}},
    // How many elements there are.
    {"arange", "start", {refused}},
    {"arange", "end", {refused}},
    {"arange", "step", {refused}},
    {"range", "start", {refused}},
    {"range", "end", {refused}},
    {"range", "step", {refused}},
    // What is drawn, and whether anything is.
    {"dropout", "p", {refused}},
    {"native_dropout", "p", {refused}},
    {"feature_dropout", "p", {refused}},
    {"alpha_dropout", "p", {refused}},
    {"feature_alpha_dropout", "p", {refused}},
    {"scaled_dot_product_attention", "dropout_p", {refused}},
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
    {"diag", "diagonal"},
    {"diag_embed", "offset"},
    {"linspace", "steps"},
    {"one_hot", "num_classes"},
};

/// "add_" of "aten.add_.Tensor".
std::string_view name_of(std::string_view op) {
  const std::size_t first = op.find('.') + 1, last = op.rfind('.');
  return op.substr(first, last - first);
}

}  // namespace

bool takes_size(std::string_view op, std::string_view parameter) {
  const std::string_view name = name_of(op);
  return std::ranges::any_of(kSizeRows, [&](const SizeRow& row) {
    return name.starts_with(row.name) && parameter == row.parameter;
  });
}

NumberTaken number_argument(std::string_view op, std::string_view parameter,
                            std::string_view type) {
  if (!op.starts_with("aten.")) return {};
  const bool any = type.starts_with("Scalar"), real = type.starts_with("float");
  const std::string_view name = name_of(op);
  const auto row_of = [&](std::string_view wanted) {
    return std::ranges::find_if(kRows, [&](const NumberArgumentRow& one) {
      return one.name == wanted && one.parameter == parameter;
    });
  };
  const std::string_view pure = name.substr(0, name.size() - (name.ends_with('_') ? 1 : 0));
  auto row = row_of(std::string(pure).append(op.substr(op.rfind('.'))));
  if (row == std::end(kRows)) row = row_of(name);
  if (row == std::end(kRows)) row = row_of(pure);
  if (row != std::end(kRows)) return row->taken;
  // A list of numbers is a list of literals.
  if (type.find('[') != std::string_view::npos || !(any || real)) return {};
  return {any ? checked : wrapped};
}

}  // namespace penstock::ops
