// Calls of torch: builtin functions and tensor methods become calls of the graph and the ATen nodes
// that they resolve to. torch runs them for real; what they gave is read from the real tensors.

#include <algorithm>
#include <cstring>

#include "ops/op.h"
#include "ops/promotion.h"
#include "python/bytecode.h"
#include "python/literal.h"
#include "record/objects/number.h"
#include "record/objects/torch_call.h"
#include "record/objects/torch_out.h"
#include "record/objects/torch_tensor.h"
#include "record/polyfills.h"
#include "record/results.h"
#include "record/walk.h"
#include "torch/methods.h"
#include "torch/state.h"
#include "torch/tensor_facts.h"

namespace penstock::record {

using python::literal_of;
using python::object_of;
using python::PyRef;
using torch::type_of_tensor;

using Keywords = std::vector<std::pair<PyObject*, Operand>>;

bool call_op(Walk& walk, FrameShadow& f, const policy::KnownFunction& function, PyObject* object,
             std::vector<Operand>& positional, Keywords& keywords, int pops) {
  if (function.method) return tensor_method(walk, f, function.name, positional, keywords, pops);
  TorchTarget target{"call_function", function.name, function.shown, function.name, false};
  target.callable = object;
  return torch_call(walk, f, target, positional, keywords, pops);
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

/// x.to(device) and x.to(device=device).
bool names_device_alone(const std::vector<Operand>& positional, const Keywords& keywords) {
  const auto is_device = [](PyObject* object) {
    return PyUnicode_Check(object) || std::strcmp(Py_TYPE(object)->tp_name, "torch.device") == 0;
  };
  if (positional.size() == 2) return keywords.empty() && is_device(positional[1].object);
  return positional.size() == 1 && keywords.size() == 1 &&
         python::text_of(keywords[0].first) == "device" && is_device(keywords[0].second.object);
}

}  // namespace

bool tensor_method(Walk& walk, FrameShadow& f, const std::string& name,
                   std::vector<Operand>& positional, Keywords& keywords, int pops) {
  TorchTarget target{"call_method", name, name, std::string(torch::op_of_method(name)), true};
  if (const std::string_view dtype = torch::dtype_of_conversion(name); !dtype.empty()) {
    target.op = "to";
    Keywords none;
    PyRef object = object_of(Argument(*dtype_from_name(dtype)));
    std::vector<Operand> with_dtype = {positional[0], {Shadow::constant(), object.get()}};
    target.syntax.positional = 1;
    return torch_call(walk, f, target, with_dtype, none, pops);
  }
  if (name == "contiguous" && positional.size() == 1 && keywords.empty()) {
    auto type = type_of_tensor(walk.recorder.bridge(), positional[0].object);
    if (type && is_contiguous(*type)) {
      // torch gives the tensor itself back and dispatches nothing.
      if (!consume_tensor_type(walk, positional[0])) return false;
      const TensorType* known = walk.sizes.known_type(positional[0]);
      if (known != nullptr && !is_contiguous(*known))
        walk.recorder.sizes().specialise(TensorType(*known));
      return gives(f, pops, positional[0].shadow);
    }
  }
  if (name == "to" && names_device_alone(positional, keywords)) {
    // The overload that takes a device takes a dtype too: the tensor's own.
    auto type = type_of_tensor(walk.recorder.bridge(), positional[0].object);
    PyRef own = type ? object_of(Argument(type->dtype)) : PyRef();
    if (!own)
      return walk.verdict.broke(
          Code::PS0308,
          "a tensor whose elements are not its memory (sparse, quantized, a conjugate view)");
    std::vector<Operand> all = positional;
    Keywords named = keywords;
    PyRef dtype = PyRef::steal(PyUnicode_InternFromString("dtype"));
    if (all.size() == 2) {
      all.push_back({Shadow::constant(), own.get()});
      target.syntax.positional = 2;
    } else {
      named.emplace_back(dtype.get(), Operand{Shadow::constant(), own.get()});
    }
    return torch_call(walk, f, target, all, named, pops);
  }
  if (name == "type" && positional.size() > 1) target.op = "to";
  return torch_call(walk, f, target, positional, keywords, pops);
}

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
  auto literal = literal_of(object);
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

namespace {

/// Whether an op that writes its first argument gave it other dims: elements alone are what graphs
/// write.
bool changes_layout(const Recorder& recorder, const PlannedNode& node,
                    const std::vector<TensorType>& results) {
  const auto* self = node.args.empty() ? nullptr : node.args.front().value.as<Argument::Value>();
  if (self == nullptr || results.size() != 1 || !ops::writes_by_name(node.op)) return false;
  const TensorType &before = recorder.value(self->id).type, &now = results.front();
  if (before.rank() != now.rank() || before.dtype != now.dtype) return true;
  const auto differs = [](const std::vector<SymExpr>& a, const std::vector<SymExpr>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].is_constant() && b[i].is_constant() && a[i] != b[i]) return true;
    }
    return false;
  };
  return differs(before.sizes, now.sizes) || differs(before.strides, now.strides);
}

}  // namespace

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
    Argument* place = list == nullptr ? &bound_to->value
                      : !alone && position - first < list->items.size()
                          ? &list->items[position - first]
                          : nullptr;
    if (const auto size =
            place == nullptr ? std::nullopt : walk.sizes.expression_of(number, true)) {
      argument = *place = *size;
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
    if (auto value = walk.sizes.number_input(number, call.schema->op(), bound.name, dtype)) {
      if (bound.value.as<Argument::Sequence>() == nullptr) {
        argument = bound.value = std::move(*value);
        return true;
      }
    }
  }
  return walk.facts.consume(number);
}

