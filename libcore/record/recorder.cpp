#include "record/recorder.h"

#include <algorithm>
#include <utility>

#include "ir/argument_text.h"
#include "ir/renumber.h"
#include "ir/subgraphs.h"
#include "ops/op.h"
#include "passes/decompose/decided_sizes.h"
#include "python/literal.h"
#include "record/gradients.h"
#include "record/input_name.h"
#include "torch/tensor_facts.h"

namespace penstock::record {

using torch::type_of_tensor;

using python::PyRef;
using torch::TensorView;

Recorder::Recorder(const torch::TensorBridge& bridge, bool keep_examples,
                   const ChangedNumbers* changed, DynamicSizes policy,
                   std::function<Location()> here)
    : bridge_(bridge),
      keep_examples_(keep_examples),
      guards_(graph_.interface, changed),
      sizes_(graph_.interface, changed, policy, arguments_, std::move(here)) {
  graph_.level = Level::torch;
}

ValueId Recorder::new_value(std::string_view stem, TensorType type) {
  const ValueId id = add_value(graph_, stem, std::move(type));
  input_by_value_.resize(id + 1, -1);
  storages_.resize(id + 1, nullptr);
  return id;
}

std::int32_t Recorder::share_storage(ValueId id) {
  TensorType& type = graph_.values[id].type;
  if (type.storage < 0) {
    type.storage = next_storage_++;
    if (is_input(id)) graph_.interface.inputs[input_by_value_[id]].type.storage = type.storage;
  }
  return type.storage;
}

bool Recorder::wants_symbols(PyObject* tensor, SourceId source) const {
  if (inputs_.contains(tensor)) return true;
  if (!bridge_.is_plain_tensor(tensor)) return false;
  const auto type = type_of_tensor(bridge_, tensor);
  return type && kind_of(tensor, *type, source) != InputKind::parameter &&
         sizes_.wants(tensor, *type, source);
}

std::optional<ValueId> Recorder::input_at(SourceId source) const {
  const auto found = input_at_.find(source);
  return found == input_at_.end() ? std::nullopt : std::optional(found->second);
}

/// What kind of input a tensor is that `source` leads to. A parameter that no module is asked for,
/// where those of several sizes have come by, is one of many that a loop goes over (an optimizer's
/// step): data, and no weight.
InputKind Recorder::kind_of(PyObject* tensor, const TensorType& type, SourceId source) const {
  const SourceStep& step = graph_.interface.sources[source];
  if (Py_TYPE(tensor) == bridge_.parameter_type()) {
    const bool of_module = step.kind == SourceKind::dict_item &&
                           graph_.interface.sources[step.base].name == "_parameters";
    return of_module || !sizes_.has_changed(type, source) ? InputKind::parameter : InputKind::user;
  }
  if (step.kind != SourceKind::dict_item) return InputKind::user;
  return graph_.interface.sources[step.base].name == "_buffers" ? InputKind::buffer
                                                                : InputKind::user;
}

std::optional<ValueId> Recorder::input(PyObject* tensor, SourceId source,
                                       const std::function<Location()>& location) {
  if (auto found = inputs_.find(tensor); found != inputs_.end()) {
    const SourceId first = graph_.interface.inputs[input_by_value_[found->second]].source;
    if (first != source) {
      Guard same{GuardKind::same_object, source, first, {}, {}, {}, {}, -1};
      same.expected = Argument(guards_.text(first));
      guards_.add(std::move(same), location);
      input_at_.emplace(source, found->second);
    }
    return found->second;
  }
  auto type = type_of_tensor(bridge_, tensor);
  if (!type) return std::nullopt;
  const InputKind kind = kind_of(tensor, *type, source);
  // Weights are packed and merged by their sizes: those stay.
  if (kind == InputKind::user) sizes_.name_sizes(tensor, *type, source);
  Guard is_tensor{GuardKind::tensor, source, kNoSource, {}, *type, {}, {}, -1};
  guards_.add(std::move(is_tensor), location);

  TensorView view;
  bridge_.read(tensor, view);
  if (auto alias = input_in_storage_.find(view.storage); alias != input_in_storage_.end()) {
    type->storage = share_storage(alias->second);
  }
  const std::string name = input_name(graph_.interface.sources, source, arguments_);
  const ValueId id = new_value(name, *type);
  storages_[id] = view.storage;
  if (view.storage != nullptr) input_in_storage_.emplace(view.storage, id);
  Input input{kind, graph_.values[id].name, source, *type, {}};
  input_by_value_[id] = static_cast<std::int32_t>(graph_.interface.inputs.size());
  graph_.interface.inputs.push_back(std::move(input));
  inputs_.emplace(tensor, id);
  input_at_.emplace(source, id);
  originals_.push_back(PyRef::borrow(tensor));
  input_objects.push_back(PyRef::borrow(tensor));
  written_.push_back(false);
  return id;
}

ValueId Recorder::number(PyObject* number, SourceId source) {
  if (auto found = numbers_.find(source); found != numbers_.end()) return found->second;
  const ValueId id = add_number(InputKind::scalar, number, source);
  numbers_.emplace(source, id);
  return id;
}

std::optional<SymExpr> Recorder::size_number(PyObject* number, std::int64_t value,
                                             SourceId source) {
  auto symbol = sizes_.name_number(value, source);
  if (!symbol) return std::nullopt;
  Value& input = graph_.values[add_number(InputKind::size, number, source)];
  input.is_scalar = true;
  input.expression = *symbol;
  return symbol;
}

ValueId Recorder::add_number(InputKind kind, PyObject* number, SourceId source) {
  TensorType type;
  type.dtype = PyFloat_Check(number) ? DType::float64 : DType::int64;
  const ValueId id = new_value(input_name(graph_.interface.sources, source, arguments_), type);
  input_by_value_[id] = static_cast<std::int32_t>(graph_.interface.inputs.size());
  graph_.interface.inputs.push_back({kind, graph_.values[id].name, source, std::move(type), {}});
  originals_.push_back(PyRef::borrow(number));
  input_objects.push_back(PyRef::borrow(number));
  written_.push_back(false);
  return id;
}

bool Recorder::is_number(ValueId id) const {
  return is_input(id) && graph_.interface.inputs[input_by_value_[id]].kind == InputKind::scalar;
}

std::vector<std::pair<SourceId, std::int64_t>> Recorder::offsets_around(ValueId id) const {
  std::vector<std::pair<SourceId, std::int64_t>> offsets;
  for (const auto& [tensor, input] : inputs_) {
    if (input != id && (storages_[id] == nullptr || storages_[input] != storages_[id])) continue;
    const auto offset = sizes_.value(graph_.values[input].type.storage_offset);
    if (offset)
      offsets.emplace_back(graph_.interface.inputs[input_by_value_[input]].source, *offset);
  }
  std::ranges::sort(offsets);
  return offsets;
}

bool Recorder::before_write(ValueId id) {
  known_values_.forget([&](ValueId known) {
    return storages_[known] == nullptr || storages_[known] == storages_[id];
  });
  written_storages_.insert(storages_[id]);
  checkpoints.note_write(*this, id);
  // A view of an input writes the input too: every input in the same memory is kept.
  const std::int32_t storage = graph_.values[id].type.storage;
  for (std::size_t i = 0; i < graph_.interface.inputs.size(); ++i) {
    if (written_[i]) continue;
    const bool same = input_by_value_[id] == static_cast<std::int32_t>(i) ||
                      (storage >= 0 && graph_.interface.inputs[i].type.storage == storage);
    if (!same) continue;
    written_[i] = true;
    if (!keep_examples_) continue;
    PyRef copy = PyRef::steal(PyObject_CallMethod(originals_[i].get(), "detach", nullptr));
    if (copy) copy = PyRef::steal(PyObject_CallMethod(copy.get(), "clone", nullptr));
    if (!copy) {
      PyErr_Clear();
      return false;
    }
    input_objects[i] = std::move(copy);
  }
  return true;
}

std::vector<PyRef> Recorder::written_inputs() const {
  std::vector<PyRef> all(originals_.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (written_[i]) all[i] = originals_[i];
  }
  return all;
}

std::int32_t Recorder::add_call(Call call, PyRef callable) {
  int& used = call_names_[call.name];
  if (used++ > 0) call.name += "_" + std::to_string(used - 1);
  call.checkpoint = checkpoints.number();
  graph_.calls.push_back(std::move(call));
  callables.push_back(std::move(callable));
  return static_cast<std::int32_t>(graph_.calls.size()) - 1;
}

void Recorder::cut(std::size_t node, std::size_t call) {
  graph_.nodes.resize(node);
  graph_.calls.resize(call);
  callables.resize(call);
}

std::optional<ValueId> Recorder::made_in(ValueId id) const {
  const auto made = made_in_.find(storages_[id]);
  return made == made_in_.end() ? std::nullopt : std::optional(made->second);
}

std::optional<TensorType> Recorder::result_type(PyObject* tensor,
                                                const std::vector<ValueId>& arguments) {
  auto known = type_of_tensor(bridge_, tensor);
  if (!known) return std::nullopt;
  TensorType& type = *known;
  TensorView view;
  if (!bridge_.read(tensor, view)) {
    PyErr_Clear();
    return std::nullopt;
  }
  for (ValueId id : arguments) {
    if (storages_[id] == nullptr || storages_[id] != view.storage) continue;
    type.storage = share_storage(id);
    break;
  }
  return known;
}

/// The types with sizes that follow from those of the arguments. Rules tell numbers from tensors by
/// the inputs, which stand first among a finished graph's values only: here a number is the literal
/// that it is.
void Recorder::infer_sizes(const Node& node, std::vector<TensorType>& types) {
  Node plain = node;
  for (NamedArgument& argument : plain.args) {
    const auto* value = argument.value.as<Argument::Value>();
    if (value == nullptr || !is_number(value->id)) continue;
    const auto number =
        python::literal_of(originals_[static_cast<std::size_t>(input_by_value_[value->id])].get());
    if (number) argument.value = *number;
  }
  std::vector<Input> inputs = std::exchange(graph_.interface.inputs, {});
  sizes_.infer(plain, graph_, types);
  graph_.interface.inputs = std::move(inputs);
}

void Recorder::add_node(const std::string& op, std::vector<NamedArgument> args,
                        const std::vector<TensorType>& types, std::vector<ValueId>& results) {
  // "aten.softmax.int" gives values called "softmax".
  std::string_view stem = std::string_view(op).substr(op.find('.') + 1);
  stem = stem.substr(0, stem.rfind('.'));
  Node node{op, std::move(args), {}, static_cast<std::int32_t>(graph_.calls.size()) - 1};
  std::int64_t bytes = 0;
  for (const TensorType& type : types) bytes += known_bytes(type);
  std::vector<TensorType> symbolic;
  if (sizes_.any() || passes::decides_size(node, graph_)) infer_sizes(node, symbolic = types);
  for (const TensorType& type : symbolic.empty() ? types : symbolic) {
    node.results.push_back(new_value(stem, type));
  }
  heap_gaps_.made(bytes);
  known_values_.note(node, symbolic.empty() ? types : symbolic);
  grid.note(node);
  results = node.results;
  graph_.nodes.push_back(std::move(node));
}

ValueId Recorder::add_node(const std::string& op, std::vector<NamedArgument> args,
                           TensorType type) {
  std::vector<ValueId> results;
  add_node(op, std::move(args), std::vector<TensorType>{std::move(type)}, results);
  return results.front();
}

ValueId Recorder::add_node_in(ValueId base, const std::string& op, std::vector<NamedArgument> args,
                              TensorType type) {
  type.storage = share_storage(base);
  const ValueId id = add_node(op, std::move(args), std::move(type));
  storages_[id] = storages_[base];
  return id;
}

void Recorder::add_effect(const std::string& op, std::vector<NamedArgument> args) {
  graph_.nodes.push_back(
      Node{op, std::move(args), {}, static_cast<std::int32_t>(graph_.calls.size()) - 1});
}

void Recorder::note_storage(ValueId id, PyObject* tensor) {
  TensorView view;
  if (!bridge_.read(tensor, view)) return PyErr_Clear();
  storages_[id] = view.storage;
  if (view.storage == nullptr) return;
  if (graph_.values[id].type.storage < 0) {  // another tensor may have had that place before
    made_in_[view.storage] = id;
    differentiated_.erase(view.storage);
  }
  if (!view.requires_grad) return;
  differentiated_.insert(view.storage);
  graph_.values[id].type.requires_grad = true;  // a leaf by now, perhaps
}

/// False where the write of an input is none to torch, though ops read the input whose gradients
/// may be asked for: backward would take it as it stands in memory by then.
bool Recorder::may_write_unseen(ValueId id) {
  const auto input = input_in_storage_.find(storages_[id]);
  const bool unseen = input != input_in_storage_.end() && !graph_.values[id].type.requires_grad &&
                      graph_.values[input->second].type.requires_grad;
  return !unseen || unseen_writes.write(storages_[id]);
}

bool Recorder::may_write_differentiated(ValueId id, const std::vector<ValueId>& values,
                                        bool grad_mode, bool runs) {
  const auto made = made_in_.find(storages_[id]);
  // A compiled backward ends at the inputs, and knows nothing of what they were before.
  if (made == made_in_.end()) {
    if (!may_write_unseen(id)) return false;
    const auto requires_grad = [this](ValueId one) {
      return !is_number(one) && graph_.values[one].type.requires_grad;
    };
    const bool differs = requires_grad(id) || std::ranges::any_of(values, requires_grad);
    return !grad_mode || !runs || !differs;
  }
  const bool known = grad_mode && (graph_.values[id].type.requires_grad || made->second == id);
  if (!known && differentiated_.contains(storages_[id])) return false;
  const bool is_given = std::ranges::any_of(
      values, [this](ValueId one) { return !is_number(one) && is_differentiated(one); });
  if (grad_mode && is_given) differentiated_.insert(storages_[id]);
  return true;
}

namespace {

/// Whether an op made the tensor, which shares no memory that the graph knows, as a view of another
/// that it kept to itself, as pools of one dim do, and ravel of what it has to copy.
bool shows_hidden_base(const Graph& graph, ValueId id, PyObject* tensor) {
  const PyRef base = PyRef::steal(PyObject_GetAttrString(tensor, "_base"));
  if (!base) PyErr_Clear();
  if (!base || base.get() == Py_None) return false;
  const auto makes = [&](const Node& node) {
    return std::ranges::find(node.results, id) != node.results.end();
  };
  return std::any_of(graph.nodes.rbegin(), graph.nodes.rend(), makes);
}

}  // namespace

ValueId Recorder::view_of_whole(ValueId id) {
  share_storage(id);
  TensorType type = graph_.values[id].type;
  return add_node("aten.alias.default", {{"self", Argument::Value{id}}}, std::move(type));
}

std::int32_t Recorder::output(ValueId id, PyObject* object, bool spent) {
  auto [found, added] =
      outputs_.emplace(id, static_cast<std::int32_t>(graph_.interface.outputs.size()));
  if (!added) return found->second;
  if (!is_input(id) && graph_.values[id].type.storage < 0 &&
      shows_hidden_base(graph_, id, object) &&
      std::ranges::count(storages_, storages_[id]) ==
          1) {  // an index of several parts goes through views without a tensor
    id = view_of_whole(id);
  }
  Output output{graph_.values[id].type, {}, {}};
  // What was written may have come to require gradients since it was made.
  if (bridge_.is_tensor(object)) output.type.requires_grad = bridge_.requires_grad(object);
  output.type.requires_grad = output.type.requires_grad && !spent;
  if (output.type.requires_grad) output.grad_fn = name_of_grad_fn(object);
  for (std::size_t i = 0; i < graph_.interface.inputs.size(); ++i) {
    const std::int32_t storage = graph_.interface.inputs[i].type.storage;
    if (storage < 0 || storage != output.type.storage) continue;
    output.alias = {OutputAlias::Kind::input, static_cast<std::int32_t>(i)};
    break;
  }
  for (std::size_t i = 0; output.alias.kind == OutputAlias::Kind::none &&
                          output.type.storage >= 0 && i < graph_.interface.outputs.size();
       ++i) {
    if (graph_.interface.outputs[i].type.storage != output.type.storage) continue;
    output.alias = {OutputAlias::Kind::output, static_cast<std::int32_t>(i)};
  }
  graph_.interface.outputs.push_back(std::move(output));
  graph_.outputs.push_back(id);
  output_objects.push_back(PyRef::borrow(object));
  return found->second;
}

/// Memory that is written must not be shared with an input that the graph takes for separate, and a
/// tensor whose `.grad` changes be no other one. Of a few such pairs each is guarded; many would be
/// as many as the square of the inputs.
void Recorder::keep_written_apart() {
  constexpr std::size_t kMostPairs = 16;
  const auto& inputs = graph_.interface.inputs;
  std::vector<std::pair<const Input*, const Input*>> pairs;
  std::vector<const Input*> written;
  std::vector<bool> kept = written_;
  for (ValueId id : apart_inputs) kept[static_cast<std::size_t>(input_by_value_[id])] = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!kept[i]) continue;
    written.push_back(&inputs[i]);
    for (std::size_t j = 0; j < inputs.size() && pairs.size() <= kMostPairs; ++j) {
      const Input& other = inputs[j];
      const bool tensor = other.kind != InputKind::scalar && other.kind != InputKind::size &&
                          other.kind != InputKind::generator;
      if (i == j || (kept[j] && j < i) || !tensor) continue;
      if (inputs[i].type.storage >= 0 && inputs[i].type.storage == other.type.storage) continue;
      pairs.emplace_back(&inputs[i], &other);
    }
  }
  const auto keep_apart = [&](const Input& input, SourceId other, std::string shown) {
    Guard apart{GuardKind::no_overlap, input.source, other, {}, {}, {}, {}, -1};
    apart.expected = Argument(std::move(shown));
    guards_.add(std::move(apart), {});
  };
  if (pairs.size() > kMostPairs) {
    for (const Input* input : written) keep_apart(*input, kNoSource, "any other input");
  } else {
    for (const auto& [input, other] : pairs)
      keep_apart(*input, other->source, guards_.text(other->source));
  }
}

void Recorder::finish() {
  sizes_.finish(graph_);
  const std::size_t inputs = graph_.interface.inputs.size();
  std::vector<ValueId> new_id(graph_.values.size());
  std::vector<Value> values(graph_.values.size());
  ValueId next = static_cast<ValueId>(inputs);
  for (ValueId id = 0; id < graph_.values.size(); ++id) {
    new_id[id] = input_by_value_[id] >= 0 ? static_cast<ValueId>(input_by_value_[id]) : next++;
    values[new_id[id]] = std::move(graph_.values[id]);
  }
  graph_.values = std::move(values);
  renumber(graph_, [&](ValueId id) { return new_id[id]; });
  keep_written_apart();
  inherit_sizes(graph_);
}

}  // namespace penstock::record
