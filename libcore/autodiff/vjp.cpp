#include "autodiff/vjp.h"

#include <algorithm>

#include "ir/subgraphs.h"

namespace penstock::autodiff {

TensorType dense(const TensorType& like) {
  return ops::contiguous_type(like.dtype, like.sizes, like);
}

ValueId emit_full(passes::Rewrite& rewrite, const TensorType& like, double value) {
  std::vector<NamedArgument> args{passes::arg("size", passes::list_of(like.sizes)),
                                  passes::arg("value", value), passes::arg("dtype", like.dtype)};
  if (like.device != "cpu")
    args.push_back(
        passes::arg("device", Argument::Named{Argument::Named::Kind::device, like.device}));
  return rewrite.emit_one("prim.full", std::move(args));
}

ValueId Vjp::tangent(std::size_t result) {
  const ValueId given = tangents_[result];
  return given != kNoValue ? given : zeros_like(output(result));
}

bool Vjp::needs(std::string_view name) const {
  const Argument* argument = find(name);
  bool found = false;
  if (argument != nullptr)
    for_each_value(*argument, [&](ValueId id) { found = found || needs(id); });
  return found;
}

void Vjp::give(std::string_view name, ValueId gradient) {
  if (needs(name)) give(value(name), gradient);
}

void Vjp::give(ValueId argument, ValueId gradient) {
  if (failed() || !needs(argument)) return;
  gradient = sum_to(gradient, sizes(argument));
  given_.push_back({argument, convert(gradient, dtype_of(argument))});
}

void Vjp::give_part(std::string_view name, ValueId gradient, std::int64_t dim,
                    const SymExpr& start) {
  if (!failed() && needs(name)) given_.push_back({value(name), gradient, dim, start});
}

Term Vjp::term(std::string_view name) {
  const Argument* argument = find(name);
  if (argument == nullptr) return Term(Argument());
  const auto* value = argument->as<Argument::Value>();
  return value != nullptr ? Term(made_again(value->id)) : Term(*argument);
}

/// What the call that the node belongs to made of a tensor by converting and broadcasting it.
ValueId Vjp::made_again(ValueId id) {
  const Node* maker = id < makers_.size() ? makers_[id] : nullptr;
  const bool own = maker != nullptr && node().call >= 0 && maker->call == node().call &&
                   (maker->op == "prim.convert" || maker->op == "prim.broadcast");
  if (!own) return id;
  const ValueId from = operand_value(*maker, "self"), again = made_again(from);
  if (failed() || (again == from && maker->op == "prim.broadcast")) return id;
  std::vector<NamedArgument> args = maker->args;
  for (NamedArgument& argument : args)
    map_values(argument.value, [&](ValueId given) { return given == from ? again : given; });
  return emit(maker->op, std::move(args));
}

const Graph& Vjp::subgraph(std::string_view argument) const {
  const Argument* name = find(argument);
  return *find_subgraph(joint_.graph().subgraphs, *name->as<std::string>());
}

std::string Vjp::add_subgraph(Graph made) {
  Graph& graph = joint_.graph();
  while (find_subgraph(graph.subgraphs, made.interface.name) != nullptr) made.interface.name += '_';
  std::string name = made.interface.name;
  adopt_conditions(made.interface, graph.interface);
  graph.subgraphs.push_back(std::move(made));
  inherit_sizes(graph);
  return name;
}

std::vector<ValueId> Vjp::emit_as(std::string_view op, std::vector<NamedArgument> args,
                                  std::vector<TensorType> types) {
  if (failed()) return {};
  return joint_.emit_as(op, std::move(args), std::move(types));
}

std::vector<ValueId> Vjp::emit_all(const Graph& graph, const std::vector<ValueId>& inputs) {
  std::vector<ValueId> made(graph.values.size(), kNoValue), outputs;
  std::ranges::copy(inputs, made.begin());
  for (const Node& node : graph.nodes) {
    std::vector<NamedArgument> args = node.args;
    for (NamedArgument& argument : args) {
      map_values(argument.value, [&](ValueId id) { return made[id]; });
      const auto* name = argument.value.as<std::string>();
      const Graph* run = name == nullptr || find_control_op(node.op) == nullptr
                             ? nullptr
                             : find_subgraph(graph.subgraphs, *name);
      if (run != nullptr) argument.value = add_subgraph(*run);
    }
    std::vector<TensorType> types;
    for (ValueId result : node.results) types.push_back(graph.values[result].type);
    const std::vector<ValueId> results = emit_as(node.op, std::move(args), std::move(types));
    if (failed()) return {};
    for (std::size_t i = 0; i < results.size(); ++i) made[node.results[i]] = results[i];
  }
  for (ValueId output : graph.outputs) outputs.push_back(made[output]);
  return outputs;
}

std::vector<ValueId> Vjp::emit_control(std::vector<NamedArgument> args,
                                       std::vector<TensorType> types) {
  return joint_.emit_as(node().op, std::move(args), std::move(types));
}

ValueId Vjp::as_tensor(std::string_view name) {
  const Argument argument = term(name).argument;
  if (const auto* value = argument.as<Argument::Value>()) return value->id;
  return full(sizes(output()), argument, dtype_of(output()));
}

ValueId Vjp::zeros(const std::vector<SymExpr>& sizes, DType dtype) {
  return full(sizes, is_floating(dtype) ? Argument(0.0) : Argument(std::int64_t{0}), dtype);
}

ValueId Vjp::put(std::string_view prim, ValueId self, ValueId index, ValueId src,
                 std::int64_t dim) {
  if (device() != "cpu") {
    fail("elements are put in places on a device");
    return self;
  }
  return emit(prim, {passes::arg("self", passes::value_argument(self)),
                     passes::arg("index", passes::value_argument(index)),
                     passes::arg("src", passes::value_argument(src)), passes::arg("dim", dim)});
}

ValueId Vjp::add_at(const std::vector<SymExpr>& sizes, ValueId index, ValueId terms,
                    std::int64_t dim) {
  terms = wide(terms);
  if (failed()) return terms;
  return put("prim.scatter_add", zeros(sizes, dtype_of(terms)), index, terms, dim);
}

ValueId Vjp::wide(ValueId x) {
  return failed() ? x : convert(x, ops::compute_dtype(dtype_of(x)));
}

ValueId Vjp::spread(ValueId x, const std::vector<SymExpr>& sizes,
                    const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> own;
  for (std::int64_t dim = 0; dim < static_cast<std::int64_t>(sizes.size()); ++dim) {
    if (std::ranges::find(dims, dim) == dims.end()) own.push_back(dim);
  }
  return broadcast(x, sizes, own);
}

ValueId Vjp::spread_back(ValueId x, const std::vector<SymExpr>& sizes,
                         const std::vector<std::int64_t>& dims, bool keeps) {
  return keeps ? broadcast(x, sizes) : spread(x, sizes, dims);
}

/// The inverse of broadcasting `sizes` to those of x: leading dims go, stretched ones become one.
ValueId Vjp::sum_to(ValueId x, const std::vector<SymExpr>& sizes) {
  if (failed() || this->sizes(x) == sizes) return x;
  const std::vector<SymExpr> from = this->sizes(x);
  if (from.size() < sizes.size()) {
    fail("has a gradient with fewer dims than the argument");
    return x;
  }
  const std::size_t leading = from.size() - sizes.size();
  std::vector<std::int64_t> dims;
  for (std::size_t dim = 0; dim < from.size(); ++dim) {
    const bool stretched = dim >= leading && sizes[dim - leading] != from[dim];
    if (dim < leading || stretched) dims.push_back(static_cast<std::int64_t>(dim));
  }
  // Terms of 16 bits are added up in 32, and rounded once.
  return reshape(reduce("sum", wide(x), dims, false), sizes);
}

}  // namespace penstock::autodiff
