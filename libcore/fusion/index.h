#pragma once

#include <optional>
#include <vector>

#include "ir/buffer.h"
#include "ir/graph.h"
#include "shape/prover.h"

namespace penstock::fusion {

/// Where an element of a tensor stands: one expression a dim.
using Index = std::vector<SymExpr>;
using Sizes = std::vector<SymExpr>;

/// A strided window on the memory of a buffer; counts elements.
struct Window {
  BufferId base = kNoBuffer;  ///< never a view
  Sizes sizes;
  Sizes strides;
  SymExpr offset = 0;
};

/// The element of the window's memory that `index` names.
SymExpr linear_index(const Window& window, const Index& index);

/// The index of a row-major tensor of `sizes` whose element number `linear` is.
Index delinearise(const SymExpr& linear, const Sizes& sizes, const RangeFacts& facts);

/// simplify(), and a*floordiv(e, d) + b*mod(e, d) becomes b*e where a = b*d: what an index that was
/// split into dims and put together again comes to.
SymExpr simplify_index(const SymExpr& expression, const RangeFacts& facts);

/// A range of dims of one side of a reshape and the range of the other side with as many elements.
struct ReshapeGroup {
  std::size_t from_first, from_last;
  std::size_t to_first, to_last;
};

/// The finest groups of dims that a reshape regroups: [2, 3, 4] to [6, 4] gives {0, 1}→{0},
/// {2}→{1}.
std::vector<ReshapeGroup> reshape_groups(const Sizes& from, const Sizes& to,
                                         const RangeFacts& facts);

/// For a view prim: which element of its operand the element `index` of its result is. Not for
/// as_strided, which looks at memory, not at elements.
Index view_index(const Graph& graph, const Node& node, const Index& index, const RangeFacts& facts);

/// For a view prim: the window that its result is, if the operand is `window`; nothing when no
/// strides describe it.
std::optional<Window> view_window(const Graph& graph, const Node& node, const Window& window,
                                  const RangeFacts& facts);

/// The integer argument `name` as an expression, `missing` when it is left out.
SymExpr size_argument(const Node& node, std::string_view name, const SymExpr& missing = 0);
/// The integers of the list argument `name`; empty when it is left out.
Sizes size_list(const Node& node, std::string_view name);
/// The plain integers of the list argument `name`.
std::vector<std::int64_t> integer_list(const Node& node, std::string_view name);
/// The tensor operands in the list argument `name`.
std::vector<ValueId> operand_values(const Node& node, std::string_view name);

}  // namespace penstock::fusion
