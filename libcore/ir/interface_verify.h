#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "diag/diagnostic.h"
#include "ir/interface.h"

namespace penstock {

/// The names of `symbols`, for check_symbols.
std::unordered_set<std::string_view> symbol_names(const std::vector<Symbol>& symbols);

/// Checks what holds of an interface at every level: sources, outputs, inputs and objects that
/// others name exist, symbols are declared once, types have one stride per size.
Result<void> verify_interface(const Interface& interface);

/// Checks a type: one stride per size, only symbols of `known`.
Result<void> verify_type(const TensorType& type,
                         const std::unordered_set<std::string_view>& known,
                         const std::string& place);

}  // namespace penstock
