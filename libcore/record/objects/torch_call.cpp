// Calls of torch: builtin functions and tensor methods become calls of the graph and the ATen nodes
// that they resolve to. torch runs them for real; what they gave is read from the real tensors.

#include <algorithm>
#include <cstring>
#include <span>

#include "autodiff/vjp.h"
#include "ir/strides.h"
#include "ops/draws.h"
#include "ops/op.h"
#include "ops/promotion.h"
#include "python/bytecode.h"
#include "python/literal.h"
#include "python/numpy_scalar.h"
#include "record/objects/decided_size.h"
#include "record/objects/differentiated.h"
#include "record/objects/number.h"
#include "record/objects/torch_call.h"
#include "record/objects/torch_casts.h"
#include "record/objects/torch_out.h"
#include "record/objects/torch_tensor.h"
#include "record/polyfills.h"
#include "record/results.h"
#include "record/walk.h"
#include "torch/methods.h"
#include "torch/ops.h"
#include "torch/state.h"
#include "torch/tensor_facts.h"

namespace penstock::record {

using python::literal_of;
using python::object_of;
using python::PyRef;
using torch::type_of_tensor;

using Keywords = std::vector<std::pair<PyObject*, Operand>>;

bool place_keywords(const Keywords& keywords, std::vector<Operand>& positional) {
  for (const auto& [name, operand] : keywords) {
    const std::string text = python::text_of(name);
    if (text == "input" || text == "self") {
      positional.insert(positional.begin(), operand);
    } else if (text == "dim" || text == "other" || text == "memory_format") {
      positional.push_back(operand);
    } else {
      return false;
    }
  }
  return true;
}

bool tell_fact(Walk& walk, FrameShadow& f, std::string_view fact,
               const std::vector<Operand>& positional, int pops) {
  std::optional<bool> done;
  if (!positional.empty() && !tell_size(walk, f, fact, positional, pops, done)) return false;
  if (done) return *done;
  for (Operand operand : positional) {
    if (walk.is_tensor(operand.object) && fact == "storage_offset") {
      const auto tensor = argument(walk, operand);
      if (!tensor) return false;
      if (const auto* value = tensor->as<Argument::Value>()) walk.sizes.guard_offset(value->id);
    } else if (walk.is_tensor(operand.object)) {
      if (!consume_tensor_type(walk, operand)) return false;
    } else if (!walk.facts.consume(operand)) {
      return false;
    }
  }
  return gives_constant(f, pops);
}

namespace {

/// True where an op copies elements from, or writes a copy at, places that it counts from the start
/// of a storage in which its argument starts later: what runs a graph gets the argument's own
/// memory alone.
bool counts_from_storage(std::string_view op, const std::vector<NamedArgument>& arguments,
                         const Graph& graph) {
  if (!op.starts_with("aten.as_strided_scatter") && !op.starts_with("aten.as_strided_copy"))
    return false;
  const auto* self = arguments.empty() ? nullptr : arguments.front().value.as<Argument::Value>();
  const auto told = std::ranges::find(arguments, "storage_offset", &NamedArgument::name);
  const bool counts = told != arguments.end() && !told->value.is_none();
  return self != nullptr && counts && graph.values[self->id].type.storage_offset != SymExpr(0);
}

}  // namespace

bool tensor_method(Walk& walk, FrameShadow& f, const std::string& name,
                   std::vector<Operand>& positional, Keywords& keywords, int pops) {
  if (name == "__getitem__" && positional.size() == 2 && keywords.empty())
    return tensor_subscript(walk, f, positional[0], positional[1], pops);
  if (name == "__setitem__" && positional.size() == 3 && keywords.empty())
    return tensor_store_subscript(walk, f, positional[0], positional[1], positional[2], pops);
  if (const auto done = tensor_conversion(walk, f, name, positional, keywords, pops)) return *done;
  TorchTarget target{"call_method", name, name, std::string(torch::op_of_method(name)), true};
  return torch_call(walk, f, target, positional, keywords, pops);
}

namespace {

/// What torch takes a value for: a member of an IntEnum is its number, as a scalar of NumPy is.
std::optional<Argument> number_or_literal(PyObject* object) {
  auto literal = literal_of(object);
  if (!literal) literal = python::number_of_numpy(object);
  if (literal || !PyLong_Check(object)) return literal;
  int overflow = 0;
  const std::int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0 ? std::optional(Argument(number)) : std::nullopt;
}

}  // namespace

std::optional<Argument> argument(Walk& walk, Operand operand) {
  PyObject* object = operand.object;
  const Shadow shadow = operand.shadow;
  if (walk.is_tensor(object)) {
    if (shadow.is(Shadow::Kind::node)) return Argument(Argument::Value{shadow.index});
    if (!walk.recorder.bridge().is_plain_tensor(object)) {
      walk.verdict.broke(Code::PS0308,
                         std::string("a tensor subclass, ") + Py_TYPE(object)->tp_name);
      return std::nullopt;
    }
    const SourceId source = shadow.source();
    if (source == kNoSource) {
      walk.verdict.broke(Code::PS0302, "a tensor whose origin is not known is used here");
      return std::nullopt;
    }
    auto value = walk.recorder.input(object, source, [&walk] { return walk.here(); });
    if (!value) {
      walk.verdict.broke(
          Code::PS0308,
          "a tensor whose elements are not its memory (sparse, quantized, a conjugate view)");
      return std::nullopt;
    }
    return Argument(Argument::Value{*value});
  }
  const bool list = PyList_CheckExact(object), tuple = PyTuple_Check(object);
  if ((list || tuple) && !shadow.is(Shadow::Kind::constant)) {
    Argument::Sequence result{
        list ? Argument::Sequence::Kind::list : Argument::Sequence::Kind::tuple, {}};
    const std::vector<Shadow> all = walk.objects.items(operand);
    for (std::size_t i = 0; i < all.size(); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(object, static_cast<Py_ssize_t>(i));
      auto converted = size_or_argument(walk, {all[i], item});
      if (!converted) return std::nullopt;
      result.items.push_back(std::move(*converted));
    }
    return Argument(std::move(result));
  }
  if (PySlice_Check(object) && shadow.is(Shadow::Kind::fresh)) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    const std::vector<Shadow> all = walk.objects.object(shadow.index).items;
    PyObject* parts[] = {slice->start, slice->stop, slice->step};
    Argument::Sequence result{Argument::Sequence::Kind::slice, {}};
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto converted = size_or_argument(walk, {all[i], parts[i]});
      if (!converted) return std::nullopt;
      result.items.push_back(std::move(*converted));
    }
    return Argument(std::move(result));
  }
  if (!walk.facts.consume(operand)) return std::nullopt;
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return Argument(DType::float32);
  if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return Argument(DType::int64);
  if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return Argument(DType::bool_);
  const auto literal = number_or_literal(object);
  if (!literal) {
    walk.verdict.broke(Code::PS0309, std::string("an argument of type ") +
                                         Py_TYPE(object)->tp_name + " is given to torch");
  }
  return literal;
}

