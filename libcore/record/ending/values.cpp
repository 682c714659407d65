// Recipes for the values that a segment leaves behind: everything is real already; a recipe says
// how to make the same again from the graph's outputs and what the sources held.

#include <algorithm>

#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/ending/segment_ending.h"
#include "record/objects/container.h"
#include "torch/spent_gradient.h"

namespace penstock::record {

using python::is_torch_size;
using python::literal_of;
using python::PyRef;

namespace {

/// True for a tuple that has a torch.Size somewhere among its items.
bool holds_torch_size(PyObject* tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    if (is_torch_size(item) || (PyTuple_CheckExact(item) && holds_torch_size(item))) return true;
  }
  return false;
}

}  // namespace

Recipe SegmentEnding::live(PyObject* object) {
  Recipe recipe;
  recipe.kind = Recipe::Kind::literal;
  recipe.literal = Argument::Named{Argument::Named::Kind::object, python::qualified_name(object)};
  recipe.live = walk_.recorder.guards().live(object);
  return recipe;
}

/// A torch.Size stands as a tuple in documents: made again of one.
Recipe SegmentEnding::size_of(PyObject* size) {
  Recipe recipe;
  recipe.kind = Recipe::Kind::call;
  recipe.items.push_back(live(reinterpret_cast<PyObject*>(Py_TYPE(size))));
  Recipe& tuple = recipe.items.emplace_back();
  tuple.literal = *literal_of(size);
  return recipe;
}

Recipe SegmentEnding::literal(PyObject* object, SourceId source) {
  if (is_torch_size(object)) return size_of(object);
  Recipe recipe;
  if (PyTuple_CheckExact(object) && holds_torch_size(object)) {
    recipe.kind = Recipe::Kind::tuple;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      recipe.items.push_back(literal(PyTuple_GET_ITEM(object, i), kNoSource));
    }
    return recipe;
  }
  if (python::is_immutable_literal(object)) {
    recipe.kind = Recipe::Kind::literal;
    recipe.literal = *literal_of(object);
    return recipe;
  }
  if (source != kNoSource) {
    recipe.kind = Recipe::Kind::source;
    recipe.source = source;
    return recipe;
  }
  if (PyExceptionInstance_Check(object)) {
    failed_ = true;
    reason_ = "an exception that it caught";
  }
  if (walk_.recorder.bridge().is_plain_tensor(object) &&
      Py_TYPE(object) != walk_.recorder.bridge().parameter_type()) {
    failed_ = true;  // the key of a dict or set: each call makes its own
    reason_ = "a dict or set by tensors that the segment made";
  }
  return live(object);
}

/// A size that elements decide, or what is computed of such: the run knows it.
Recipe SegmentEnding::decided(Operand number) {
  Recipe recipe;
  const auto size = walk_.sizes.decided_expression(number.shadow.index);
  if (!size) {
    failed_ = true;
    reason_ = "a number that is computed of a size which elements decide";
    return recipe;
  }
  recipe.kind = size->is_constant() ? Recipe::Kind::literal : Recipe::Kind::symbol;
  if (size->is_constant()) recipe.literal = *size->constant();
  recipe.expression = *size;
  return recipe;
}

Recipe SegmentEnding::recipe(Operand operand) {
  Recipe recipe;
  switch (operand.shadow.kind) {
    case Shadow::Kind::constant:
      return literal(operand.object, operand.shadow.index);
    case Shadow::Kind::sourced:
      if (walk_.recorder.guards().is_decided(operand.shadow.index)) return decided(operand);
      recipe.kind = Recipe::Kind::source;
      recipe.source = operand.shadow.index;
      return recipe;
    case Shadow::Kind::node:
      if (const auto pending = pending_gradients(operand.object)) {
        if (!failed_) culprit_ = pending->place;
        failed_ = true;
        reason_ = pending->what;
        return {};
      }
      if (walk_.gradients.went_backward() && walk_.recorder.bridge().requires_grad(operand.object))
        return spent(operand);
      recipe.kind = Recipe::Kind::output;
      recipe.index = walk_.recorder.output(operand.shadow.index, operand.object);
      return recipe;
    case Shadow::Kind::fresh:
      return fresh(operand.shadow.index);
    case Shadow::Kind::null:
    case Shadow::Kind::unknown:
      break;
  }
  if (!failed_)
    reason_ = std::string("a ") + Py_TYPE(operand.object)->tp_name + " of unknown origin";
  failed_ = true;
  return recipe;
}

