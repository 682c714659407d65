#include "passes/rewrite.h"

#include <algorithm>
#include <utility>

#include "ir/call_location.h"
#include "ir/device.h"
#include "ops/op.h"
#include "passes/complex_moves.h"

namespace penstock::passes {

NamedArgument arg(std::string_view name, Argument value) {
  return {std::string(name), std::move(value)};
}

namespace {

template <class Item>
Argument make_list(std::vector<Item> items) {
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  for (Item& item : items) list.items.emplace_back(std::move(item));
  return list;
}

}  // namespace

Argument list_of(const std::vector<SymExpr>& integers) {
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  for (const SymExpr& integer : integers) {
    if (auto plain = integer.constant())
      list.items.emplace_back(*plain);
    else
      list.items.emplace_back(integer);
  }
  return list;
}

Argument list_of(const std::vector<std::int64_t>& integers) {
  return make_list(integers);
}

Argument list_of(const std::vector<ValueId>& values) {
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  for (ValueId value : values) list.items.emplace_back(Argument::Value{value});
  return list;
}

Rewrite::Rewrite(Graph graph)
    : graph_(std::move(graph)),
      old_nodes_(std::exchange(graph_.nodes, {})),
      shapes_(graph_.interface) {
  graph_.nodes.reserve(old_nodes_.size());
}

ValueId Rewrite::current(ValueId id) const {
  while (id < stands_for_.size() && stands_for_[id] != id) id = stands_for_[id];
  return id;
}

Node Rewrite::current(const Node& node) const {
  Node mapped = node;
  for (NamedArgument& argument : mapped.args) {
    map_values(argument.value, [&](ValueId id) { return current(id); });
  }
  return mapped;
}

void Rewrite::replace(ValueId value, ValueId replacement) {
  if (value == replacement) return;
  for (auto id = static_cast<ValueId>(stands_for_.size()); id <= value; ++id)
    stands_for_.push_back(id);
  stands_for_[value] = current(replacement);
}

void Rewrite::keep(Node node) {
  graph_.nodes.push_back(std::move(node));
}

void Rewrite::keep_inferred(Node node) {
  if (failed()) return;
  if (const ops::OpFacts* op = ops::find_op(node.op)) {
    // A rule that fails here (a result whose size depends on data) leaves the types that were
    // recorded.
    if (auto types = ops::infer(node, graph_, shapes_)) {
      for (std::size_t i = 0; i < node.results.size() && i < types->size(); ++i) {
        TensorType& type = graph_.values[node.results[i]].type;
        // What torch gave under another default dtype is not what the rule says.
        if (!op->is_prim()) (*types)[i].dtype = type.dtype;
        // A device without a number was the one that was current then.
        if (is_gpu((*types)[i].device) && gpu_index((*types)[i].device) < 0)
          (*types)[i].device = type.device;
        type = std::move((*types)[i]);
      }
    }
  }
  keep(std::move(node));
}

const TensorType Rewrite::kNoTensor{};

std::vector<ValueId> Rewrite::emit(std::string_view op, std::vector<NamedArgument> args) {
  if (failed()) return {};
  if (moves_complex(op, args, graph_)) return emit_complex(op, std::move(args));
  const Node node{std::string(op), args, {}, call_};
  auto types = ops::infer(node, graph_, shapes_);
  if (!types) {
    fail(types.error());
    return {};
  }
  return emit_as(op, std::move(args), std::move(*types));
}

std::vector<ValueId> Rewrite::emit_complex(std::string_view prim, std::vector<NamedArgument> args) {
  std::vector<ValueId> results;
  for (ComplexMove& move : complex_moves(prim, std::move(args), graph_)) {
    if (!results.empty()) move.args.front().value = Argument::Value{results.front()};
    results = emit(move.op, std::move(move.args));
  }
  return results;
}

std::vector<ValueId> Rewrite::emit_as(std::string_view op, std::vector<NamedArgument> args,
                                      std::vector<TensorType> types) {
  if (failed()) return {};
  Node node{std::string(op), std::move(args), {}, call_};
  // "aten.mm.default" names its result mm, "prim.add" add.
  std::string_view stem = op.substr(op.find('.') + 1);
  stem = stem.substr(0, stem.find('.'));
  for (TensorType& type : types) node.results.push_back(add_value(graph_, stem, std::move(type)));
  std::vector<ValueId> results = node.results;
  graph_.nodes.push_back(std::move(node));
  return results;
}

ValueId Rewrite::emit_one(std::string_view op, std::vector<NamedArgument> args) {
  std::vector<ValueId> results = emit(op, std::move(args));
  return results.empty() ? 0 : results.front();
}

void Rewrite::back_to(const Mark& mark) {
  graph_.nodes.resize(std::min(mark.nodes, graph_.nodes.size()));
  if (!mark.failed) error_.reset();
}

void Rewrite::fail(Diagnostic error) {
  if (error_) return;
  if (!error.location) error.location = location_of(graph_.calls, call_);
  error_ = std::move(error);
}

Result<Graph> Rewrite::finish() {
  if (error_) return tl::unexpected(*error_);
  auto stand_in = [&](ValueId id) { return current(id); };
  for (ValueId& output : graph_.outputs) output = current(output);
  for (Call& call : graph_.calls) {
    for (Argument& argument : call.args) map_values(argument, stand_in);
    for (NamedArgument& argument : call.kwargs) map_values(argument.value, stand_in);
    map_values(call.result, stand_in);
  }
  return std::move(graph_);
}

std::vector<ValueId> memory_of_results(Rewrite& rewrite, const Node& node) {
  const ops::OpFacts* op = ops::find_op(node.op);
  std::vector<ValueId> bases(node.results.size(), kNoValue);
  const bool prim = op != nullptr && op->is_prim();
  const bool ruled = op != nullptr && (op->has(ops::kView) || op->has(ops::kMutates));
  if (prim && !op->has(ops::kView)) return bases;
  if (ruled) {
    auto results = ops::infer_results(node, rewrite.graph(), rewrite.shapes());
    if (!results && prim) rewrite.fail(results.error());
    for (std::size_t i = 0; results && i < bases.size() && i < results->size(); ++i)
      bases[i] = (*results)[i].alias;
    if (results) return bases;
  }
  for (std::size_t i = 0; !prim && i < bases.size(); ++i)
    bases[i] = sharing_argument(rewrite, node, node.results[i]);
  return bases;
}

ValueId sharing_argument(const Rewrite& rewrite, const Node& node, ValueId result) {
  const std::int32_t storage = rewrite.type(result).storage;
  ValueId found = kNoValue;
  for (const NamedArgument& argument : node.args) {
    for_each_value(argument.value, [&](ValueId id) {
      if (found == kNoValue && storage >= 0 && rewrite.type(id).storage == storage) found = id;
    });
  }
  return found;
}

}  // namespace penstock::passes
