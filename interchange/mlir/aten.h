#pragma once

#include "interchange/mlir/emitter.h"
#include "interchange/mlir/schema.h"

namespace penstock::mlir {

/// Writes an ATen op as the torch dialect's op of that name: its operands are the node's arguments
/// by the schema, of its types, with what is left out at its default.
void write_aten(const Node& node, const Schema& schema, Emitter& out);

}  // namespace penstock::mlir