/// An item of a sequence: a symbolic size stays one.
std::optional<Argument> size_or_argument(Walk& walk, Operand item) {
  auto size = symbolic_index(walk, item);
  return size ? size : argument(walk, item);
}

CallStack Walk::stack() const {
  // What goes on in a frame that calls others has the same place in it for all of them.
  CallStack caller;
  std::vector<FrameShadow*> frames;
  for (FrameShadow* f = innermost_; f != nullptr; f = f->caller) {
    if (!is_polyfill(f->frame->globals())) frames.push_back(f);
  }
  for (std::size_t i = frames.size(); i-- > 0;) {
    FrameShadow& f = *frames[i];
    const bool stays =
        f.place != nullptr && f.place_offset == f.instruction->offset && f.place->caller == caller;
    if (!stays) {
      StackFrame frame{f.frame->bytecode().qualified_name(),
                       f.frame->bytecode().location(*f.instruction), caller};
      f.place = std::make_shared<const StackFrame>(std::move(frame));
      f.place_offset = f.instruction->offset;
    }
    caller = f.place;
  }
  return caller;
}

/// Makes a number that is followed an input where the op takes it so, else a constant. `argument`
/// is what stands for it in the call.
bool pass_number(Walk& walk, Operand number, std::size_t position, bool method, Argument& argument,
                 torch::ResolvedCall& call) {
  if (!walk.sizes.is_followed(number)) return true;
  const auto given = std::find(call.given.begin(), call.given.end(), &argument);
  const bool alone = given != call.given.end();
  // "view(2, n)": the numbers are one list.
  const std::size_t first = method ? 1 : 0;
  NamedArgument* bound_to = alone ? &call.args[static_cast<std::size_t>(given - call.given.begin())]
                            : call.args.size() > first ? &call.args[first]
                                                       : nullptr;
  if (bound_to != nullptr && walk.sizes.takes_size(call, bound_to->name)) {
    auto* list = std::get_if<Argument::Sequence>(&bound_to->value.datum);
    std::span<Argument> places(&bound_to->value, 1);
    if (list != nullptr) places = list->items;  // "roll(n)": one number is what all dims have
    if (list != nullptr && !alone) {
      const std::size_t skipped = std::min(position - first, places.size());
      places = places.subspan(skipped, std::min<std::size_t>(1, places.size() - skipped));
    }
    if (const auto size = places.empty() ? std::nullopt : walk.sizes.expression_of(number, true)) {
      argument = *size;
      std::ranges::fill(places, Argument(*size));
      return true;
    }
  }
  std::optional<DType> dtype;  // that of the first tensor, unless one is asked for
  for (const NamedArgument& one : call.args) {
    if (const DType* asked = one.value.as<DType>()) {
      dtype = *asked;
      break;
    }
    const auto* value = one.value.as<Argument::Value>();
    const bool tensor = value != nullptr && one.name != "out" && one.name != "condition" &&
                        !walk.recorder.is_number(value->id);
    if (tensor && !dtype) dtype = walk.recorder.value(value->id).type.dtype;
  }
  if (given != call.given.end()) {
    NamedArgument& bound = call.args[static_cast<std::size_t>(given - call.given.begin())];
    if (auto value = walk.sizes.number_input(number, number_taken(call, bound.name), dtype)) {
      if (bound.value.as<Argument::Sequence>() == nullptr) {
        argument = bound.value = std::move(*value);
        return true;
      }
    }
  }
  return walk.facts.consume(number);
}

