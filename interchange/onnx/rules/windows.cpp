// Views that show an element several times: their elements are gathered.
#include "interchange/onnx/rules/rules.h"

namespace penstock::onnx {

void unfold(Rule& rule) {
  ops::Arguments& arguments = rule.arguments();
  const auto dim = static_cast<std::size_t>(arguments.constant("dim", 0));
  const SymExpr size = arguments.integer("size"), step = arguments.integer("step");
  const SymExpr dilation = arguments.integer("dilation");
  const Name x = rule.in("self");
  const std::size_t rank = rule.result().rank();
  if (rule.failed() || rank < 2 || dim + 1 >= rank) return;
  const SymExpr count = rule.result().sizes[dim];
  const Name starts = rule.reshape(stepped(rule, 0, step, count), {count, 1});
  const Name places = rule.emit("Add", {starts, stepped(rule, 0, dilation, size)});
  const Name windows =
      rule.emit("Gather", {x, places}, {attribute("axis", static_cast<std::int64_t>(dim))});
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != dim + 1) order.push_back(static_cast<std::int64_t>(i));
  }
  order.push_back(static_cast<std::int64_t>(dim) + 1);
  rule.give(rule.emit("Transpose", {windows}, {attribute("perm", order)}));
}

void as_strided(Rule& rule) {
  ops::Arguments& arguments = rule.arguments();
  const auto sizes = arguments.integers("size"), strides = arguments.integers("stride");
  const SymExpr offset = arguments.integer("offset");
  const TensorType self = rule.type("self");
  const Name x = rule.in("self");
  if (rule.failed() || strides.size() != sizes.size()) return;
  if (!is_contiguous(self) || self.storage_offset != SymExpr(0))
    return rule.refuse("it counts places in memory, and ONNX has no memory");
  Name places = rule.out().size(offset);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::vector<SymExpr> shape(sizes.size(), SymExpr(1));
    shape[i] = sizes[i];
    places =
        rule.emit("Add", {places, rule.reshape(stepped(rule, 0, strides[i], sizes[i]), shape)});
  }
  const Name flat = rule.emit("Reshape", {x, rule.ints({-1})});
  rule.give(rule.reshape(rule.emit("Gather", {flat, places}), sizes));
}

}  // namespace penstock::onnx
