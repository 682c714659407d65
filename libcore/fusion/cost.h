#pragma once

#include <string_view>

namespace penstock::fusion {

/// What one instruction costs, in units of an addition (fusion/cost.def).
int op_weight(std::string_view op);

}  // namespace penstock::fusion
