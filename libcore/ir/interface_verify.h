#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "diag/diagnostic.h"
#include "ir/interface.h"
#include "ir/memory_verify.h"

namespace penstock {

/// The names of `symbols`, for check_symbols.
std::unordered_set<std::string_view> symbol_names(const std::vector<Symbol>& symbols);

/// No tensor has more dims, as in torch.
inline constexpr std::size_t kMaxRank = 64;

/// Checks what holds of an interface at every level: sources, outputs, inputs and objects that
/// others name exist, symbols are declared once, their hints lie in their ranges and fulfil the
/// guards, types are sound.
Result<void> verify_interface(const Interface& interface);

/// Whether the symbols' ranges and the conditions among the guards hold of the sizes of a call.
/// PS0806 names the first that does not.
Result<void> check_conditions(const Interface& interface, const SizeValue& value);

/// Checks a type: one stride per size, only symbols of `known`; sizes, strides and the offset are
/// not negative, and the tensor not longer than any can be, as far as `value` knows them.
Result<void> verify_type(const TensorType& type, const std::unordered_set<std::string_view>& known,
                         const SizeValue& value, const std::string& place);

}  // namespace penstock
