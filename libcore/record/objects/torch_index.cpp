// tensor[index] and tensor[index] = value, into the nodes that torch makes of them: integers
// select, slices slice, None unsqueezes, tensors and lists of ints index. What is before the last
// node is a view, whose type follows from that of the tensor, or makes a tensor of a list.

#include "python/literal.h"
#include "record/objects/decided_size.h"
#include "record/objects/demand.h"
#include "record/objects/differentiated.h"
#include "record/objects/torch_call.h"
#include "record/objects/torch_tensor.h"
#include "record/walk.h"
#include "torch/tensor_facts.h"

namespace penstock::record {

using python::literal_of;
using torch::type_of_tensor;

namespace {

using Named = NamedArgument;

std::int64_t number(const SymExpr& e) {
  return e.constant().value_or(0);
}

}  // namespace

/// One index, flattened out of a tuple.
struct Index {
  enum class Kind { none, ellipsis, integer, slice, tensor, list, other } kind = Kind::other;
  Operand operand;
  std::int64_t dims = 1;  ///< that it covers: a mask as many as it has
};

/// A tensor being indexed: the nodes so far and the type of what they give.
struct IndexChain {
  std::vector<PlannedNode> nodes;
  TensorType type;
  std::optional<Argument> indices;  ///< of index tensors, one per dimension
  Argument current;                 ///< the value so far
  bool masked = false;              ///< a mask is among the indices
  bool symbolic = false;            ///< sizes of the tensor, or what it is indexed by, are symbols
  std::optional<SymExpr> rows;      ///< are stored, so many, where elements of a mask are set:
  ValueId mask = kNoValue;          ///< of this one

  void add(std::string op, std::vector<Named> args) {
    PlannedNode node{std::move(op), {}, {}, type};
    node.args.push_back({"self", current});
    for (Named& a : args) node.args.push_back(std::move(a));
    for (const Named& a : node.args) {
      for_each_value(a.value, [&](ValueId id) { node.values.push_back(id); });
    }
    nodes.push_back(std::move(node));
    current = Argument::Value{planned_value(nodes.size() - 1)};
  }

  /// `index`: what stands for `at` in the graph.
  void select(std::int64_t dim, std::int64_t at, Argument index) {
    const std::int64_t size = number(type.sizes[dim]);
    type.storage_offset += SymExpr((at < 0 ? at + size : at)) * type.strides[dim];
    type.sizes.erase(type.sizes.begin() + dim);
    type.strides.erase(type.strides.begin() + dim);
    add("aten.select.int", {{"dim", dim}, {"index", std::move(index)}});
  }

  void unsqueeze(std::int64_t dim) {
    const SymExpr stride = dim < static_cast<std::int64_t>(type.rank())
                               ? type.sizes[dim] * type.strides[dim]
                               : SymExpr(1);
    type.sizes.insert(type.sizes.begin() + dim, SymExpr(1));
    type.strides.insert(type.strides.begin() + dim, stride);
    add("aten.unsqueeze.default", {{"dim", dim}});
  }

  /// `always`: a slice of everything is a node too. `from`, `to`: what stands for its bounds in the
  /// graph, where they are symbols.
  void slice(std::int64_t dim, PyObject* slice, bool always, const std::optional<Argument>& from,
             const std::optional<Argument>& to) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) {
      PyErr_Clear();
      return;
    }
    const std::int64_t size = number(type.sizes[dim]);
    auto* parts = reinterpret_cast<PySliceObject*>(slice);
    const std::int64_t given_start = parts->start == Py_None ? 0 : start;
    const std::int64_t given_stop = parts->stop == Py_None ? PY_SSIZE_T_MAX : stop;
    Py_ssize_t first = start, last = stop;
    const Py_ssize_t count = PySlice_AdjustIndices(size, &first, &last, step);
    // Whether bounds leave everything may be another answer at other sizes.
    const bool bounded = symbolic && (given_start != 0 || given_stop != PY_SSIZE_T_MAX);
    if (!always && !bounded && first == 0 && count == size && step == 1) return;
    type.storage_offset += SymExpr(std::int64_t{first}) * type.strides[dim];
    type.sizes[dim] = SymExpr(std::int64_t{count});
    type.strides[dim] = type.strides[dim] * SymExpr(std::int64_t{step});
    add("aten.slice.Tensor", {{"dim", dim},
                              {"start", from.value_or(Argument(given_start))},
                              {"end", to.value_or(Argument(given_stop))},
                              {"step", std::int64_t{step}}});
  }
};

