#include "ops/evaluate.h"

#include <algorithm>
#include <unordered_map>

#include "ir/index_range.h"
#include "ir/interface_verify.h"
#include "ops/draws.h"
#include "ops/indices.h"
#include "ops/infer.h"
#include "ops/reference/reference.h"

namespace penstock::ops {

namespace {

using Reference = void (*)(Evaluation&);

// What a row of prims.def computes, by its group.
#define PS_PRIM_unary(name) reference::unary<scalar::name##_>
#define PS_PRIM_binary(name) reference::binary<scalar::name##_>
#define PS_PRIM_ternary(name) reference::prim_##name
#define PS_PRIM_cast(name) reference::clone
#define PS_PRIM_view(name) reference_of_view(OpId::prim_##name)
#define PS_PRIM_join(name) reference_of_join(OpId::prim_##name)
#define PS_PRIM_reduce(name) reference_of_reduction(OpId::prim_##name)
#define PS_PRIM_scan(name) reference::name
#define PS_PRIM_index(name) reference_of_index(OpId::prim_##name)
#define PS_PRIM_create(name) reference::prim_##name
#define PS_PRIM_effect(name) reference::prim_##name
#define PS_PRIM_check(name) reference::prim_##name
#define PS_PRIM_draw(name) reference::prim_##name
#define PS_PRIM_control(name) reference::prim_##name
#define PS_PRIM_decide(name) reference::prim_##name

constexpr Reference reference_of_view(OpId id) {
  return id == OpId::prim_flip ? reference::flip : reference::view;
}

constexpr Reference reference_of_join(OpId id) {
  if (id == OpId::prim_cat) return reference::cat;
  return id == OpId::prim_pad ? reference::prim_pad : reference::prim_scatter_slice;
}

constexpr Reference reference_of_reduction(OpId id) {
  switch (id) {
    case OpId::prim_sum:
      return reference::sum;
    case OpId::prim_prod:
      return reference::prod;
    case OpId::prim_amax:
      return reference::amax;
    case OpId::prim_amin:
      return reference::amin;
    case OpId::prim_any:
      return reference::any;
    case OpId::prim_all:
      return reference::all;
    case OpId::prim_argmax:
      return reference::argmax;
    case OpId::prim_argmin:
      return reference::argmin;
    default:
      return reference::prim_welford;
  }
}

constexpr Reference reference_of_index(OpId id) {
  if (id == OpId::prim_gather) return reference::gather;
  return id == OpId::prim_index_select ? reference::index_select : reference::scatter;
}

using namespace reference;  // column `reference` of ops.def names its functions without a qualifier
constexpr Reference kReferences[] = {
#define PS_PRIM(name, group, operands, attributes, result) PS_PRIM_##group(name),
#include "ops/prims.def"
#undef PS_PRIM
#define PS_OP(id, name, family, flags, rule, reference) reference,
#include "ops/ops.def"
#undef PS_OP
};
static_assert(std::size(kReferences) == static_cast<std::size_t>(OpId::count));

/// The node with constants for symbols and numbers, over a graph that holds its tensors alone.
struct Concrete {
  Node node;
  Graph graph;
  std::vector<HostTensor> tensors;  ///< by value of `graph`
};

class Concretization {
 public:
  Concretization(const Graph& graph, const TensorOf& tensor_of, const SymbolValue& symbol_value)
      : graph_(graph), tensor_of_(tensor_of), symbol_value_(symbol_value) {}

  Concrete run(const Node& node) {
    concrete_.node = node;
    is_prim_ = node.op.starts_with("prim.");
    for (NamedArgument& argument : concrete_.node.args) fix(argument.value);
    return std::move(concrete_);
  }

 private:
  void fix(Argument& argument) {
    if (auto* list = std::get_if<Argument::Sequence>(&argument.datum)) {
      for (Argument& item : list->items) fix(item);
    } else if (const auto* expression = argument.as<SymExpr>()) {
      if (auto number = expression->evaluate(symbol_value_)) argument = Argument(*number);
    } else if (const auto* value = argument.as<Argument::Value>()) {
      argument = is_number(value->id) ? number_of(value->id) : tensor(value->id);
    }
  }