/// The gradients that may be asked for of the tensor and that no entry leaves so: it is a leaf that
/// the segment made, or they would go to one; or backward() was called, and did not go through it.
std::optional<SegmentEnding::Pending> SegmentEnding::pending_gradients(PyObject* tensor) const {
  if (!walk_.recorder.bridge().requires_grad(tensor) || walk_.gradients.is_spent(tensor))
    return std::nullopt;
  if (const auto place = walk_.gradients.leaf_behind(tensor))
    return Pending{*place, "a tensor of which gradients were required here"};
  if (!walk_.gradients.went_backward()) return std::nullopt;
  return Pending{walk_.gradients.first_backward(),
                 "a tensor whose gradients backward() has not been through"};
}

/// A result that requires gradients behind a backward() of the segment: an output that requires
/// none, to which a function of ours adds what is left to be seen (torch/spent_gradient.h).
Recipe SegmentEnding::spent(Operand tensor) {
  auto [found, added] =
      spent_.emplace(tensor.shadow.index, static_cast<std::int32_t>(interface_.objects.size()));
  if (added) {
    interface_.objects.emplace_back();
    Recipe output;
    output.kind = Recipe::Kind::output;
    output.index = walk_.recorder.output(tensor.shadow.index, tensor.object, true);
    const PyRef name = PyRef::steal(PyUnicode_FromString(name_of_grad_fn(tensor.object).c_str()));
    interface_.objects[static_cast<std::size_t>(found->second)] =
        call_of(torch::spent_function(), {std::move(output), literal(name.get(), kNoSource)});
  }
  Recipe recipe;
  recipe.kind = Recipe::Kind::object;
  recipe.index = found->second;
  return recipe;
}

Recipe SegmentEnding::fresh(ObjectId id) {
  ObjectShadow& known = walk_.objects.object(id);
  if (!known.object) {
    walk_.verdict.spoil("an object that nobody held any more is left behind");
    return {};
  }
  if (PyCell_Check(known.object.get())) {
    if (auto cell = old_cell(known)) return *cell;
  } else if (known.origin.is(Shadow::Kind::sourced)) {
    return recipe({known.origin, known.object.get()});
  }
  // Made once, named by everything that refers to it: sharing and cycles are kept.
  auto [found, added] = made_.emplace(id, static_cast<std::int32_t>(interface_.objects.size()));
  const std::int32_t at = found->second;
  if (added) {
    interface_.objects.emplace_back();
    const bool described = !failed_;
    Recipe content = contents(known);
    if (described && failed_ && culprit_.code == nullptr) culprit_ = known.made_at;
    interface_.objects[at] = std::move(content);
  }
  Recipe recipe;
  recipe.kind = Recipe::Kind::object;
  recipe.index = at;
  return recipe;
}

Recipe SegmentEnding::items_of(Recipe::Kind kind, Operand sequence) {
  Recipe recipe;
  recipe.kind = kind;
  const std::vector<Shadow> all = walk_.objects.items(sequence);
  const PyRef listed = PyRef::steal(PySequence_Fast(sequence.object, ""));  // of a deque: a list
  for (std::size_t i = 0; i < all.size(); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(listed.get(), static_cast<Py_ssize_t>(i));
    recipe.items.push_back(this->recipe({all[i], item}));
  }
  return recipe;
}