bool torch_call(Walk& walk, FrameShadow& f, const TorchTarget& target,
                std::span<const Operand> positional,
                std::span<const std::pair<PyObject*, Operand>> keywords, int pops) {
  // A number that is followed binds as the literal that it is now.
  auto convert = [&](Operand operand) {
    return walk.sizes.is_followed(operand) ? literal_of(operand.object) : argument(walk, operand);
  };
  std::vector<Argument> args;
  for (Operand operand : positional) {
    auto converted = convert(operand);
    if (!converted) return false;
    args.push_back(std::move(*converted));
  }
  std::vector<NamedArgument> named;
  for (const auto& [name, operand] : keywords) {
    auto converted = convert(operand);
    if (!converted) return false;
    named.push_back({python::text_of(name), std::move(*converted)});
  }
  // Views whose elements are of another dtype than the memory's owner: outputs could not be made.
  auto sees_memory_otherwise = [&](std::string_view op,
                                   const std::vector<NamedArgument>& arguments) {
    if (op == "aten.view.dtype" || op == "aten.view_as_complex.default") return true;
    if (op != "aten.real.default" && op != "aten.imag.default" &&
        op != "aten.view_as_real.default") {
      return false;
    }
    const auto* self = arguments.front().value.as<Argument::Value>();
    return self != nullptr && is_complex(walk.recorder.value(self->id).type.dtype);
  };
  auto resolved =
      target.overload
          ? torch::resolve_named_overload(walk.schemas, target.op, *target.overload, args, named)
          : torch::resolve_overload(walk.schemas, target.op, args, named, target.method);
  if (!resolved) {
    if (const auto done = whole_call(walk, f, target, positional, keywords, pops)) return *done;
    return walk.verdict.broke(Code::PS0310,
                              "no overload of '" + target.op + "' takes these arguments");
  }
  const std::string op = resolved->schema->op();
  for (std::size_t i = 0; i < positional.size(); ++i) {
    if (!pass_number(walk, positional[i], i, target.method, args[i], *resolved)) return false;
  }
  for (std::size_t i = 0; i < keywords.size(); ++i) {
    const std::size_t position = positional.size() + i;
    if (!pass_number(walk, keywords[i].second, position, target.method, named[i].value, *resolved))
      return false;
  }
  walk.sizes.check_sizes(*resolved);
  walk.sizes.check_offset(*resolved);
  if (!walk.context.for_backend() && sees_memory_otherwise(op, resolved->args)) {
    return walk.verdict.broke(Code::PS0310,
                              target.target + " sees memory as elements of another dtype");
  }
  if (!walk.context.for_backend() &&
      counts_from_storage(op, resolved->args, walk.recorder.graph())) {
    return walk.verdict.broke(
        Code::PS0310,
        target.target + " counts from the start of a storage in which its argument starts later");
  }
  if (torch::is_data_dependent(op)) {
    // TorchDynamo gives sizes that elements decide a symbol, but for this one.
    const bool anywhere = resolved->schema->name == "one_hot";
    return walk.verdict.broke(
        Code::PS0301, "the size of what " + target.target + " gives depends on elements", anywhere);
  }
  if (target.syntax.positional >= 0) args.resize(target.syntax.positional);
  if (target.syntax.is_exchanged) std::swap(args[0], args[1]);
  if (target.syntax.attribute != nullptr) args.push_back(std::string(target.syntax.attribute));
  walk.context.guard_grad_mode();
  Call call{target.opcode, target.name, target.target, std::move(args), std::move(named),
            walk.stack(),  {}};
  PlannedNode node{op, std::move(resolved->args), {}, std::nullopt};
  for (const torch::Parameter& parameter : resolved->schema->parameters) {
    const auto given = std::find_if(node.args.begin(), node.args.end(), [&](const auto& argument) {
      return argument.name == parameter.name && !argument.value.is_none();
    });
    if (parameter.name == "dtype") node.lacks_dtype = given == node.args.end();
  }
  for (const NamedArgument& a : node.args) {
    for_each_value(a.value, [&](ValueId id) {
      if (!walk.recorder.is_number(id)) node.values.push_back(id);
    });
  }
  for (std::size_t i = 0; i < resolved->schema->parameters.size(); ++i) {
    if (!resolved->schema->parameters[i].written) continue;
    for (const NamedArgument& a : node.args) {
      if (a.name != resolved->schema->parameters[i].name || a.value.is_none()) continue;
      // What an op writes is known by its name alone further on.
      if (!walk.context.for_backend() && !(i == 0 && ops::writes_by_name(op)) && a.name != "out") {
        return walk.verdict.broke(Code::PS0310,
                                  target.target + " writes its argument '" + a.name + "'");
      }
      if (!walk.context.for_backend() && a.value.as<Argument::Sequence>() != nullptr) {
        return walk.verdict.broke(Code::PS0310, target.target + " writes a list of tensors");
      }
      bool kept = true;
      for_each_value(a.value, [&](ValueId id) { kept = kept && walk.recorder.before_write(id); });
      if (!kept)
        return walk.verdict.broke(Code::PS0309, "an input that is written cannot be copied");
    }
  }
  std::vector<Operand> operands(positional.begin(), positional.end());
  for (const auto& [name, operand] : keywords) operands.push_back(operand);
  std::vector<PlannedNode> nodes;
  if (!walk.context.for_backend())
    nodes = without_out(walk.schemas, walk.recorder, *resolved->schema, node);
  const bool writes_out = std::ranges::any_of(node.args, [](const NamedArgument& given) {
    return given.name == "out" && !given.value.is_none();
  });
  if (nodes.empty() && !walk.context.for_backend() && writes_out) {
    return walk.verdict.broke(
        Code::PS0310,
        target.target +
            " writes its argument 'out', whose size or dtype it may change or compute with");
  }
  if (nodes.empty()) nodes.push_back(std::move(node));
  return record(walk, f, std::move(call), std::move(nodes), operands, pops, target.callable);
}

