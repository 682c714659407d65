#include "partition/placement.h"

#include <fmt/format.h>

#include "ops/op.h"

namespace penstock::partition {

namespace {

/// What a predicate looks at. It returns why the node cannot run there; empty: it can.
struct Candidate {
  const Graph& graph;
  const Node& node;
  std::span<const std::int32_t> uses;

  const TensorType* tensor(std::string_view argument) const {
    const Argument* found = find_argument(node, argument);
    const auto* value = found != nullptr ? found->as<Argument::Value>() : nullptr;
    return value != nullptr ? &graph.values[value->id].type : nullptr;
  }
};

using Predicate = std::string (*)(const Candidate&);

std::string always(const Candidate&) { return {}; }

/// The library's kernels take float32 and bfloat16; sums of other types it would compute otherwise
/// than torch does, or not at all.
std::string float_operands(const Candidate& candidate) {
  DType dtype = candidate.graph.values[candidate.node.results.front()].type.dtype;
  if (dtype == DType::float32 || dtype == DType::bfloat16) return {};
  return fmt::format("the library has no kernel for {}", facts(dtype).name);
}

bool is_number(const Argument* argument, double number) {
  if (argument == nullptr) return true;
  if (const auto* integer = argument->as<std::int64_t>()) return static_cast<double>(*integer) == number;
  const auto* real = argument->as<double>();
  return real != nullptr && *real == number;
}

/// The addend goes in unscaled: a bias or a residual.
std::string plain_addend(const Candidate& candidate) {
  if (!is_number(find_argument(candidate.node, "beta"), 1)) return "beta is not 1";
  const Argument* alpha = find_argument(candidate.node, "alpha");
  if (alpha != nullptr && !alpha->as<std::int64_t>() && !alpha->as<double>()) {
    return "alpha is no plain number";
  }
  return float_operands(candidate);
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

std::string batched_pool(const Candidate& candidate) {
  const TensorType* input = candidate.tensor("self");
  if (input == nullptr || input->rank() != 4) return "the input has no batch dimension";
  return float_operands(candidate);
}

std::string no_indices(const Candidate& candidate) {
  for (std::size_t i = 1; i < candidate.node.results.size(); ++i) {
    if (candidate.uses[candidate.node.results[i]] > 0) return "the indices of the maxima are used";
  }
  return batched_pool(candidate);
}

/// Adaptive pooling is plain pooling where the output size divides the input size.
std::string even_windows(const Candidate& candidate) {
  const TensorType* input = candidate.tensor("self");
  const TensorType& output = candidate.graph.values[candidate.node.results.front()].type;
  if (std::string reason = batched_pool(candidate); !reason.empty()) return reason;
  for (std::size_t dim = 2; dim < 4; ++dim) {
    auto from = input->sizes[dim].constant();
    auto to = output.sizes[dim].constant();
    if (!from || !to || *to == 0 || *from % *to != 0) return "the windows differ in size";
  }
  return {};
}

struct Row {
  std::string_view op;
  Placement placement;
  std::string_view call;
  Predicate predicate;
};

constexpr Row kRows[] = {
#define PS_PLACEMENT(op, placement, call, predicate) {op, Placement::placement, call, predicate},
#include "partition/placement.def"
#undef PS_PLACEMENT
};

const Row* find_row(std::string_view op) {
  for (const Row& row : kRows) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

/// What holds for every kernel, ours and the library's.
std::string common_obstacle(const Graph& graph, const Node& node) {
  std::string obstacle;
  auto check = [&](ValueId id) {
    const TensorType& type = graph.values[id].type;
    if (type.device != "cpu") obstacle = fmt::format("a tensor is on device {}", type.device);
    if (is_complex(type.dtype)) obstacle = "no kernels for complex numbers";
  };
  for (const NamedArgument& argument : node.args) for_each_value(argument.value, check);
  for (ValueId id : node.results) check(id);
  return obstacle;
}

}  // namespace

std::string_view library_call_of(std::string_view op) {
  const Row* row = find_row(op);
  return row != nullptr && row->placement == Placement::library ? row->call : std::string_view();
}

bool has_lowering(std::string_view op) {
  const ops::OpFacts* known = ops::find_op(op);
  if (known != nullptr && known->is_prim()) return true;
  const Row* row = find_row(op);
  return row != nullptr && row->placement == Placement::compiled;
}

PlacedNode place(const Graph& graph, const Node& node, std::span<const std::int32_t> uses) {
  const ops::OpFacts* op = ops::find_op(node.op);
  const Row* row = op != nullptr && op->is_prim() ? nullptr : find_row(node.op);
  if (row == nullptr && (op == nullptr || !op->is_prim())) {
    return {Placement::fallback, "there is neither a lowering nor a library call"};
  }
  if (std::string obstacle = common_obstacle(graph, node); !obstacle.empty()) {
    return {Placement::fallback, std::move(obstacle)};
  }
  if (row == nullptr) return {Placement::compiled, {}};
  if (std::string obstacle = row->predicate({graph, node, uses}); !obstacle.empty()) {
    return {Placement::fallback, std::move(obstacle)};
  }
  if (row->placement == Placement::compiled) return {Placement::compiled, {}};
  return {Placement::library, fmt::format("{} of the library", row->call)};
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
