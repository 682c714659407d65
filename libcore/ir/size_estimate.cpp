#include "ir/size_estimate.h"

namespace penstock {

double estimate(const SymExpr& expression, const Interface& interface) {
  if (auto constant = expression.constant()) return static_cast<double>(*constant);
  constexpr std::int64_t kUnknown = 64;
  auto value = expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
    for (const Symbol& symbol : interface.symbols) {
      if (symbol.name == name) return symbol.hint.value_or(kUnknown);
    }
    return kUnknown;
  });
  return static_cast<double>(value.value_or(kUnknown));
}

}  // namespace penstock