Recipe SegmentEnding::instance(ObjectShadow& known) {
  PyObject* object = known.object.get();
  Recipe recipe;
  recipe.kind = Recipe::Kind::instance;
  recipe.items.push_back(live(reinterpret_cast<PyObject*>(Py_TYPE(object))));
  // The members that its class has slots for.
  PyObject *slot, *position;
  for (Py_ssize_t at = 0; known.keys && PyDict_Next(known.keys.get(), &at, &slot, &position);) {
    PyRef value = PyRef::steal(PyObject_GenericGetAttr(object, slot));
    PyErr_Clear();
    if (!value) continue;
    recipe.items.push_back(literal(slot, kNoSource));
    recipe.items.push_back(this->recipe({known.values[PyLong_AsSsize_t(position)], value.get()}));
  }
  return attributes(known, std::move(recipe));
}

/// Adds the attributes that are in the instance's dict.
Recipe SegmentEnding::attributes(ObjectShadow& known, Recipe recipe) {
  PyObject* object = known.object.get();
  const ObjectId dict = walk_.objects.instance_dict({known.origin, object});
  if (dict == kNoSource) return recipe;
  PyObject *key, *value;
  PyObject* attributes = walk_.objects.object(dict).object.get();
  for (Py_ssize_t at = 0; PyDict_Next(attributes, &at, &key, &value);) {
    recipe.items.push_back(literal(key, kNoSource));
    recipe.items.push_back(this->recipe({walk_.objects.dict_value(dict, key, value), value}));
  }
  return recipe;
}

/// An instance of a subclass of dict: its class, a dict of its items, then its attributes.
Recipe SegmentEnding::mapping(ObjectShadow& known) {
  PyObject* object = known.object.get();
  Recipe recipe;
  recipe.kind = Recipe::Kind::instance;
  recipe.items.push_back(live(reinterpret_cast<PyObject*>(Py_TYPE(object))));
  recipe.items.push_back(pairs_of(known));
  return attributes(known, std::move(recipe));
}

/// The dict of an instance that the segment made: that of the one which is made behind it.
Recipe SegmentEnding::attributes_of(Shadow owner) {
  const ObjectShadow& instance = walk_.objects.object(owner.index);
  static PyObject* const get =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__getattribute__");
  static PyObject* const name = PyUnicode_InternFromString("__dict__");
  return call_of(get, {recipe({owner, instance.object.get()}), literal(name, kNoSource)});
}

Recipe SegmentEnding::pairs_of(ObjectShadow& known) {
  PyObject* object = known.object.get();
  const ObjectId id = walk_.objects.id_of(object);
  PyRef keys = keys_in_order(object);
  Recipe recipe;
  recipe.kind = Recipe::Kind::dict;
  for (Py_ssize_t i = 0; keys && i < PyList_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyList_GET_ITEM(keys.get(), i);
    PyObject* real = PyDict_GetItemWithError(object, key);
    recipe.items.push_back(literal(key, kNoSource));
    recipe.items.push_back(this->recipe({walk_.objects.dict_value(id, key, real), real}));
  }
  return recipe;
}

namespace {

/// True for what torch.max(x, 0) and its like give: a tuple whose class takes its items.
bool is_struct_sequence(PyObject* object) {
  return PyTuple_Check(object) && python::type_dict(Py_TYPE(object)) != nullptr &&
         PyDict_GetItemString(python::type_dict(Py_TYPE(object)), "n_unnamed_fields") != nullptr &&
         Py_TYPE(object)->tp_base == &PyTuple_Type;
}

}  // namespace