namespace {

/// Whether several elements of the type may lie in one place: what is written there last hangs on
/// the order in which torch goes over them.
bool overlaps_itself(Walk& walk, const TensorType& type) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const auto size = walk.recorder.sizes().value(type.sizes[i]),
               stride = walk.recorder.sizes().value(type.strides[i]);
    if (size && stride) dims.emplace_back(*size, *stride);
  }
  return may_overlap(std::move(dims));
}

}  // namespace

bool may_write(Walk& walk, const std::string& who, ValueId id, const TensorType& shown) {
  if (walk.context.for_backend()) return true;
  const OpenSubgraphs& open = walk.recorder.subgraphs;
  if (open.any() && !open.is_made_inside(walk.recorder, id)) {
    return walk.verdict.broke(Code::PS0310,
                              who + " in " + open.what() + " writes what was there before");
  }
  if (overlaps_itself(walk, shown)) {
    return walk.verdict.broke(Code::PS0310,
                              who + " writes a tensor whose elements share places in memory");
  }
  if (walk.recorder.has_other_elements(id)) {
    return walk.verdict.broke(Code::PS0310,
                              who + " writes memory that is seen as elements of another dtype too");
  }
  return true;
}

namespace {

struct ConvertedArguments {
  std::vector<Argument> args;
  std::vector<NamedArgument> named;
};

std::optional<ConvertedArguments> converted_arguments(
    Walk& walk, std::span<const Operand> positional,
    std::span<const std::pair<PyObject*, Operand>> keywords) {
  // A number that is followed binds as the literal that it is now.
  auto convert = [&](Operand operand) {
    return walk.sizes.is_followed(operand) ? literal_of(operand.object) : argument(walk, operand);
  };
  ConvertedArguments all;
  for (Operand operand : positional) {
    auto converted = convert(operand);
    if (!converted) return std::nullopt;
    all.args.push_back(std::move(*converted));
  }
  for (const auto& [name, operand] : keywords) {
    auto converted = convert(operand);
    if (!converted) return std::nullopt;
    all.named.push_back({python::text_of(name), std::move(*converted)});
  }
  return all;
}

/// True where an op makes a row for each class and is to find their number among the elements.
bool finds_classes(std::string_view op, const std::vector<NamedArgument>& args) {
  if (op != "aten.one_hot.default") return false;
  const auto given = std::ranges::find(args, "num_classes", &NamedArgument::name);
  if (given == args.end()) return true;
  const auto* count = given->value.as<std::int64_t>();
  return count != nullptr && *count < 0;
}

/// True where a graph can hold what the op gives; else the walk broke.
bool can_hold_result(Walk& walk, const TorchTarget& target, const torch::ResolvedCall& call) {
  const std::string op = call.schema->op();
  const Graph& graph = walk.recorder.graph();
  const bool ours = !walk.context.for_backend();
  if (ours && counts_from_storage(op, call.args, graph)) {
    return walk.verdict.broke(
        Code::PS0310,
        target.target + " counts from the start of a storage in which its argument starts later");
  }
  if (!torch::is_data_dependent(op) && !finds_classes(op, call.args)) return true;
  if (ours && may_decide_size(walk, Node{op, call.args, {}, -1})) return true;
  // TorchDynamo gives such sizes a symbol.
  return walk.verdict.broke(Code::PS0301,
                            "the size of what " + target.target + " gives depends on elements");
}

/// Whether the op draws random numbers, by torch's own mark. Those of several layers do where
/// something is dropped.
bool draws_by_torch(const PlannedNode& node) {
  const auto is = [&](std::string_view name, const Argument& value) {
    const auto given = std::ranges::find(node.args, name, &NamedArgument::name);
    return given != node.args.end() && given->value == value;
  };
  return torch::is_marked_random(node.op) && !is("dropout", Argument(0.0)) &&
         !is("train", Argument(false));
}

/// True unless torch is to record a gradient of the op and there is no derivative of it here: the
/// segment ends, torch runs the op by itself, and the next segment begins behind it.
bool has_derivative(Walk& walk, const TorchTarget& target, const PlannedNode& node) {
  if (walk.context.for_backend() || !torch::grad_enabled()) return true;
  const bool is_asked = std::ranges::any_of(
      node.values, [&](ValueId id) { return walk.recorder.is_differentiated(id); });
  const autodiff::VjpKind kind = autodiff::vjp_row(node.op).kind;
  if (!is_asked || kind == autodiff::VjpKind::constant) return true;
  if (!may_read_differentiated(walk, target.target, node.values)) return false;
  if (kind == autodiff::VjpKind::missing) {
    // What such an op is taken apart into has derivatives.
    if (may_decide_size(walk, Node{node.op, node.args, {}, -1})) return true;
    return walk.verdict.broke(
        Code::PS0310, "there is no derivative of " + target.target + ", which comes to " + node.op);
  }
  const bool draws = kind == autodiff::VjpKind::by_torch
                         ? draws_by_torch(node)
                         : ops::draws_unsaid(walk.recorder.graph(), {node.op, node.args, {}, -1});
  if (!draws) return true;
  return walk.verdict.broke(Code::PS0310, target.target + " draws random numbers, and " + node.op +
                                              " has no derivative that reads them");
}

PlannedNode planned_node(const Walk& walk, torch::ResolvedCall& call) {
  PlannedNode node{call.schema->op(), std::move(call.args), {}, std::nullopt};
  const bool takes_dtype =
      std::ranges::find(call.schema->parameters, "dtype", &torch::Parameter::name) !=
      call.schema->parameters.end();
  node.lacks_dtype = takes_dtype && std::ranges::none_of(node.args, [](const NamedArgument& given) {
                       return given.name == "dtype" && !given.value.is_none();
                     });
  for (const NamedArgument& given : node.args) {
    for_each_value(given.value, [&](ValueId id) {
      if (!walk.recorder.is_number(id)) node.values.push_back(id);
    });
  }
  return node;
}

/// True where what the op writes can be written in a graph, and what an input held before is kept.
bool can_write(Walk& walk, const TorchTarget& target, const torch::Schema& schema,
               const PlannedNode& node) {
  const bool ours = !walk.context.for_backend();
  const ops::OpFacts* op = ops::find_op(node.op);
  const bool writes_first = op != nullptr ? op->has(ops::kMutates) : ops::writes_by_name(node.op);
  for (std::size_t i = 0; i < schema.parameters.size(); ++i) {
    if (!schema.parameters[i].written) continue;
    for (const NamedArgument& a : node.args) {
      if (a.name != schema.parameters[i].name || a.value.is_none()) continue;
      // What an op without a row writes is known by its name alone further on.
      if (ours && !(i == 0 && writes_first) && a.name != "out") {
        return walk.verdict.broke(Code::PS0310,
                                  target.target + " writes its argument '" + a.name + "'");
      }
      if (ours && a.value.as<Argument::Sequence>() != nullptr) {
        return walk.verdict.broke(Code::PS0310, target.target + " writes a list of tensors");
      }
      const auto* value = a.value.as<Argument::Value>();
      if (value != nullptr &&
          !may_write(walk, target.target, value->id, walk.recorder.value(value->id).type))
        return false;
      if (ours && value != nullptr &&
          !may_write_differentiated(walk, target.target, value->id, node.values))
        return false;
      bool kept = true;
      for_each_value(a.value, [&](ValueId id) { kept = kept && walk.recorder.before_write(id); });
      if (!kept)
        return walk.verdict.broke(Code::PS0309, "an input that is written cannot be copied");
    }
  }
  return true;
}

/// Takes several tensors given as `out` from the arguments by name: the overload that writes them
/// is chosen as the one without. None where no tuple of tensors is given so.
std::vector<ValueId> take_outs(const Walk& walk, std::vector<NamedArgument>& named) {
  const auto given = std::ranges::find(named, std::string_view("out"), &NamedArgument::name);
  const auto* list = given == named.end() ? nullptr : given->value.as<Argument::Sequence>();
  if (list == nullptr || walk.context.for_backend()) return {};
  std::vector<ValueId> outs;
  for (const Argument& item : list->items) {
    const auto* value = item.as<Argument::Value>();
    if (value == nullptr || walk.recorder.is_number(value->id)) return {};
    outs.push_back(value->id);
  }
  named.erase(given);
  return outs;
}

Argument tuple_of(const std::vector<ValueId>& values) {
  Argument::Sequence tuple{Argument::Sequence::Kind::tuple, {}};
  for (ValueId id : values) tuple.items.emplace_back(Argument::Value{id});
  return tuple;
}

/// The nodes of a call that writes its results into `outs`. Empty: the walk broke.
std::vector<PlannedNode> nodes_into(Walk& walk, const TorchTarget& target, PlannedNode node,
                                    const std::vector<ValueId>& outs) {
  std::vector<PlannedNode> nodes = into_outs(walk.recorder, std::move(node), outs);
  if (nodes.empty()) {
    walk.verdict.broke(Code::PS0310, target.target +
                                         " writes several tensors, whose sizes or dtypes it may "
                                         "change or which share memory");
  }
  for (std::size_t i = 0; i < outs.size() && !nodes.empty(); ++i) {
    if (!may_write(walk, target.target, outs[i], walk.recorder.value(outs[i]).type)) return {};
    if (!walk.recorder.before_write(outs[i])) {
      walk.verdict.broke(Code::PS0309, "an input that is written cannot be copied");
      return {};
    }
  }
  return nodes;
}

/// The nodes of a graph that stand for one call: that of its op, or, where it writes what is given
/// as `out`, the op without and a copy. Empty: the walk broke.
std::vector<PlannedNode> nodes_of(Walk& walk, const TorchTarget& target,
                                  const torch::Schema& schema, PlannedNode node) {
  std::vector<PlannedNode> nodes;
  if (!walk.context.for_backend()) nodes = without_out(walk.schemas, walk.recorder, schema, node);
  const bool writes_out = std::ranges::any_of(node.args, [](const NamedArgument& given) {
    return given.name == "out" && !given.value.is_none();
  });
  if (nodes.empty() && !walk.context.for_backend() && writes_out) {
    walk.verdict.broke(
        Code::PS0310,
        target.target +
            " writes its argument 'out', whose size or dtype it may change or compute with");
    return nodes;
  }
  if (nodes.empty()) nodes.push_back(std::move(node));
  return nodes;
}

/// Puts in front of the nodes of a call what autocasting converts.
bool cast_arguments(Walk& walk, const TorchTarget& target, const torch::Schema& schema,
                    std::vector<PlannedNode>& nodes) {
  if (!walk.context.autocast()) return true;
  if (nodes.size() != 1)
    return walk.verdict.broke(Code::PS0310, target.target + " is autocast, and writes elsewhere");
  auto casts = take_casts(walk, target, schema, nodes.front());
  if (!casts) return false;
  nodes.insert(nodes.begin(), std::make_move_iterator(casts->begin()),
               std::make_move_iterator(casts->end()));
  return true;
}

}  // namespace

