#pragma once

#include "ir/graph.h"

namespace penstock::fusion {

/// The operands of a matrix product (ops::is_product).
struct ProductOperands {
  ValueId left, right;
  ValueId addend;  ///< kNoValue: nothing is added
};

/// What `node`, a product, multiplies and adds.
ProductOperands product_operands(const Node& node);

}  // namespace penstock::fusion
