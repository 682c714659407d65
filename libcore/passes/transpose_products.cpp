// Transposed products
//
// The gradient of a linear layer's weight is the transpose of a product. The transpose of A B is
// the product of B's transpose and A's, which libraries read as they lie; to write out the
// transpose of a result that lies the other way takes about as long as the product itself.
#include <algorithm>
#include <ranges>

#include "ops/op.h"
#include "passes/core_passes.h"
#include "passes/rewrite.h"

namespace penstock::passes {

namespace {

/// Swaps the last two of `rank` dims.
std::vector<std::int64_t> swap_of(std::size_t rank) {
  std::vector<std::int64_t> dims(rank);
  for (std::size_t i = 0; i < rank; ++i) dims[i] = static_cast<std::int64_t>(i);
  std::swap(dims[rank - 1], dims[rank - 2]);
  return dims;
}

class Products {
 public:
  explicit Products(Graph graph)
      : rewrite_(std::move(graph)),
        uses_(rewrite_.graph().values.size(), 0),
        product_(rewrite_.graph().values.size(), nullptr),
        is_row_major_(rewrite_.graph().values.size(), false) {}

  Result<Graph> run() {
    const Graph& graph = rewrite_.graph();
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      ++uses_[graph.outputs[i]];
      const Output& output = graph.interface.outputs[i];
      is_row_major_[graph.outputs[i]] =
          output.alias.kind == OutputAlias::Kind::none && is_contiguous(output.type);
    }
    for (const Node& node : rewrite_.old_nodes()) {
      for (const NamedArgument& argument : node.args)
        for_each_value(argument.value, [&](ValueId id) { ++uses_[id]; });
      if (node.op == "aten.mm.default" || node.op == "aten.bmm.default")
        product_[node.results.front()] = &node;
    }
    for (const Node& node : std::views::reverse(rewrite_.old_nodes())) look_behind(node);
    for (const Node& old : rewrite_.old_nodes()) {
      if (const Node* product = transposed_product(old)) {
        transpose(old, *product);
      } else {
        rewrite_.keep(rewrite_.current(old));
      }
    }
    return rewrite_.finish();
  }

 private:
  /// What an output is computed from element by element is best read as that lies.
  void look_behind(const Node& node) {
    const ops::OpFacts* op = ops::find_op(node.op);
    if (op == nullptr || node.results.size() != 1 || !is_row_major_[node.results.front()]) return;
    using enum ops::PrimGroup;
    if (op->group != unary && op->group != binary && op->group != ternary && op->group != cast)
      return;
    for (const NamedArgument& argument : node.args)
      for_each_value(argument.value, [&](ValueId id) { is_row_major_[id] = true; });
  }

  /// The product that `node` transposes for an output, where nothing else reads it.
  const Node* transposed_product(const Node& node) const {
    if (node.op != "prim.permute") return nullptr;
    const ValueId self = operand_value(node, "self"), result = node.results.front();
    const Node* product = product_[self];
    const bool is_output = uses_[result] == 1 && is_row_major_[result];
    if (product == nullptr || uses_[self] != 1 || !is_output) return nullptr;
    const std::size_t rank = rewrite_.graph().values[self].type.rank();
    return *find_argument(node, "dims") == list_of(swap_of(rank)) ? product : nullptr;
  }

  void transpose(const Node& permute, const Node& product) {
    const bool batched = product.op == "aten.bmm.default";
    const auto swapped = [&](std::string_view name) {
      const ValueId factor = rewrite_.current(operand_value(product, name));
      return rewrite_.emit_one("prim.permute", {arg("self", Argument::Value{factor}),
                                                arg("dims", list_of(swap_of(batched ? 3 : 2)))});
    };
    rewrite_.set_call(product.call);
    const ValueId left = swapped("mat2"), right = swapped("self");
    rewrite_.replace(permute.results.front(),
                     rewrite_.emit_one(product.op, {arg("self", Argument::Value{left}),
                                                    arg("mat2", Argument::Value{right})}));
  }

  Rewrite rewrite_;
  std::vector<std::int32_t> uses_;    ///< by value, as an output too
  std::vector<const Node*> product_;  ///< by value, the product that it is the result of
  std::vector<bool> is_row_major_;    ///< by value: an output that lies so, or is made of it
};

}  // namespace

Result<Graph> transpose_products(Graph graph) {
  return Products(std::move(graph)).run();
}

}  // namespace penstock::passes
