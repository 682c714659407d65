#include "ops/work.h"

#include <algorithm>
#include <string_view>

#include "ir/argument.h"
#include "ops/op.h"

namespace penstock::ops {

namespace {

const Argument* argument(const Node& node, std::string_view name) {
  const auto found = std::ranges::find(node.args, name, &NamedArgument::name);
  return found == node.args.end() ? nullptr : &found->value;
}

/// The type of a tensor argument; null: it is none, or not given.
const TensorType* tensor(const Graph& graph, const Node& node, std::string_view name) {
  const Argument* given = argument(node, name);
  const auto* value = given == nullptr ? nullptr : given->as<Argument::Value>();
  return value == nullptr ? nullptr : &graph.values[value->id].type;
}

const TensorType& result(const Graph& graph, const Node& node) {
  return graph.values[node.results.front()].type;
}

SymExpr bytes_of(const TensorType& type) {
  return element_count(type.sizes) * facts(type.dtype).size;
}

SymExpr touched_bytes(const Graph& graph, const Node& node) {
  SymExpr bytes = 0;
  for (const NamedArgument& each : node.args) {
    for_each_value(each.value, [&](ValueId id) {
      if (!graph.values[id].is_scalar) bytes += bytes_of(graph.values[id].type);
    });
  }
  for (const ValueId id : node.results) bytes += bytes_of(graph.values[id].type);
  return bytes;
}

// -- products: who multiplies what

struct ProductRow {
  std::string_view op;
  std::string_view left;  ///< the argument whose last size is added up
};
constexpr ProductRow kMatrixProducts[] = {
    {"aten.mm.default", "self"},     {"aten.bmm.default", "self"},
    {"aten.addmm.default", "mat1"},  {"aten.baddbmm.default", "batch1"},
    {"aten.matmul.default", "self"}, {"aten.linear.default", "input"},
    {"aten.addmv.default", "mat"},   {"aten.mv.default", "self"},
    {"aten.dot.default", "self"},
};

std::optional<SymExpr> matrix_product(const Graph& graph, const Node& node) {
  for (const ProductRow& row : kMatrixProducts) {
    if (row.op != node.op) continue;
    const TensorType* left = tensor(graph, node, row.left);
    if (left == nullptr || left->sizes.empty()) return std::nullopt;
    return 2 * element_count(result(graph, node).sizes) * left->sizes.back();
  }
  return std::nullopt;
}

/// Multiplications for each element of what a convolution makes, or, transposed, takes: those of
/// one filter.
SymExpr filter_size(const TensorType& weight) {
  return element_count({weight.sizes.begin() + 1, weight.sizes.end()});
}

bool is_true(const Argument* argument) {
  const bool* flag = argument == nullptr ? nullptr : argument->as<bool>();
  return flag != nullptr && *flag;
}

std::optional<SymExpr> convolution(const Graph& graph, const Node& node) {
  const TensorType* weight = tensor(graph, node, "weight");
  const TensorType* input = tensor(graph, node, "input");
  if (weight == nullptr || input == nullptr || weight->sizes.empty()) return std::nullopt;
  const bool transposed = is_true(argument(node, "transposed"));
  const TensorType& places = transposed ? *input : result(graph, node);
  return 2 * element_count(places.sizes) * filter_size(*weight);
}

/// For each gradient that is asked for a convolution's worth.
std::optional<SymExpr> convolution_backward(const Graph& graph, const Node& node) {
  const TensorType* weight = tensor(graph, node, "weight");
  const TensorType* input = tensor(graph, node, "input");
  const TensorType* output = tensor(graph, node, "grad_output");
  const Argument* mask = argument(node, "output_mask");
  const auto* wanted = mask == nullptr ? nullptr : mask->as<Argument::Sequence>();
  if (weight == nullptr || input == nullptr || output == nullptr || wanted == nullptr ||
      wanted->items.size() < 2 || weight->sizes.empty())
    return std::nullopt;
  const bool transposed = is_true(argument(node, "transposed"));
  const SymExpr one =
      2 * element_count((transposed ? *input : *output).sizes) * filter_size(*weight);
  return one * (is_true(&wanted->items[0]) + is_true(&wanted->items[1]));
}

/// Scores, and their products with the values: `query` is […, length, size], `value` […, length of
/// the keys, size].
std::optional<SymExpr> attention(const Graph& graph, const Node& node) {
  const TensorType* query = tensor(graph, node, "query");
  const TensorType* key = tensor(graph, node, "key");
  if (query == nullptr || key == nullptr || key->rank() < 2) return std::nullopt;
  const SymExpr keys = key->sizes[key->rank() - 2];
  return 2 * keys * (element_count(query->sizes) + element_count(result(graph, node).sizes));
}

/// A recurrent network over a sequence: each matrix of its weights meets each vector of the
/// sequence once.
std::optional<SymExpr> recurrent(const Graph& graph, const Node& node) {
  const TensorType* padded = tensor(graph, node, "input");
  const TensorType* input = padded != nullptr ? padded : tensor(graph, node, "data");
  const Argument* params = argument(node, "params");
  const auto* weights = params == nullptr ? nullptr : params->as<Argument::Sequence>();
  if (input == nullptr || weights == nullptr || input->rank() < 2) return std::nullopt;
  const SymExpr vectors = element_count({input->sizes.begin(), input->sizes.end() - 1});
  SymExpr work = 0;
  for (const Argument& each : weights->items) {
    const auto* value = each.as<Argument::Value>();
    if (value == nullptr) continue;
    const TensorType& type = graph.values[value->id].type;
    if (type.rank() == 2) work += 2 * vectors * element_count(type.sizes);
  }
  return work;
}

std::optional<SymExpr> products_of(const Graph& graph, const Node& node) {
  if (node.op == "aten.convolution.default") return convolution(graph, node);
  if (node.op == "aten.scaled_dot_product_attention.default") return attention(graph, node);
  if (node.op == "aten.convolution_backward.default") return convolution_backward(graph, node);
  if (runs_over_sequences(node.op)) return recurrent(graph, node);
  return matrix_product(graph, node);
}

// -- elements

SymExpr elements_of(const Graph& graph, const Node& node, const OpFacts& op) {
  const SymExpr made = element_count(result(graph, node).sizes);
  const TensorType* self = tensor(graph, node, "self");
  switch (op.group) {
    case PrimGroup::unary:
    case PrimGroup::binary:
      return made;
    case PrimGroup::ternary:
      return op.id == OpId::prim_fma ? 2 * made : made;
    case PrimGroup::reduce:
    case PrimGroup::scan:
      return self == nullptr ? made : element_count(self->sizes);
    default:
      return 0;
  }
}

}  // namespace

Work& Work::operator+=(const Work& other) {
  products += other.products;
  elementwise += other.elementwise;
  bytes += other.bytes;
  return *this;
}

std::optional<Work> work_of(const Graph& graph, const Node& node) {
  Work work;
  if (node.results.empty()) return work;
  const OpFacts* op = find_op(node.op);
  if (op != nullptr && (op->group == PrimGroup::view || op->has(kView))) return work;
  work.bytes = touched_bytes(graph, node);
  if (op != nullptr && op->group != PrimGroup::none) {
    work.elementwise = elements_of(graph, node, *op);
    return work;
  }
  if (const auto products = products_of(graph, node)) {
    work.products = *products;
    return work;
  }
  // What has a row and multiplies nothing moves elements: it is known by its bytes.
  const bool moves = op != nullptr && op->family != OpFamily::matmul &&
                     op->family != OpFamily::convolution && op->family != OpFamily::recurrent;
  return moves ? std::optional(work) : std::nullopt;
}

SymExpr least_bytes(const Graph& graph) {
  SymExpr bytes = 0;
  for (std::size_t i = 0; i < graph.interface.inputs.size(); ++i)
    if (!graph.values[i].is_scalar) bytes += bytes_of(graph.values[i].type);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const bool shown = i < graph.interface.outputs.size() &&
                       graph.interface.outputs[i].alias.kind != OutputAlias::Kind::none;
    if (!shown && graph.outputs[i] >= graph.interface.inputs.size())
      bytes += bytes_of(graph.values[graph.outputs[i]].type);
  }
  return bytes;
}

}  // namespace penstock::ops