/// A method of a class that is written in C is bound to the class anew each time that it is read:
/// by its name or, where super found it behind another of that name, by its descriptor.
Recipe SegmentEnding::method_of_class(ObjectShadow& known) {
  auto* method = reinterpret_cast<PyCFunctionObject*>(known.object.get());
  PyObject* type = method->m_self;
  PyObject* order = type != nullptr && PyType_Check(type) && known.items.size() == 2
                        ? reinterpret_cast<PyTypeObject*>(type)->tp_mro
                        : nullptr;
  const PyRef name = PyRef::steal(PyUnicode_FromString(method->m_ml->ml_name));
  PyObject* descriptor = nullptr;
  bool hidden = false;
  for (Py_ssize_t i = 0; order != nullptr && i < PyTuple_GET_SIZE(order); ++i) {
    auto* holder = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, i));
    PyObject* own = PyDict_GetItemWithError(python::type_dict(holder), name.get());
    const bool same = own != nullptr && Py_TYPE(own) == &PyClassMethodDescr_Type &&
                      reinterpret_cast<PyMethodDescrObject*>(own)->d_method == method->m_ml;
    if (same) descriptor = own;
    if (same) break;
    hidden = hidden || own != nullptr;
  }
  const PyRef get = hidden ? PyRef::steal(PyObject_GetAttrString(
                                 reinterpret_cast<PyObject*>(&PyClassMethodDescr_Type), "__get__"))
                           : PyRef::borrow(PyDict_GetItemString(PyEval_GetBuiltins(), "getattr"));
  if (descriptor == nullptr || !get) {
    PyErr_Clear();
    failed_ = true;
    reason_ = "a method of a class";
    return {};
  }
  Recipe recipe;
  recipe.kind = Recipe::Kind::call;
  const Recipe of = this->recipe({known.items[1], type});
  recipe.items = hidden ? std::vector<Recipe>{live(get.get()), live(descriptor),
                                              literal(Py_None, kNoSource), of}
                        : std::vector<Recipe>{live(get.get()), of, literal(name.get(), kNoSource)};
  return recipe;
}

/// A list of a class of its own, which is filled as a list is: the class called with the items.
Recipe SegmentEnding::list_of(Operand list) {
  PyTypeObject* type = Py_TYPE(list.object);
  PyRef attributes = PyRef::steal(PyObject_GenericGetDict(list.object, nullptr));
  PyErr_Clear();
  const bool plain = type->tp_new == PyList_Type.tp_new && type->tp_init == PyList_Type.tp_init &&
                     (!attributes || PyDict_GET_SIZE(attributes.get()) == 0);
  if (!plain) return cannot(list.object);
  return call_of(reinterpret_cast<PyObject*>(type), {items_of(Recipe::Kind::list, list)});
}

Recipe SegmentEnding::deque_of(Operand deque) {
  const PyRef room = PyRef::steal(PyObject_GetAttrString(deque.object, "maxlen"));
  return call_of(reinterpret_cast<PyObject*>(Py_TYPE(deque.object)),
                 {items_of(Recipe::Kind::list, deque), literal(room.get(), kNoSource)});
}

Recipe SegmentEnding::tuple_of(Operand tuple) {
  PyTypeObject* type = Py_TYPE(tuple.object);
  if (type == &PyTuple_Type) return items_of(Recipe::Kind::tuple, tuple);
  PyObject* made = reinterpret_cast<PyObject*>(type);
  if (is_struct_sequence(tuple.object) || is_torch_size(tuple.object)) {
    return call_of(made, {items_of(Recipe::Kind::tuple, tuple)});
  }
  if (type->tp_dictoffset != 0) return cannot(tuple.object);
  // A named tuple: tuple.__new__(class, items).
  PyRef maker =
      PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyTuple_Type), "__new__"));
  return call_of(maker.get(), {live(made), items_of(Recipe::Kind::tuple, tuple)});
}

/// A defaultdict: the class called with what makes its items, and with those that it has.
Recipe SegmentEnding::default_dict_of(ObjectShadow& known) {
  const PyRef maker = PyRef::steal(PyObject_GetAttrString(known.object.get(), "default_factory"));
  const Operand made_by{default_maker(walk_, {known.origin, known.object.get()}), maker.get()};
  return call_of(reinterpret_cast<PyObject*>(Py_TYPE(known.object.get())),
                 {this->recipe(made_by), pairs_of(known)});
}

