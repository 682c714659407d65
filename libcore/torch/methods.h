#pragma once

#include <string>
#include <string_view>

namespace penstock::torch {

/// The ATen op behind a method of torch.Tensor, when it is called otherwise than the method:
/// "__add__" is "add". Empty for a method that is no op at all.
std::string_view op_of_method(std::string_view method);

/// The ATen op behind an attribute of torch.Tensor that is one: "numpy_T" of T. Empty for others.
std::string_view op_of_attribute(std::string_view attribute);

/// Ops whose result as a Python number, or where in the argument it lies, or its size depends on
/// elements. Without an overload: whether any overload is one.
bool is_data_dependent(std::string_view op);

/// The dtype that a method like "float" converts to, as torch names it; empty for others.
std::string_view dtype_of_conversion(std::string_view method);

}  // namespace penstock::torch