namespace {

Index classify(const Walk& walk, Operand operand) {
  PyObject* object = operand.object;
  if (object == Py_None) return {Index::Kind::none, operand};
  if (object == Py_Ellipsis) return {Index::Kind::ellipsis, operand};
  if (PySlice_Check(object)) return {Index::Kind::slice, operand};
  if (walk.is_tensor(object)) return {Index::Kind::tensor, operand};
  if (PyLong_CheckExact(object)) return {Index::Kind::integer, operand};
  if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) return {Index::Kind::list, operand};
  return {Index::Kind::other, operand};
}

}  // namespace

bool consume_index(Walk& walk, Operand index) {
  const auto is_size = [&](Operand part) { return symbolic_index(walk, part).has_value(); };
  if (is_size(index)) return true;
  if (!PySlice_Check(index.object) || !index.shadow.is(Shadow::Kind::fresh))
    return walk.facts.consume(index);
  auto* slice = reinterpret_cast<PySliceObject*>(index.object);
  const std::vector<Shadow> parts = walk.objects.object(index.shadow.index).items;
  const Operand start{parts[0], slice->start}, stop{parts[1], slice->stop},
      step{parts[2], slice->step};
  return (is_size(start) || walk.facts.consume(start)) &&
         (is_size(stop) || walk.facts.consume(stop)) && walk.facts.consume(step);
}

/// What stands for an index, or a bound of a slice, in the graph; nothing when it is a plain
/// number.
std::optional<Argument> symbolic_index(Walk& walk, Operand index) {
  if (!PyLong_CheckExact(index.object) || !walk.sizes.is_followed(index)) return std::nullopt;
  const auto size = walk.sizes.expression_of(index, true);
  return size ? std::optional(Argument(*size)) : std::nullopt;
}

bool index_chain(Walk& walk, Operand tensor, Operand key, bool store, IndexChain& chain) {
  auto self = argument(walk, tensor);
  if (!self) return false;
  chain.symbolic = walk.sizes.has_symbolic_sizes(tensor);
  auto type = type_of_tensor(walk.recorder.bridge(), tensor.object);
  if (!type)
    return walk.verdict.broke(
        Code::PS0308,
        "a tensor whose elements are not its memory (sparse, quantized, a conjugate view)");
  chain.type = *type;
  chain.current = *self;
  std::vector<Index> indices;
  const bool tuple = PyTuple_CheckExact(key.object);
  if (tuple) {
    const std::vector<Shadow> all = walk.objects.items(key);
    for (std::size_t i = 0; i < all.size(); ++i) {
      indices.push_back(classify(walk, {all[i], PyTuple_GET_ITEM(key.object, i)}));
    }
  } else {
    indices.push_back(classify(walk, key));
    // Of lists in a list, or of slices, torch may make a tuple.
    const auto holds_more = [](PyObject* list) {
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
        if (!PyLong_CheckExact(PyList_GET_ITEM(list, i))) return true;
      }
      return false;
    };
    if (indices[0].kind == Index::Kind::list && holds_more(key.object))
      indices[0].kind = Index::Kind::other;
  }
  std::int64_t used = 0;
  for (Index& index : indices) {
    if (index.kind == Index::Kind::other) {
      return walk.verdict.broke(Code::PS0309, std::string("a tensor is indexed by a ") +
                                                  Py_TYPE(index.operand.object)->tp_name);
    }
    if (index.kind == Index::Kind::tensor) {
      auto of = type_of_tensor(walk.recorder.bridge(), index.operand.object);
      const bool mask = of && of->dtype == DType::bool_ && of->rank() > 0;
      if (mask && !store) {
        chain.masked = true;
        index.dims = static_cast<std::int64_t>(of->rank());
      } else if (!of || of->dtype == DType::bool_ || of->dtype == DType::uint8) {
        return walk.verdict.broke(Code::PS0301,
                                  "the size of what a mask selects depends on elements");
      }
      if (of->rank() == 0) {
        return walk.verdict.broke(Code::PS0301, "a tensor of one number is used as an index");
      }
    } else if (index.kind != Index::Kind::list && !consume_index(walk, index.operand)) {
      return false;
    }
    if (index.kind != Index::Kind::none && index.kind != Index::Kind::ellipsis) used += index.dims;
  }
  if (used > static_cast<std::int64_t>(type->rank())) {
    return walk.verdict.broke(Code::PS0309, "a tensor has fewer dimensions than indices");
  }
  return apply_indices(walk, indices, tuple, store, used, chain);
}

