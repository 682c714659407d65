#include "interchange/onnx/operators.h"

#include "interchange/onnx/rules/rules.h"
#include "ops/op.h"

namespace penstock::onnx {

namespace {

struct Table {
  OperatorRow rows[static_cast<std::size_t>(ops::OpId::count)] = {};
};

constexpr Table make_table() {
  Table table;
#define PS_ONNX(id, function, detail) \
  table.rows[static_cast<std::size_t>(ops::OpId::id)] = {penstock::onnx::function, detail, nullptr};
#define PS_ONNX_WHOLE(id, function, detail, condition)                                     \
  table.rows[static_cast<std::size_t>(ops::OpId::id)] = {penstock::onnx::function, detail, \
                                                         penstock::onnx::condition};
#include "interchange/onnx/operators.def"
#undef PS_ONNX_WHOLE
#undef PS_ONNX
  return table;
}

constexpr Table kTable = make_table();

/// Random draws give other numbers in every runtime.
constexpr bool is_complete() {
  for (std::size_t id = 0; id < static_cast<std::size_t>(ops::OpId::abs_default); ++id) {
    const bool left_out = id == static_cast<std::size_t>(ops::OpId::prim_bernoulli);
    if ((kTable.rows[id].function == nullptr) != left_out) return false;
  }
  return true;
}
static_assert(is_complete(), "every primitive op has a row");

}  // namespace

const OperatorRow* find_row(std::string_view name) {
  const ops::OpFacts* op = ops::find_op(name);
  if (op == nullptr) return nullptr;
  const OperatorRow& row = kTable.rows[static_cast<std::size_t>(op->id)];
  return row.function == nullptr ? nullptr : &row;
}

bool stays_whole(const Graph& graph, const Node& node) {
  const OperatorRow* row = find_row(node.op);
  if (row == nullptr || row->whole == nullptr) return false;
  for (ValueId result : node.results) {
    if (is_complex(graph.values[result].type.dtype)) return false;
  }
  ops::Arguments arguments(node, graph);
  return row->whole(arguments) && !arguments.failed();
}

}  // namespace penstock::onnx