  bool is_number(ValueId id) const {
    if (graph_.values[id].is_scalar) return true;
    if (id >= graph_.interface.inputs.size() || is_prim_) return false;
    InputKind kind = graph_.interface.inputs[id].kind;
    return kind == InputKind::size || kind == InputKind::scalar;
  }

  Argument number_of(ValueId id) const {
    const Value& value = graph_.values[id];
    if (value.is_scalar) {
      if (auto number = value.expression.evaluate(symbol_value_)) return *number;
    }
    const HostTensor& tensor = tensor_of_(id);
    if (tensor.memory == nullptr || !tensor.sizes.empty()) return {};
    if (is_floating(tensor.dtype)) return tensor.real_at(tensor.offset);
    return tensor.integer_at(tensor.offset);
  }

  /// None stands for a value that nothing has made: no op takes it.
  Argument tensor(ValueId id) {
    if (tensor_of_(id).memory == nullptr) return {};
    return Argument::Value{local(id)};
  }

  ValueId local(ValueId id) {
    auto [found, is_new] = ids_.try_emplace(id, static_cast<ValueId>(concrete_.tensors.size()));
    if (is_new) {
      concrete_.tensors.push_back(tensor_of_(id));
      Value value;
      value.type = concrete_.tensors.back().type();
      concrete_.graph.values.push_back(std::move(value));
    }
    return found->second;
  }