/// Start and stop of a slice, where they are symbols.
std::pair<std::optional<Argument>, std::optional<Argument>> symbolic_bounds(Walk& walk,
                                                                            Operand slice) {
  if (!slice.shadow.is(Shadow::Kind::fresh)) return {};
  auto* bounds = reinterpret_cast<PySliceObject*>(slice.object);
  const std::vector<Shadow> parts = walk.objects.object(slice.shadow.index).items;
  std::optional<Argument> from = symbolic_index(walk, {parts[0], bounds->start});
  return {std::move(from), symbolic_index(walk, {parts[1], bounds->stop})};
}

bool apply_indices(Walk& walk, const std::vector<Index>& indices, bool tuple, bool store,
                   std::int64_t used, IndexChain& chain) {
  std::int64_t dim = 0;
  const std::int64_t rank = static_cast<std::int64_t>(chain.type.rank());
  std::vector<Argument> tensors;
  bool any_tensor = false;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    PyObject* object = indices[i].operand.object;
    switch (indices[i].kind) {
      case Index::Kind::none:
        chain.unsqueeze(dim++);
        break;
      case Index::Kind::ellipsis:
        dim += rank - used;
        break;
      case Index::Kind::integer: {
        const std::int64_t at = PyLong_AsLongLong(object);
        const std::int64_t size = number(chain.type.sizes[dim]);
        if (at >= size || at < -size)
          return walk.verdict.broke(Code::PS0309, "an index is out of range");
        chain.select(dim, at, symbolic_index(walk, indices[i].operand).value_or(Argument(at)));
        break;
      }
      case Index::Kind::slice: {
        const auto [from, to] = symbolic_bounds(walk, indices[i].operand);
        chain.symbolic = chain.symbolic || from || to;
        chain.slice(dim++, object, !tuple && !store, from, to);
        break;
      }
      case Index::Kind::tensor: {
        auto value = argument(walk, indices[i].operand);
        if (!value) return false;
        tensors.resize(dim, Argument(Argument::None{}));
        tensors.push_back(*value);
        any_tensor = true;
        dim += indices[i].dims;
        break;
      }
      case Index::Kind::list: {
        auto data = python_data(walk, indices[i].operand);
        if (!data || data->dtype != DType::int64)
          return walk.verdict.broke(Code::PS0309, "a tensor is indexed by a list");
        if (!plan_data(walk, *data, DType::int64, chain.nodes)) return false;
        tensors.resize(dim, Argument(Argument::None{}));
        tensors.emplace_back(Argument::Value{planned_value(chain.nodes.size() - 1)});
        any_tensor = true;
        ++dim;
        break;
      }
      case Index::Kind::other:
        break;
    }
  }
  if (any_tensor) {
    chain.indices = Argument::Sequence{Argument::Sequence::Kind::list, std::move(tensors)};
  }
  return true;
}

