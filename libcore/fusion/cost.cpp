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

}  // namespace penstock::fusion
