// Elements decide none and one as well as many. To torch's ops these are not always the same: a
// largest element of none is an error, a size of one is stretched, a variance of one is no number.
// A graph of many serves the others where none of its ops tells them apart, which is known of
// these.
#include "record/any_size.h"

#include <algorithm>
#include <span>

#include "ops/op.h"

namespace penstock::record {

namespace {

/// What a sum over none is, and what a place says of nothing, torch and prims agree on.
constexpr std::string_view kAnySize[] = {
    "aten.sum.default",
    "aten.sum.dim_IntList",
    "aten.mean.default",
    "aten.mean.dim",
    "aten.prod.default",
    "aten.prod.dim_int",
    "aten.any.default",
    "aten.any.dim",
    "aten.all.default",
    "aten.all.dim",
    "aten.count_nonzero.default",
    "aten.count_nonzero.dim_IntList",
    "aten.cumsum.default",
    "aten.cat.default",
    "aten.concat.default",
    "aten.stack.default",
    "aten.repeat.default",
    "aten.flip.default",
    "aten.alias.default",
    "aten.detach.default",
    "aten.expand.default",
    "aten.expand_as.default",
    "aten.permute.default",
    "aten.transpose.int",
    "aten.t.default",
    "aten.numpy_T.default",
    "aten.select.int",
    "aten.slice.Tensor",
    "aten.narrow.default",
    "aten.unsqueeze.default",
    "aten.squeeze.default",
    "aten.squeeze.dim",
    "aten.flatten.using_ints",
    "aten.index_add.default",
    "aten.index_add_.default",
    "aten.argwhere.default",
    "aten.where.default",
    "aten.nonzero_numpy.default",
    "aten.item.default",
};
/// The same where sizes that elements decide are no arguments: none of them is left to be told.
constexpr std::string_view kUnlessAsked[] = {"aten.view.default", "aten.reshape.default"};
/// The same where such dims stay, so that nothing is combined along them.
constexpr std::string_view kAlongOthers[] = {
    "aten.amax.default",
    "aten.amin.default",
    "aten.max.dim",
    "aten.min.dim",
    "aten.argmax.default",
    "aten.argmin.default",
    "aten.softmax.int",
    "aten._softmax.default",
    "aten.log_softmax.int",
    "aten.var.correction",
    "aten._log_softmax.default",
    "aten.logsumexp.default",
    "aten.std.correction",
    "aten.linalg_vector_norm.default",
    "aten.layer_norm.default",
    "aten.rms_norm.default",
    "aten.native_layer_norm.default",
};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool names_decided(const SymExpr& size, const IsDecided& is_decided) {
  bool named = false;
  size.for_each_symbol([&](std::string_view symbol) { named = named || is_decided(symbol); });
  return named;
}

bool asks_for_decided(const Node& node, const IsDecided& is_decided) {
  bool asks = false;
  for (const NamedArgument& argument : node.args)
    for_each_size(argument.value,
                  [&](const SymExpr& size) { asks = asks || names_decided(size, is_decided); });
  return asks;
}

/// Whether every dim of the operands that elements decide is one of the results, too.
bool keeps_decided(const Node& node, const Graph& graph, const std::vector<TensorType>& results,
                   const IsDecided& is_decided) {
  const auto is_kept = [&](const SymExpr& size) {
    return std::ranges::any_of(results, [&](const TensorType& type) {
      return std::ranges::find(type.sizes, size) != type.sizes.end();
    });
  };
  bool kept = true;
  for (const NamedArgument& argument : node.args) {
    for_each_value(argument.value, [&](ValueId id) {
      for (const SymExpr& size : graph.values[id].type.sizes)
        kept = kept && (!names_decided(size, is_decided) || is_kept(size));
    });
  }
  return kept;
}

bool is_of_any_family(const ops::OpFacts& op) {
  using ops::OpFamily;
  return op.family == OpFamily::pointwise || op.family == OpFamily::activation ||
         op.family == OpFamily::cast || op.family == OpFamily::in_place ||
         op.family == OpFamily::create || op.family == OpFamily::index;
}

/// Rows of products are as many as there are; along the inner dim sums may be over none.
bool is_product(std::string_view name) {
  constexpr std::string_view kProducts[] = {"aten.mm.default",     "aten.bmm.default",
                                            "aten.addmm.default",  "aten.baddbmm.default",
                                            "aten.matmul.default", "aten.linear.default"};
  return is_one_of(kProducts, name);
}

}  // namespace

bool serves_any_size(const Node& node, const Graph& graph, const std::vector<TensorType>& results,
                     const IsDecided& is_decided) {
  if (is_one_of(kAnySize, node.op)) return true;
  if (is_one_of(kUnlessAsked, node.op)) return !asks_for_decided(node, is_decided);
  if (is_one_of(kAlongOthers, node.op) || is_product(node.op))
    return keeps_decided(node, graph, results, is_decided);
  const ops::OpFacts* op = ops::find_op(node.op);
  return op != nullptr && is_of_any_family(*op);
}

std::int64_t least_decided(const Node& node) {
  constexpr std::string_view kNeverNone[] = {
      "aten._unique2.default", "aten.unique_consecutive.default", "aten.bincount.default"};
  return is_one_of(kNeverNone, node.op) ? 1 : 0;
}

bool reads_by_places(const Node& node) {
  constexpr std::string_view kReads[] = {"aten.index.Tensor", "aten.gather.default",
                                         "aten.index_select.default", "aten.embedding.default",
                                         "aten.take_along_dim.default"};
  return is_one_of(kReads, node.op);
}

bool lies_plainly(const TensorType& type, const IsDecided& is_decided) {
  SymExpr stride = 1;
  for (std::size_t dim = type.rank(); dim-- > 0;) {
    if (dim > 0 && names_decided(type.sizes[dim], is_decided)) return false;
    if (names_decided(type.strides[dim], is_decided)) return false;
    if (type.sizes[dim] != SymExpr(1) && type.strides[dim] != stride) return false;
    stride *= type.sizes[dim];
  }
  return !names_decided(type.storage_offset, is_decided);
}

}  // namespace penstock::record