bool tensor_subscript(Walk& walk, FrameShadow& f, Operand tensor, Operand key, int pops) {
  IndexChain chain;
  if (!index_chain(walk, tensor, key, false, chain)) return false;
  if (chain.masked) {
    const ValueId shown_of = argument(walk, tensor)->as<Argument::Value>()->id;
    const auto* list = chain.indices->as<Argument::Sequence>();
    if (!may_select_by_mask(walk, shown_of, chain.type, *list))
      return walk.verdict.broke(Code::PS0301,
                                "the size of what a mask selects depends on elements");
  }
  if (chain.indices) chain.add("aten.index.Tensor", {{"indices", *chain.indices}});
  if (chain.nodes.empty()) chain.add("aten.alias.default", {});
  chain.nodes.back().type = std::nullopt;
  auto self = argument(walk, tensor), index = shown(walk, key);
  if (!self || !index) return false;
  walk.context.guard_grad_mode();
  Call call{"call_function", "getitem", "operator.getitem", {*self, *index}, {}, walk.stack(), {}};
  return record(walk, f, std::move(call), std::move(chain.nodes), {}, pops);
}

namespace {

/// The mask that is the whole index: tensor[mask] = number; nothing for any other index.
std::optional<Operand> only_mask(Walk& walk, Operand key) {
  const bool tuple = PyTuple_CheckExact(key.object) && PyTuple_GET_SIZE(key.object) == 1;
  const Operand mask =
      tuple ? Operand{walk.objects.items(key)[0], PyTuple_GET_ITEM(key.object, 0)} : key;
  if (!walk.is_tensor(mask.object)) return std::nullopt;
  const auto type = type_of_tensor(walk.recorder.bridge(), mask.object);
  return type && type->dtype == DType::bool_ ? std::optional(mask) : std::nullopt;
}

/// The size of the values of tensor[mask] = values, where they are a row for each element of the
/// mask that is set: masked_scatter_ stores them then. One row may be for all elements: whether it
/// is, and how it is spread, torch sees.
std::optional<SymExpr> row_count(const Walk& walk, ValueId tensor, std::size_t mask_rank,
                                 const Argument& values) {
  const auto* stored = values.as<Argument::Value>();
  if (stored == nullptr || walk.context.for_backend() || walk.recorder.subgraphs.any())
    return std::nullopt;
  const TensorType &of = walk.recorder.value(tensor).type,
                   &type = walk.recorder.value(stored->id).type;
  if (type.dtype != of.dtype || type.device != "cpu" || of.device != "cpu" || type.rank() == 0 ||
      type.rank() + mask_rank != of.rank() + 1)
    return std::nullopt;
  for (std::size_t i = 1; i < type.rank(); ++i) {
    if (type.sizes[i] != of.sizes[i - 1 + mask_rank]) return std::nullopt;
  }
  if (type.sizes[0] == SymExpr(1)) return std::nullopt;
  return type.sizes[0];
}

/// tensor[mask] = number is masked_fill_, and tensor[mask] = rows masked_scatter_, the mask widened
/// to the tensor's dims.
bool mask_chain(Walk& walk, Operand tensor, Operand mask, Operand value, IndexChain& chain) {
  auto self = argument(walk, tensor), chosen = argument(walk, mask);
  if (!self || !chosen) return false;
  auto type = type_of_tensor(walk.recorder.bridge(), tensor.object);
  auto wide = type_of_tensor(walk.recorder.bridge(), mask.object);
  if (!type || !wide || wide->rank() > type->rank() || wide->rank() == 0)
    return walk.verdict.broke(Code::PS0301, "the size of what a mask selects depends on elements");
  chain.type = *type;
  chain.current = *self;
  Argument number;
  if (walk.is_tensor(value.object)) {
    const auto given = type_of_tensor(walk.recorder.bridge(), value.object);
    auto stored = argument(walk, value);
    if (!stored) return false;
    const auto *of = self->as<Argument::Value>(), *marks = chosen->as<Argument::Value>();
    if (of != nullptr && marks != nullptr)
      chain.rows = row_count(walk, of->id, wide->rank(), *stored);
    const bool is_number = given && given->rank() == 0 && given->dtype == type->dtype;
    if (!is_number && !chain.rows) {
      return walk.verdict.broke(Code::PS0301,
                                "how many elements a mask selects depends on elements");
    }
    if (chain.rows) chain.mask = marks->id;
    number = *stored;
  } else {
    auto data = python_data(walk, value);
    if (!data)
      return walk.verdict.broke(Code::PS0310, "what is no number is stored through a mask");
    if (!plan_data(walk, *data, type->dtype, chain.nodes)) return false;
    number = Argument::Value{planned_value(chain.nodes.size() - 1)};
  }
  Argument widened = *chosen;
  while (wide->rank() < type->rank()) {
    const auto dim = static_cast<std::int64_t>(wide->rank());
    wide->sizes.emplace_back(1);
    wide->strides.emplace_back(1);
    PlannedNode node{"aten.unsqueeze.default", {{"self", widened}, {"dim", dim}}, {}, *wide};
    for_each_value(widened, [&](ValueId id) { node.values.push_back(id); });
    chain.nodes.push_back(std::move(node));
    widened = Argument::Value{planned_value(chain.nodes.size() - 1)};
  }
  if (chain.rows)
    chain.add("aten.masked_scatter_.default", {{"mask", widened}, {"source", number}});
  else
    chain.add("aten.masked_fill_.Tensor", {{"mask", widened}, {"value", number}});
  return true;
}

}  // namespace