  const Graph& graph_;
  const TensorOf& tensor_of_;
  const SymbolValue& symbol_value_;
  bool is_prim_ = false;  ///< to prims a number input is a tensor without dims
  std::unordered_map<ValueId, ValueId> ids_;
  Concrete concrete_;
};

Result<std::vector<HostTensor>> compute(const OpFacts& op, Concrete& concrete);

/// self.op_(…): the functional namesake's result is written into self.
Result<std::vector<HostTensor>> compute_in_place(const OpFacts& functional, Concrete& concrete) {
  Concrete pure = concrete;
  pure.node.op = functional.name;
  auto results = compute(functional, pure);
  if (!results) return results;
  const Argument* argument = find_argument(concrete.node, "self");
  const auto* self = argument == nullptr ? nullptr : argument->as<Argument::Value>();
  if (self == nullptr || results->empty())
    return failure(Code::PS0603, concrete.node.op + ": writes what is no tensor");
  HostTensor target = concrete.tensors[self->id];
  const HostTensor& content = results->front();
  if (content.sizes != target.sizes) {
    return failure(Code::PS0603,
                   concrete.node.op + ": the result does not have the argument's sizes");
  }
  if (is_floating(content.dtype))
    target.assign(content.reals());
  else
    target.assign(content.integers());
  return std::vector<HostTensor>{target};
}

/// A tensor of constant sizes and strides, without memory.
HostTensor shape_of(const TensorType& type) {
  HostTensor tensor;
  tensor.dtype = type.dtype;
  for (const SymExpr& size : type.sizes) tensor.sizes.push_back(size.constant().value_or(0));
  for (const SymExpr& stride : type.strides)
    tensor.strides.push_back(stride.constant().value_or(0));
  return tensor;
}

/// Whether all elements of a tensor lie in its memory.
bool lies_inside(const HostTensor& tensor) {
  __int128 first = tensor.offset, last = tensor.offset;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    if (tensor.sizes[i] == 0) return true;
    const __int128 reach = static_cast<__int128>(tensor.sizes[i] - 1) * tensor.strides[i];
    (reach < 0 ? first : last) += reach;
  }
  const auto length = static_cast<__int128>(tensor.memory->size()) / facts(tensor.dtype).size;
  return first >= 0 && last < length;
}

/// What is wrong with a type that a rule gave; empty: nothing. Only edited graphs ask for such
/// tensors.
std::string unusable(const InferredResult& result, const std::vector<HostTensor>& tensors) {
  const SizeValue unknown = [](const SymExpr&) { return std::optional<std::int64_t>(); };
  if (auto sound = verify_type(result.type, {}, unknown, {}); !sound) return sound.error().message;
  for (const auto* list : {&result.type.sizes, &result.type.strides}) {
    for (const SymExpr& number : *list) {
      if (!number.is_constant()) return number.to_string() + " is not determined";
    }
  }
  if (result.alias == kNoValue) return {};
  HostTensor tensor = shape_of(result.type);
  tensor.offset = result.type.storage_offset.constant().value_or(0);
  tensor.memory = tensors[result.alias].memory;
  return lies_inside(tensor) ? std::string()
                             : "the result reaches out of the memory that it shares";
}

/// What ATen looks at before it computes.
Result<void> check_indices(Evaluation& evaluation) {
  for (const IndexUse& use : index_uses(evaluation.op(), evaluation)) {
    const IndexRange range{use.dim, use.size.constant().value_or(0), use.wraps, use.ignored};
    for (const std::int64_t element : evaluation.host(use.index).integers()) {
      if (range.holds(element)) continue;
      const std::string op = evaluation.text("op", std::string(evaluation.op().name));
      return failure(Code::PS0808, beyond_message(op, element, range));
    }
  }
  return {};
}

Result<std::vector<HostTensor>> compute(const OpFacts& op, Concrete& concrete) {
  if (const OpFacts* functional = functional_op(op)) return compute_in_place(*functional, concrete);
  RangeShapes shapes(concrete.graph.interface);
  auto inferred = infer_results(concrete.node, concrete.graph, shapes);
  if (!inferred) return tl::unexpected(inferred.error());
  const auto has_complex = [](const auto& each) { return is_complex(each.dtype); };
  const auto gives_complex = [](const InferredResult& result) {
    return is_complex(result.type.dtype);
  };
  if (std::ranges::any_of(concrete.tensors, has_complex) ||
      std::ranges::any_of(*inferred, gives_complex)) {
    return failure(Code::PS0602, concrete.node.op + " has no reference for complex numbers");
  }
  if (draws(concrete.node))
    return failure(Code::PS0602, concrete.node.op + " draws random numbers: it has no reference");
  Evaluation evaluation(op, concrete.node, concrete.graph, concrete.tensors);
  for (const InferredResult& result : *inferred) {
    if (std::string wrong = unusable(result, concrete.tensors); !wrong.empty()) {
      return failure(Code::PS0603, concrete.node.op + ": " + wrong);
    }
    HostTensor tensor =
        result.alias == kNoValue ? HostTensor::allocate(result.type) : shape_of(result.type);
    if (result.alias != kNoValue) {
      tensor.memory = concrete.tensors[result.alias].memory;
      tensor.offset = result.type.storage_offset.constant().value_or(0);
    }
    evaluation.results().push_back(std::move(tensor));
  }
  if (auto inside = check_indices(evaluation); !inside) return tl::unexpected(inside.error());
  bool shares = !inferred->empty() && inferred->front().alias != kNoValue;
  bool only_view = shares && !op.has(kMutates);
  if (!only_view) kReferences[static_cast<std::size_t>(op.id)](evaluation);
  if (evaluation.failed()) return tl::unexpected(*evaluation.error());
  return std::move(evaluation.results());
}

}  // namespace

Result<std::vector<HostTensor>> evaluate(const Node& node, const Graph& graph,
                                         const TensorOf& tensor_of,
                                         const SymbolValue& symbol_value) {
  const OpFacts* op = find_op(node.op);
  if (!op) return failure(Code::PS0602, node.op + " has no reference");
  Concrete concrete = Concretization(graph, tensor_of, symbol_value).run(node);
  return compute(*op, concrete);
}

}  // namespace penstock::ops
