#include "fusion/cost.h"

#include <unordered_map>

namespace penstock::fusion {

int op_weight(std::string_view op) {
  static const std::unordered_map<std::string_view, int> weights = {
#define PS_COST(op, weight) {op, weight},
#include "fusion/cost.def"
#undef PS_COST
  };
  auto found = weights.find(op);
  return found == weights.end() ? 1 : found->second;
}

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

}  // namespace penstock::fusion