bool tensor_store_subscript(Walk& walk, FrameShadow& f, Operand tensor, Operand key, Operand value,
                            int pops) {
  auto stored = argument(walk, value);
  if (!stored) return false;
  IndexChain chain;
  const auto mask = only_mask(walk, key);
  if (!(mask ? mask_chain(walk, tensor, *mask, value, chain)
             : index_chain(walk, tensor, key, true, chain)))
    return false;
  auto self = argument(walk, tensor), index = shown(walk, key);
  if (!self || !index) return false;
  const ValueId written = self->as<Argument::Value>()->id;
  if (!may_write(walk, "operator.setitem", written, chain.type)) return false;
  std::vector<ValueId> given;
  for_each_value(*stored, [&](ValueId id) { given.push_back(id); });
  if (!may_write_differentiated(walk, "operator.setitem", written, given)) return false;
  if (!walk.recorder.before_write(written)) {
    return walk.verdict.broke(Code::PS0309, "an input that is written cannot be copied");
  }
  const bool scalar = stored->as<Argument::Value>() == nullptr;
  if (mask) {
    // masked_fill_ or masked_scatter_ is there
  } else if (chain.indices) {
    Argument values = *stored;
    if (scalar) {
      auto data = python_data(walk, value);
      if (!data)
        return walk.verdict.broke(Code::PS0310,
                                  "what is no number is stored through an index tensor");
      if (!plan_data(walk, *data, chain.type.dtype, chain.nodes)) return false;
      values = Argument::Value{planned_value(chain.nodes.size() - 1)};
    }
    chain.add("aten.index_put_.default",
              {{"indices", *chain.indices}, {"values", std::move(values)}});
  } else if (scalar) {
    chain.add("aten.fill_.Scalar", {{"value", *stored}});
  } else {
    chain.add("aten.copy_.default", {{"src", *stored}});
  }
  if (chain.rows) demand_count(walk, chain.mask, *chain.rows);
  walk.context.guard_grad_mode();
  Call call{"call_function", "setitem", "operator.setitem", {*self, *index, *stored}, {},
            walk.stack(),    {}};
  return record(walk, f, std::move(call), std::move(chain.nodes), {}, pops);
}

std::optional<Argument> shown(Walk& walk, Operand key) {
  if (PyTuple_CheckExact(key.object) || walk.is_tensor(key.object)) return argument(walk, key);
  const bool slice = PySlice_Check(key.object) && key.shadow.is(Shadow::Kind::fresh);
  if (slice || symbolic_index(walk, key)) return size_or_argument(walk, key);
  if (auto literal = literal_of(key.object)) return literal;
  // A number of NumPy's is an index as any other.
  const auto index = PyIndex_Check(key.object) ? python::PyRef::steal(PyNumber_Index(key.object))
                                               : python::PyRef();
  if (!index) PyErr_Clear();
  auto literal = index ? literal_of(index.get()) : std::nullopt;
  if (!literal && walk.context.for_backend()) {
    walk.verdict.broke(Code::PS0309,
                       std::string("a tensor is indexed by a ") + Py_TYPE(key.object)->tp_name);
    return std::nullopt;
  }
  return literal ? literal : Argument(Argument::None{});
}

}  // namespace penstock::record
