#include "partition/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "ir/device.h"
#include "ops/infer.h"
#include "ops/op.h"

namespace penstock::partition {

namespace {

/// What a predicate looks at. It returns why the node cannot run there; empty: it can.
struct Candidate {
  const Graph& graph;
  const Node& node;
  std::span<const std::int32_t> uses;

  const TensorType* tensor(std::string_view argument) const {
    const ValueId value = operand_value(node, argument);
    return value != kNoValue ? &graph.values[value].type : nullptr;
  }
};

using Predicate = std::string (*)(const Candidate&);

std::string always(const Candidate&) {
  return {};
}

/// The library's kernels take float32 and bfloat16; sums of other types it would compute otherwise
/// than torch does, or not at all.
std::string float_operands(const Candidate& candidate) {
  DType dtype = candidate.graph.values[candidate.node.results.front()].type.dtype;
  if (dtype == DType::float32 || dtype == DType::bfloat16) return {};
  return fmt::format("the library has no kernel for {}", facts(dtype).name);
}

/// Products of float64 have a kernel beside the library.
std::string product_operands(const Candidate& candidate) {
  DType dtype = candidate.graph.values[candidate.node.results.front()].type.dtype;
  return dtype == DType::float64 ? std::string() : float_operands(candidate);
}

/// Whether an optional argument is known now.
bool is_plain_number(const Argument* argument) {
  return argument == nullptr || argument->as<std::int64_t>() || argument->as<double>();
}

/// Multiplications up to which a product's own loops take less time than a call of the library, of
/// which half a microsecond goes before and behind its kernel (Zen 4: 16x16 times 16x16 0.35 us in
/// loops, 0.52 by a call; 32x16 times 16x16 0.89 and 0.62). With few rows the library falls further
/// behind: one row times 128x128 is 0.85 us in loops and 2.7 by a call.
constexpr std::int64_t kSmallProduct = 4096, kSmallProductOfFewRows = 16384;
constexpr std::int64_t kFewRows = 4;

/// Elements of a half type in one access of a GPU's thread.
constexpr std::int64_t kVectorOfHalves = 8;

/// The product of sizes that are known and at most `limit`; nothing otherwise.
std::optional<std::int64_t> known_count(std::span<const SymExpr> sizes, std::int64_t limit) {
  std::int64_t count = 1;
  for (const SymExpr& size : sizes) {
    const auto known = size.constant();
    if (!known || __builtin_mul_overflow(count, *known, &count)) return std::nullopt;
  }
  return count <= limit ? std::optional(count) : std::nullopt;
}

/// A product of sizes that are known and small is loops, which the ops around it share.
std::string small_product(const Candidate& candidate) {
  const TensorType& result = candidate.graph.values[candidate.node.results.front()].type;
  const TensorType* left = nullptr;
  for (std::string_view name : {"mat1", "batch1", "self"}) {
    if (left == nullptr) left = candidate.tensor(name);
  }
  if (left == nullptr || is_boolean(result.dtype)) return "its elements are no numbers";
  const auto sizes = std::span(result.sizes);
  const bool few = known_count(sizes.first(sizes.size() - 1), kFewRows).has_value();
  std::vector<SymExpr> all(result.sizes);
  all.push_back(left->sizes.back());
  if (!known_count(all, few ? kSmallProductOfFewRows : kSmallProduct)) return "it is large";
  for (std::string_view name : {"alpha", "beta"}) {
    if (!is_plain_number(find_argument(candidate.node, name)))
      return fmt::format("{} is no plain number", name);
  }
  return {};
}

/// Left out, it is that number.
bool is_number(const Argument* argument, double number) {
  return argument == nullptr || penstock::is_number(*argument, number);
}

/// The addend goes in unscaled: a bias or a residual.
std::string plain_addend(const Candidate& candidate) {
  if (!is_number(find_argument(candidate.node, "beta"), 1)) return "beta is not 1";
  if (!is_plain_number(find_argument(candidate.node, "alpha"))) return "alpha is no plain number";
  return product_operands(candidate);
}

std::string batched_convolution(const Candidate& candidate) {
  const TensorType* input = candidate.tensor("input");
  const TensorType* weight = candidate.tensor("weight");
  if (input == nullptr || weight == nullptr || input->rank() != weight->rank()) {
    return "the input has no batch dimension";
  }
  if (input->rank() < 3 || input->rank() > 5) return "the library convolves 1 to 3 dimensions";
  return float_operands(candidate);
}

bool is_true(const Argument* argument) {
  const auto* truth = argument != nullptr ? argument->as<bool>() : nullptr;
  return truth != nullptr && *truth;
}

bool has_padding(const Node& node) {
  const Argument* padding = find_argument(node, "padding");
  const auto* list = padding != nullptr ? padding->as<Argument::Sequence>() : nullptr;
  if (list == nullptr) return !is_number(padding, 0);
  return std::any_of(list->items.begin(), list->items.end(),
                     [](const Argument& item) { return !penstock::is_number(item, 0); });
}

/// The library divides by the window's size, or by what of it lies in the image.
std::string plain_average(const Candidate& candidate) {
  const TensorType* input = candidate.tensor("self");
  const std::size_t dims = ops::spatial_dims(candidate.node.op);
  if (input == nullptr || input->rank() != dims + 2) return "the input has no batch dimension";
  const Argument* divisor = find_argument(candidate.node, "divisor_override");
  if (divisor != nullptr && !divisor->is_none()) return "it has a divisor of its own";
  const Argument* counts = find_argument(candidate.node, "count_include_pad");
  bool overhangs =
      is_true(find_argument(candidate.node, "ceil_mode")) && (counts == nullptr || is_true(counts));
  if (overhangs && has_padding(candidate.node))
    return "it counts padding, and windows reach beyond it";
  return float_operands(candidate);
}

/// A GPU's library multiplies these, and sums in float32; an addend goes in unscaled.
std::string gpu_product(const Candidate& candidate) {
  const DType dtype = candidate.graph.values[candidate.node.results.front()].type.dtype;
  if (dtype != DType::float32 && dtype != DType::bfloat16 && dtype != DType::float16)
    return fmt::format("the library has no kernel for {}", facts(dtype).name);
  if (!is_number(find_argument(candidate.node, "beta"), 1)) return "beta is not 1";
  if (!is_plain_number(find_argument(candidate.node, "alpha"))) return "alpha is no plain number";
  return {};
}

/// A GPU's library convolves batches of images, with all channels in one group; torch has kernels
/// of its own for the others.
std::string gpu_convolution(const Candidate& candidate) {
  const TensorType& result = candidate.graph.values[candidate.node.results.front()].type;
  const TensorType* input = candidate.tensor("input");
  if (result.dtype != DType::float32 && result.dtype != DType::bfloat16 &&
      result.dtype != DType::float16)
    return fmt::format("the library has no kernel for {}", facts(result.dtype).name);
  if (input == nullptr || input->rank() != 4 || result.rank() != 4)
    return "the library convolves batches of images";
  if (is_true(find_argument(candidate.node, "transposed"))) return "it is transposed";
  if (!is_number(find_argument(candidate.node, "groups"), 1)) return "its channels are in groups";
  return {};
}

/// One row times a matrix reads the matrix once: memory's speed is all there is to gain. Our loops
/// reach it where each column lies one element behind the other, and what is around the product
/// joins them.
std::string row_times_matrix(const Candidate& candidate) {
  const TensorType& result = candidate.graph.values[candidate.node.results.front()].type;
  const TensorType* right = candidate.tensor("mat2");
  if (result.sizes.front() != SymExpr(1)) return "it has more than one row";
  if (right == nullptr || right->strides.size() != 2 || right->strides.front() != SymExpr(1))
    return "the matrix lies row by row";
  const auto length = right->sizes.front().constant();
  if (!length || *length % kVectorOfHalves != 0) return "its rows are no whole vectors";
  return gpu_product(candidate);
}

struct Row {
  std::string_view op;
  Placement placement;
  std::string_view call;
  Predicate predicate;
};

#define PS_ROW(op, placement, call, predicate) {op, Placement::placement, call, predicate},
#define PS_NO_ROW(op, placement, call, predicate)
constexpr Row kRows[] = {
#define PS_PLACEMENT PS_ROW
#define PS_GPU_PLACEMENT PS_NO_ROW
#include "partition/placement.def"
#undef PS_PLACEMENT
#undef PS_GPU_PLACEMENT
};
constexpr Row kGpuRows[] = {
#define PS_PLACEMENT PS_NO_ROW
#define PS_GPU_PLACEMENT PS_ROW
#include "partition/placement.def"
#undef PS_PLACEMENT
#undef PS_GPU_PLACEMENT
};
#undef PS_ROW
#undef PS_NO_ROW

/// The rows of an op: they stand together.
std::span<const Row> rows_of(std::string_view op, std::span<const Row> rows = kRows) {
  auto same = [&](const Row& row) { return row.op == op; };
  const auto first = std::ranges::find_if(rows, same);
  return {first, std::find_if_not(first, rows.end(), same)};
}

const Row* find_row(std::string_view op, Placement placement) {
  for (const Row& row : rows_of(op)) {
    if (row.placement == placement) return &row;
  }
  return nullptr;
}

/// Calls `visit` for the type of every tensor of the node.
template <class Visit>
void for_each_type(const Graph& graph, const Node& node, const Visit& visit) {
  const auto look = [&](ValueId id) { visit(graph.values[id].type); };
  for (const NamedArgument& argument : node.args) for_each_value(argument.value, look);
  for (ValueId id : node.results) look(id);
}

/// What holds for every kernel, ours and the library's.
std::string common_obstacle(const Graph& graph, const Node& node, std::string_view device) {
  std::string obstacle;
  for_each_type(graph, node, [&](const TensorType& type) {
    if (type.device != device && (type.device != "cpu" || type.rank() > 0))
      obstacle = fmt::format("a tensor is on device {}", type.device);
    if (is_complex(type.dtype)) obstacle = "no kernels for complex numbers";
  });
  return obstacle;
}

}  // namespace

std::string_view library_call_of(std::string_view op) {
  const Row* row = find_row(op, Placement::library);
  return row != nullptr ? row->call : std::string_view();
}

bool has_lowering(std::string_view op) {
  const ops::OpFacts* known = ops::find_op(op);
  const bool loops = known != nullptr && known->is_prim() && rows_of(op).empty();
  return loops || find_row(op, Placement::compiled) != nullptr;
}

std::string misfit(const Graph& graph, const Node& node, ops::ShapeContext& shapes) {
  const auto types = ops::infer(node, graph, shapes);
  return types ? std::string() : types.error().message;
}

PlacedNode place(const Graph& graph, const Node& node, std::span<const std::int32_t> uses,
                 ops::ShapeContext& shapes, std::string_view device) {
  const ops::OpFacts* op = ops::find_op(node.op);
  const bool prim = op != nullptr && op->is_prim();
  std::span<const Row> rows = rows_of(node.op);
  if (!prim && rows.empty())
    return {Placement::fallback, "there is neither a lowering nor a library call"};
  std::string obstacle = common_obstacle(graph, node, device);
  if (!obstacle.empty()) return {Placement::fallback, std::move(obstacle)};
  if (prim && rows.empty()) return {Placement::compiled, {}};
  if (is_gpu(device)) rows = rows_of(node.op, kGpuRows);
  if (rows.empty()) return {Placement::fallback, "torch's own kernel runs it on a GPU"};
  if (obstacle = misfit(graph, node, shapes); !obstacle.empty())
    return {Placement::fallback, std::move(obstacle)};
  for (const Row& row : rows) {
    obstacle = row.predicate({graph, node, uses});
    if (!obstacle.empty()) continue;
    if (row.placement == Placement::compiled) return {Placement::compiled, {}};
    return {row.placement, fmt::format("{} of the library", row.call)};
  }
  return {Placement::fallback, std::move(obstacle)};
}

std::vector<std::int32_t> count_uses(const Graph& graph) {
  std::vector<std::int32_t> uses(graph.values.size());
  for (const Node& node : graph.nodes) {
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId id) { ++uses[id]; });
    }
  }
  for (ValueId id : graph.outputs) ++uses[id];
  return uses;
}

}  // namespace penstock::partition
