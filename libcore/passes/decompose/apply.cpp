// Ops of torch's as parts of others, and what holds for whatever is taken apart: who owns memory,
// and that indices choose.
#include <algorithm>
#include <unordered_map>

#include "ops/indices.h"
#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

/// By value made since `before`: the value whose memory it shares; kNoValue: memory of its own.
std::unordered_map<ValueId, ValueId> bases_since(Rewrite& rewrite, const Rewrite::Mark& before) {
  std::unordered_map<ValueId, ValueId> bases;
  const Graph& graph = rewrite.graph();
  for (std::size_t i = before.nodes; i < graph.nodes.size(); ++i) {
    const Node& made = graph.nodes[i];
    const ops::OpFacts* op = ops::find_op(made.op);
    const bool view = op != nullptr && op->has(ops::kView);
    const auto types = view ? ops::infer_results(made, graph, rewrite.shapes())
                            : Result<std::vector<ops::InferredResult>>();
    for (std::size_t k = 0; k < made.results.size(); ++k) {
      bases[made.results[k]] = view && types && k < types->size() ? (*types)[k].alias : kNoValue;
    }
  }
  return bases;
}

void emit_index_check(Rewrite& rewrite, const ops::IndexUse& use, std::string_view op) {
  rewrite.emit("prim.check_index",
               {arg("self", value_argument(use.index)), arg("dim", use.dim),
                arg("size", Decomposition::integer_argument(use.size)), arg("wraps", use.wraps),
                arg("ignored", use.ignored ? Argument(*use.ignored) : Argument()),
                arg("op", std::string(op))});
}

/// Whether loops keep a device busy with what the indices choose, and a kernel can look at them:
/// rows are read, or one is written. Where many are, they may be the same, and one thread would
/// write them all.
bool has_device_loops(Rewrite& rewrite, const ops::OpFacts& op, const ops::IndexUse& use) {
  const TensorType& index = rewrite.type(use.index);
  const bool number = index.dtype == DType::int64 || index.dtype == DType::int32;
  if (!number || !is_contiguous(index)) return false;
  switch (op.id) {
    case ops::OpId::embedding_default:
    case ops::OpId::index_select_default:
      return true;
    case ops::OpId::index_copy_default:
      return element_count(index.sizes) == SymExpr(1);
    default:
      return false;
  }
}

}  // namespace

/// Where derivatives are still to be made all do that choose by indices: elements are put in places
/// there, which torch does.
bool stays_whole_on_device(Rewrite& rewrite, const ops::OpFacts& op, const Node& node) {
  ops::Arguments arguments(node, rewrite.graph());
  if (op.id == ops::OpId::scaled_dot_product_attention_default)
    return rewrite.type(arguments.value("query")).device != "cpu";
  return std::ranges::any_of(index_uses(op, arguments), [&](const ops::IndexUse& use) {
    return rewrite.type(use.index).device != "cpu" &&
           (rewrite.before_derivatives() || !has_device_loops(rewrite, op, use));
  });
}

void give_own_memory(Rewrite& rewrite, const Rewrite::Mark& before,
                     const std::vector<ops::InferredResult>& inferred,
                     std::vector<ValueId>& results) {
  const std::unordered_map<ValueId, ValueId> bases = bases_since(rewrite, before);
  for (std::size_t i = 0; i < inferred.size() && i < results.size(); ++i) {
    if (inferred[i].alias != kNoValue) continue;
    ValueId root = results[i];
    for (auto base = bases.find(root); base != bases.end() && base->second != kNoValue;
         base = bases.find(root)) {
      root = base->second;
    }
    if (!bases.contains(root))
      results[i] = rewrite.emit_one("prim.clone", {arg("self", value_argument(results[i]))});
  }
}

void check_indices(Rewrite& rewrite, const ops::OpFacts& op, const Node& node) {
  ops::Arguments arguments(node, rewrite.graph());
  for (const ops::IndexUse& use : index_uses(op, arguments))
    emit_index_check(rewrite, use, op.name);
}

std::vector<ValueId> Decomposition::apply_all(std::string_view name,
                                              std::vector<NamedArgument> args) {
  if (failed()) return {};
  const ops::OpFacts* op = ops::find_op(name);
  Node part{std::string(name), std::move(args), {}, -1};
  const auto inferred = ops::infer_results(part, graph(), shapes());
  if (op == nullptr || !inferred) {
    fail("a part of the composite, " + part.op + ", does not fit");
    return {};
  }
  for (const ops::InferredResult& result : *inferred)
    part.results.push_back(add_value(rewrite_.graph(), "part", result.type));
  const bool torchs = stays_whole_on_device(rewrite_, *op, part);
  if (!torchs) check_indices(rewrite_, *op, part);
  const DecompositionRow& row = decomposition_row(op->id);
  const bool whole = rewrite_.keeps_whole(part) || torchs;
  if (row.function != nullptr && !whole) {
    const Rewrite::Mark before = rewrite_.mark();
    Decomposition inner(*op, part, rewrite_, row.detail);
    row.function(inner);
    std::vector<ValueId> results = inner.results();
    if (!inner.failed() && !inner.kept() && !rewrite_.failed() &&
        results.size() >= inferred->size()) {
      give_own_memory(rewrite_, before, *inferred, results);
      return results;
    }
    rewrite_.back_to(before);
  }
  return emit_all(name, std::move(part.args));
}

ValueId Decomposition::apply(std::string_view op, std::vector<NamedArgument> args) {
  const std::vector<ValueId> results = apply_all(op, std::move(args));
  return results.empty() ? kNoValue : check(results.front());
}

ValueId Decomposition::apply(std::string_view op, Argument a, Argument b) {
  return apply("aten." + std::string(op) + ".Tensor",
               {arg("self", std::move(a)), arg("other", std::move(b))});
}

void Decomposition::check_index(ValueId index, std::int64_t dim, const SymExpr& size, bool wraps) {
  if (failed()) return;
  if (rewrite_.type(index).device != "cpu") return fail("indices on a device are not checked");
  emit_index_check(rewrite_, {index, dim, size, wraps, std::nullopt}, op().name);
}

}  // namespace penstock::passes