bool record(Walk& walk, FrameShadow& f, Call call, std::vector<PlannedNode> nodes,
            const std::vector<Operand>& operands, int pops, PyObject* callable) {
  f.is_op_time = true;
  walk.objects.release_dead();  // tensors in the arguments of calls that are done would be alive
                                // beside what the op makes
  // Behind the op an argument may be gone: its address alone is compared then. What the op gave
  // lives, and so does an argument that it gave back.
  struct Kept {
    Shadow shadow;
    const PyObject* address;
    bool is_tensor;
  };
  std::vector<Kept> kept;
  for (Operand operand : operands) {
    kept.push_back({operand.shadow, operand.object, walk.is_tensor(operand.object)});
    const bool holds = (PyList_CheckExact(operand.object) || PyTuple_CheckExact(operand.object)) &&
                       !operand.shadow.is(Shadow::Kind::constant);
    if (!holds) continue;
    const std::vector<Shadow> inside = walk.objects.items(operand);
    for (std::size_t i = 0; i < inside.size(); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(operand.object, static_cast<Py_ssize_t>(i));
      kept.push_back({inside[i], item, walk.is_tensor(item)});
    }
  }
  auto planned = std::make_shared<std::pair<Call, std::vector<PlannedNode>>>(std::move(call),
                                                                             std::move(nodes));
  f.finish = [planned, kept, pops, called = PyRef::borrow(callable)](Walk& walk, FrameShadow& f) {
    add_planned(walk, f, std::move(planned->first), called, std::move(planned->second), pops);
    // An op that gives one of its arguments back (in place, a view of everything) gives what is
    // known of it already.
    PyObject* result = pops >= 0 ? f.object() : nullptr;
    const bool several = result != nullptr &&
                         (PyTuple_Check(result) || PyList_CheckExact(result)) &&
                         f.top().is(Shadow::Kind::fresh);
    for (const Kept& one : kept) {
      if (one.address == result && result != nullptr) f.top() = one.shadow;
      if (!several || !one.is_tensor) continue;
      std::vector<Shadow>& inside = walk.objects.object(f.top().index).items;
      for (std::size_t i = 0; i < inside.size(); ++i) {
        if (PySequence_Fast_GET_ITEM(result, static_cast<Py_ssize_t>(i)) == one.address)
          inside[i] = one.shadow;
      }
    }
  };
  return true;
}