bool torch_call(Walk& walk, FrameShadow& f, const TorchTarget& target,
                std::span<const Operand> positional,
                std::span<const std::pair<PyObject*, Operand>> keywords, int pops) {
  auto converted = converted_arguments(walk, positional, keywords);
  if (!converted) return false;
  auto& [args, named] = *converted;
  const std::vector<ValueId> outs = take_outs(walk, named);
  auto resolved =
      target.overload
          ? torch::resolve_named_overload(walk.schemas, target.op, *target.overload, args, named)
          : torch::resolve_overload(walk.schemas, target.op, args, named, target.method);
  if (!resolved) {
    if (!walk.context.autocast()) {
      if (const auto done = whole_call(walk, f, target, positional, keywords, pops)) return *done;
    }
    if (const auto sized = with_decided_sizes(walk, positional))
      return torch_call(walk, f, target, sized->positional, keywords, pops);
    return walk.verdict.broke(Code::PS0310,
                              "no overload of '" + target.op + "' takes these arguments");
  }
  for (std::size_t i = 0; i < positional.size(); ++i) {
    if (!pass_number(walk, positional[i], i, target.method, args[i], *resolved)) return false;
  }
  std::size_t position = 0;
  for (const auto& [name, operand] : keywords) {
    if (!outs.empty() && python::text_of(name) == "out") continue;
    const std::size_t all = positional.size() + position;
    if (!pass_number(walk, operand, all, target.method, named[position++].value, *resolved))
      return false;
  }
  walk.sizes.check_sizes(*resolved);
  walk.sizes.check_offset(*resolved);
  if (!can_hold_result(walk, target, *resolved)) return false;
  if (target.syntax.positional >= 0) args.resize(target.syntax.positional);
  if (target.syntax.is_exchanged) std::swap(args[0], args[1]);
  if (target.syntax.attribute != nullptr) args.push_back(std::string(target.syntax.attribute));
  walk.context.guard_grad_mode();
  Call call{target.opcode, target.name, target.target, std::move(args), std::move(named),
            walk.stack(),  {}};
  PlannedNode node = planned_node(walk, *resolved);
  if (!has_derivative(walk, target, node)) return false;
  if (!can_write(walk, target, *resolved->schema, node)) return false;
  std::vector<PlannedNode> nodes = outs.empty()
                                       ? nodes_of(walk, target, *resolved->schema, std::move(node))
                                       : nodes_into(walk, target, std::move(node), outs);
  if (nodes.empty() || !cast_arguments(walk, target, *resolved->schema, nodes)) return false;
  if (!outs.empty()) call.kwargs.push_back({"out", tuple_of(outs)});
  std::vector<Operand> operands(positional.begin(), positional.end());
  for (const auto& [name, operand] : keywords) operands.push_back(operand);
  return record(walk, f, std::move(call), std::move(nodes), operands, pops, target.callable);
}

}  // namespace penstock::record