Recipe SegmentEnding::dict_of(ObjectShadow& known) {
  PyObject* object = known.object.get();
  if (PyDict_CheckExact(object)) return pairs_of(known);
  if (python::is_default_dict(object)) return default_dict_of(known);
  const bool plain = Py_TYPE(object)->tp_new == PyDict_Type.tp_new &&
                     (Py_TYPE(object)->tp_dictoffset != 0 || PyODict_CheckExact(object));
  return plain ? mapping(known) : cannot(object);
}

Recipe SegmentEnding::set_of(PyObject* set) {
  PyRef list = PyRef::steal(PySequence_List(set));
  Recipe recipe;
  recipe.kind = PySet_CheckExact(set) ? Recipe::Kind::set : Recipe::Kind::frozenset;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
    PyObject* item = PyList_GET_ITEM(list.get(), i);
    if (Py_TYPE(item)->tp_hash == PyBaseObject_Type.tp_hash &&
        PyType_HasFeature(Py_TYPE(item), Py_TPFLAGS_HEAPTYPE)) {
      failed_ = true;  // an entry must not keep the program's objects alive
      reason_ = "a set of objects that the segment made";
      return {};
    }
    recipe.items.push_back(literal(item, kNoSource));
  }
  return recipe;
}

/// The parts in the order in which the object's shadow has theirs.
Recipe SegmentEnding::parts_of(Recipe::Kind kind, const ObjectShadow& known,
                               std::initializer_list<PyObject*> parts) {
  Recipe recipe;
  recipe.kind = kind;
  std::size_t at = 0;
  for (PyObject* part : parts) recipe.items.push_back(this->recipe({known.items[at++], part}));
  return recipe;
}

Recipe SegmentEnding::cannot(PyObject* object) {
  failed_ = true;
  reason_ = std::string("a ") + Py_TYPE(object)->tp_name + " that the segment made";
  return {};
}

Recipe SegmentEnding::contents(ObjectShadow& known) {
  PyObject* object = known.object.get();
  const Operand operand{known.origin, object};
  if (PyContextToken_CheckExact(object)) {
    const auto open = std::ranges::find(walk_.context.variables(), object,
                                        [](const OpenContext& one) { return one.token.get(); });
    if (open != walk_.context.variables().end()) return token(*open);
  }
  if (known.made_by) {
    std::vector<Recipe> arguments;
    for (const auto& [shadow, argument] : known.made_by->arguments)
      arguments.push_back(recipe({shadow, argument.get()}));
    return call_of(known.made_by->function.get(), std::move(arguments));
  }
  if (PyCell_Check(object)) return cell_of(object);
  if (PyFunction_Check(object)) return function(object);
  if (PyList_CheckExact(object)) return items_of(Recipe::Kind::list, operand);
  if (PyList_Check(object)) return list_of(operand);
  if (PyTuple_Check(object)) return tuple_of(operand);
  if (python::is_deque(object)) return deque_of(operand);
  if (known.is_instance_dict && known.owner.is(Shadow::Kind::fresh))
    return attributes_of(known.owner);
  if (PyDict_Check(object)) return dict_of(known);
  if (PySet_CheckExact(object) || PyFrozenSet_CheckExact(object)) return set_of(object);
  if (PySlice_Check(object)) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    return parts_of(Recipe::Kind::slice, known, {slice->start, slice->stop, slice->step});
  }
  if (PyMethod_Check(object)) {
    return parts_of(Recipe::Kind::method, known,
                    {PyMethod_GET_FUNCTION(object), PyMethod_GET_SELF(object)});
  }
  if (PyCFunction_Check(object) && (PyCFunction_GET_FLAGS(object) & METH_CLASS) != 0)
    return method_of_class(known);
  if (known.iterator != nullptr) return iterator(known);
  const bool plain = Py_TYPE(object)->tp_new == PyBaseObject_Type.tp_new &&
                     PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE);
  return plain ? instance(known) : cannot(object);
}

}  // namespace penstock::record