void add_planned(Walk& walk, FrameShadow& f, Call call, PyRef callable,
                 std::vector<PlannedNode> nodes, int pops) {
  const std::int32_t at = walk.recorder.add_call(std::move(call), std::move(callable));
  std::vector<ValueId> made;
  const auto real = [&](ValueId id) {
    const std::size_t planned = kNoValue - id - 1;
    return planned < made.size() ? made[planned] : id;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    PlannedNode& node = nodes[i];
    for (NamedArgument& a : node.args) map_values(a.value, real);
    for (ValueId& id : node.values) id = real(id);
    const bool last = i + 1 == nodes.size();
    if (!last) {
      made.push_back(walk.recorder.add_node(node.op, std::move(node.args), *node.type));
      continue;
    }
    if (pops < 0) {  // STORE_SUBSCR: the last node writes and gives nothing back
      if (node.type) {
        walk.recorder.add_node(node.op, std::move(node.args), *node.type);
      } else {
        walk.recorder.add_effect(node.op, std::move(node.args));
      }
      f.pop(-pops);
      return;
    }
    f.pop(pops);
    PyObject* result = f.object();
    std::vector<Argument> values;
    const Shadow shadow = result_shadow(walk, node, result, values);
    f.push(shadow);
    if (values.size() == 1 && walk.is_tensor(result)) {
      walk.recorder.set_result(at, values[0]);
    } else {
      walk.recorder.set_result(at, Argument::Sequence{Argument::Sequence::Kind::list, values});
    }
  }
}

Shadow result_shadow(Walk& walk, PlannedNode& node, PyObject* result,
                     std::vector<Argument>& values) {
  std::vector<PyObject*> tensors;
  if (!walk.is_tensor(result) && !PyTuple_Check(result) && !PyList_CheckExact(result)) {
    walk.verdict.spoil_here("an op gives what is no tensor");
    return Shadow::constant();
  }
  if (walk.is_tensor(result)) {
    tensors.push_back(result);
  } else if (PyTuple_Check(result) || PyList_CheckExact(result)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(result, i);
      if (walk.is_tensor(item)) tensors.push_back(item);
    }
  }
  std::vector<TensorType> types;
  for (PyObject* tensor : tensors) {
    if (!walk.recorder.bridge().is_dense(tensor)) {
      walk.verdict.spoil_here(
          "the elements of a result are not its memory: a conjugate, negative or sparse tensor");
      return Shadow::constant();
    }
    auto type = walk.recorder.result_type(tensor, node.values);
    if (!type) {
      walk.verdict.spoil_here("the elements of a result are of a dtype that is not followed");
      return Shadow::constant();
    }
    types.push_back(std::move(*type));
    if (!walk.context.guard_default_dtype(node, types.back()))
      walk.verdict.spoil("the default dtype cannot be guarded");
  }
  if (changes_layout(walk.recorder, node, types)) {
    walk.verdict.spoil_here("an op changes in place how its tensor lies");
    return Shadow::constant();
  }
  // A factory's node says what the default dtype was, unless it is the one that every rule assumes.
  const bool makes_floats = types.size() == 1 && node.values.empty() && is_floating(types[0].dtype);
  if (makes_floats && node.lacks_dtype && types[0].dtype != ops::kDefaultDType) {
    std::erase_if(node.args,
                  [](const NamedArgument& argument) { return argument.name == "dtype"; });
    node.args.push_back({"dtype", types[0].dtype});
  }
  std::vector<ValueId> ids;
  walk.recorder.add_node(node.op, std::move(node.args), types, ids);
  std::vector<Shadow> shadows;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    walk.recorder.note_storage(ids[i], tensors[i]);
    values.push_back(Argument::Value{ids[i]});
    shadows.push_back(Shadow::node(ids[i]));
  }
  if (walk.is_tensor(result)) return shadows[0];
  return walk.objects.fresh(result, std::move(shadows));
}

Shadow planned_result(Walk& walk, std::int32_t call, PlannedNode node, PyObject* tensor) {
  std::vector<Argument> values;
  const Shadow result = result_shadow(walk, node, tensor, values);
  if (!values.empty()) walk.recorder.set_result(call, values[0]);
  return result;
}

std::optional<ValueId> value_of(Walk& walk, Shadow tensor) {
  if (tensor.is(Shadow::Kind::node)) return tensor.index;
  const SourceId source = tensor.source();
  return source == kNoSource ? std::nullopt : walk.recorder.input_at(source);
}

}  // namespace penstock::record
