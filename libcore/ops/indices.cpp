#include "ops/indices.h"

#include <algorithm>

namespace penstock::ops {

namespace {

enum class Dim : std::uint8_t { given, first, logits, whole, listed, none };

struct Row {
  OpId op;
  std::string_view index, table;
  Dim dim;
  bool wraps;
  std::string_view ignored;
  std::int64_t otherwise;
};

constexpr Row kRows[] = {
#define PS_INDEX(op, index, table, dim, wraps, ignored, otherwise) \
  {OpId::op, index, table, Dim::dim, wraps, ignored, otherwise},
#include "ops/indices.def"
#undef PS_INDEX
};

/// Each tensor of the list chooses along the dim of its place; masks stand for several dims.
std::vector<IndexUse> listed_uses(const Row& row, Arguments& arguments) {
  const TensorType& table = arguments.tensor(row.table);
  const Argument* argument = arguments.find(row.index);
  const auto* list = argument == nullptr ? nullptr : argument->as<Argument::Sequence>();
  std::vector<IndexUse> uses;
  if (list == nullptr || list->items.size() > table.rank()) return uses;
  for (std::size_t dim = 0; dim < list->items.size(); ++dim) {
    const auto* value = list->items[dim].as<Argument::Value>();
    if (value == nullptr) continue;
    const DType dtype = arguments.graph().values[value->id].type.dtype;
    if (!is_integral(dtype) || dtype == DType::uint8) return {};
    uses.push_back(
        {value->id, static_cast<std::int64_t>(dim), table.sizes[dim], row.wraps, std::nullopt});
  }
  return uses;
}

/// The dim of the table, and its size.
void set_dim(const Row& row, Arguments& arguments, IndexUse& use) {
  if (row.dim == Dim::none) {
    use.size = arguments.constant(row.table, -1);
    return;
  }
  const TensorType& table = arguments.tensor(row.table);
  const std::size_t rank = table.rank();
  if (row.dim == Dim::whole) {
    use.size = element_count(table.sizes);
    return;
  }
  if (row.dim == Dim::given) use.dim = arguments.dim("dim", 0, rank);
  if (row.dim == Dim::logits && rank > 1) use.dim = 1;
  use.size = rank == 0 ? SymExpr(1) : table.sizes[static_cast<std::size_t>(use.dim)];
}

/// What a prim.check_index looks at.
IndexUse checked_use(Arguments& arguments) {
  IndexUse use{arguments.value("self"), arguments.constant("dim", 0), arguments.integer("size"),
               arguments.boolean("wraps", false), std::nullopt};
  if (arguments.has("ignored")) use.ignored = arguments.constant("ignored", 0);
  return use;
}

}  // namespace

std::vector<IndexUse> index_uses(const OpFacts& op, Arguments& arguments) {
  if (op.id == OpId::prim_check_index) return {checked_use(arguments)};
  const auto* row = std::ranges::find(kRows, op.id, &Row::op);
  if (row == std::end(kRows) || arguments.failed()) return {};
  if (row->dim == Dim::listed) return listed_uses(*row, arguments);
  if (row->dim == Dim::whole && arguments.has("dim")) return {};
  IndexUse use;
  use.index = arguments.value(row->index);
  if (arguments.failed() || !is_integral(arguments.graph().values[use.index].type.dtype)) return {};
  set_dim(*row, arguments, use);
  if (arguments.failed() || use.size == SymExpr(-1)) return {};
  use.wraps = row->wraps;
  if (!row->ignored.empty()) use.ignored = arguments.constant(row->ignored, row->otherwise);
  return {use};
}

}  // namespace penstock::ops
