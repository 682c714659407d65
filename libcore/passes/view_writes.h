#pragma once

#include "passes/rewrite.h"

namespace penstock::passes {

/// `parent` after `content` was written through the view of it that is result number `result` of
/// `view`, a prim or an op of ATen's. A view whose elements are not each one element of the parent,
/// or that only torch knows, fails the rewrite.
ValueId written_through(Rewrite& rewrite, const Node& view, std::size_t result, ValueId parent,
                        ValueId content);

}  // namespace penstock::passes
