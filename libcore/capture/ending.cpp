// What a segment leaves behind: recipes for the values that its frames, its result and its effects
// refer to. Everything is real already; a recipe says how to make the same again from the graph's
// outputs and what the sources held.

#include "capture/constructor.h"
#include "capture/literal.h"
#include "capture/rules.h"
#include "capture/walk.h"
#include "python/bytecode.h"
#include "python/torch_state.h"

#include <algorithm>

namespace penstock::capture {

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

/// Builds the interface of one segment.
class SegmentEnding {
 public:
  SegmentEnding(Walk& walk, bool returns)
      : walk_(walk), interface_(walk.recorder_.graph().interface), returns_(returns) {}

  void frame(FrameShadow& f, std::vector<Restore>& restore);
  void effects();
  Recipe recipe(Operand operand);
  bool failed() const { return failed_; }
  /// True if something that is left behind refers to the object.
  bool describes(PyObject* object) const {
    const auto known = walk_.by_identity_.find(object);
    return known != walk_.by_identity_.end() && made_.contains(known->second);
  }
  /// What could not be described.
  const std::string& reason() const { return reason_; }
  /// The instruction that made it, where the segment did.
  RaisePlace culprit() const { return culprit_; }

 private:
  Recipe literal(PyObject* object, SourceId source);
  Recipe size_of(PyObject* size);
  Recipe fresh(ObjectId id);
  Recipe contents(ObjectShadow& known);
  Recipe function(PyObject* function);
  Recipe instance(ObjectShadow& known);
  Recipe mapping(ObjectShadow& known);
  Recipe pairs_of(ObjectShadow& known);
  Recipe attributes(ObjectShadow& known, Recipe recipe);
  Recipe items_of(Recipe::Kind kind, Operand sequence);
  Recipe cell_of(PyObject* cell);
  std::optional<Recipe> old_cell(const ObjectShadow& cell);
  void cell_content(const ObjectShadow& cell);
  Recipe globals_of(PyFunctionObject* function);
  Recipe iterator(ObjectShadow& known);
  bool remaining(const IteratorShadow& over, std::vector<Recipe>& items);
  Recipe builtin_call(const char* function, std::vector<Recipe> arguments);
  Recipe token(const OpenContext& context);
  Recipe constructor(const Expected& call);
  Recipe live(PyObject* object);
  Recipe optional_part(PyObject* object);
  void slot(FrameShadow& f, int slot, std::vector<Restore>& restore);

  Walk& walk_;
  Interface& interface_;
  bool returns_;
  std::unordered_map<ObjectId, std::int32_t> made_;
  bool failed_ = false;
  RaisePlace culprit_;
  std::string reason_;
};

Recipe SegmentEnding::live(PyObject* object) {
  Recipe recipe;
  recipe.kind = Recipe::Kind::literal;
  recipe.literal = Argument::Named{Argument::Named::Kind::object, qualified_name(object)};
  recipe.live = walk_.recorder_.live(object);
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
  if (is_immutable_literal(object)) {
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
  return live(object);
}

Recipe SegmentEnding::recipe(Operand operand) {
  Recipe recipe;
  switch (operand.shadow.kind) {
    case Shadow::Kind::constant: return literal(operand.object, operand.shadow.index);
    case Shadow::Kind::sourced:
      recipe.kind = Recipe::Kind::source;
      recipe.source = operand.shadow.index;
      return recipe;
    case Shadow::Kind::node:
      recipe.kind = Recipe::Kind::output;
      recipe.index = walk_.recorder_.output(operand.shadow.index, operand.object);
      return recipe;
    case Shadow::Kind::fresh: return fresh(operand.shadow.index);
    case Shadow::Kind::null:
    case Shadow::Kind::unknown: break;
  }
  if (!failed_) reason_ = std::string("a ") + Py_TYPE(operand.object)->tp_name + " of unknown origin";
  failed_ = true;
  return recipe;
}

Recipe SegmentEnding::fresh(ObjectId id) {
  ObjectShadow& known = walk_.object(id);
  if (!known.object) {
    walk_.spoil("an object that nobody held any more is left behind");
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
  const std::vector<Shadow> all = walk_.items(sequence);
  for (std::size_t i = 0; i < all.size(); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(sequence.object, static_cast<Py_ssize_t>(i));
    recipe.items.push_back(this->recipe({all[i], item}));
  }
  return recipe;
}

/// The cell itself, if there is one behind the segment that need not be made: the frame's own, or one
/// in the closure of a function that existed before.
std::optional<Recipe> SegmentEnding::old_cell(const ObjectShadow& cell) {
  const bool made_here = cell.origin.is(Shadow::Kind::fresh);
  Recipe recipe;
  if (cell.own_slot >= 0) {
    // A frame that returns leaves its cells to those who hold them.
    if (made_here && returns_) return std::nullopt;
    recipe.kind = Recipe::Kind::cell;
    recipe.index = cell.own_slot;
    return recipe;
  }
  const SourceId content = cell.origin.source();
  if (content == kNoSource || interface_.sources[content].kind != SourceKind::closure) {
    return std::nullopt;
  }
  const SourceStep step = interface_.sources[content];
  const SourceId closure = walk_.recorder_.source(SourceKind::attribute, step.base, "__closure__");
  recipe.kind = Recipe::Kind::source;
  recipe.source = walk_.recorder_.source(SourceKind::item, closure, {}, step.index);
  return recipe;
}

/// What the segment wrote into a cell that is there behind it.
void SegmentEnding::cell_content(const ObjectShadow& cell) {
  auto target = old_cell(cell);
  if (!cell.written || !target) return;
  PyObject* content = PyCell_GET(cell.object.get());
  if (content == nullptr) {
    failed_ = true;
    reason_ = "an emptied variable of an enclosing function";
    return;
  }
  Restore record;
  record.kind = Restore::Kind::cell;
  record.value = recipe({cell.items[0], content});
  if (cell.own_slot >= 0) {
    record.index = cell.own_slot;
    record.name = text_of(python::slot_name(walk_.start_->frame->code(), cell.own_slot));
  } else {
    record.target = std::move(*target);
  }
  interface_.restore.push_back(std::move(record));
}

Recipe SegmentEnding::cell_of(PyObject* cell) {
  ObjectShadow* known = walk_.find(cell);
  Recipe recipe;
  recipe.kind = Recipe::Kind::cell;
  if (known == nullptr) return live(cell);
  if (PyCell_GET(cell) != nullptr) {
    recipe.items.push_back(this->recipe({known->items[0], PyCell_GET(cell)}));
  }
  return recipe;
}

Recipe SegmentEnding::optional_part(PyObject* object) {
  if (object == nullptr) return literal(Py_None, kNoSource);
  if (ObjectShadow* known = walk_.find(object)) return recipe({known->origin, object});
  return literal(object, kNoSource);
}

/// None stands for the globals of the segment's own frame.
Recipe SegmentEnding::globals_of(PyFunctionObject* function) {
  if (function->func_globals == walk_.start_->frame->globals()) return literal(Py_None, kNoSource);
  return live(function->func_globals);
}

Recipe SegmentEnding::function(PyObject* object) {
  auto* function = reinterpret_cast<PyFunctionObject*>(object);
  Recipe recipe;
  recipe.kind = Recipe::Kind::function;
  recipe.items.push_back(live(function->func_code));
  recipe.items.push_back(globals_of(function));
  recipe.items.push_back(literal(function->func_qualname, kNoSource));
  recipe.items.push_back(optional_part(function->func_defaults));
  recipe.items.push_back(optional_part(function->func_kwdefaults));
  recipe.items.push_back(optional_part(function->func_annotations));
  if (function->func_closure != nullptr) {
    Recipe closure;
    closure.kind = Recipe::Kind::tuple;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(function->func_closure); ++i) {
      PyObject* cell = PyTuple_GET_ITEM(function->func_closure, i);
      ObjectShadow* known = walk_.find(cell);
      closure.items.push_back(known == nullptr ? live(cell)
                                               : fresh(walk_.by_identity_[cell]));
    }
    recipe.items.push_back(std::move(closure));
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
    recipe.items.push_back(
        this->recipe({known.values[PyLong_AsSsize_t(position)], value.get()}));
  }
  return attributes(known, std::move(recipe));
}

/// Adds the attributes that are in the instance's dict.
Recipe SegmentEnding::attributes(ObjectShadow& known, Recipe recipe) {
  PyObject* object = known.object.get();
  const ObjectId dict = walk_.instance_dict({known.origin, object});
  if (dict == kNoSource) return recipe;
  PyObject *key, *value;
  PyObject* attributes = walk_.object(dict).object.get();
  for (Py_ssize_t at = 0; PyDict_Next(attributes, &at, &key, &value);) {
    recipe.items.push_back(literal(key, kNoSource));
    recipe.items.push_back(this->recipe({walk_.dict_value(dict, key, value), value}));
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

Recipe SegmentEnding::pairs_of(ObjectShadow& known) {
  PyObject* object = known.object.get();
  const ObjectId id = walk_.dict_contents({known.origin, object});
  PyRef keys = keys_in_order(object);
  Recipe recipe;
  recipe.kind = Recipe::Kind::dict;
  for (Py_ssize_t i = 0; keys && i < PyList_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyList_GET_ITEM(keys.get(), i);
    PyObject* real = PyDict_GetItemWithError(object, key);
    recipe.items.push_back(literal(key, kNoSource));
    recipe.items.push_back(this->recipe({walk_.dict_value(id, key, real), real}));
  }
  return recipe;
}

namespace {

/// True for what torch.max(x, 0) and its like give: a tuple whose class takes its items.
bool is_struct_sequence(PyObject* object) {
  return PyTuple_Check(object) && Py_TYPE(object)->tp_dict != nullptr &&
         PyDict_GetItemString(Py_TYPE(object)->tp_dict, "n_unnamed_fields") != nullptr &&
         Py_TYPE(object)->tp_base == &PyTuple_Type;
}

}  // namespace

/// The variable is set again: the token is what that gives.
Recipe SegmentEnding::token(const OpenContext& context) {
  static PyObject* const set = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyContextVar_Type), "set");
  Recipe recipe;
  recipe.kind = Recipe::Kind::call;
  recipe.items = {live(set), live(context.variable.get())};
  recipe.items.push_back(this->recipe({context.value, context.value_object.get()}));
  return recipe;
}

/// Stands for a class whose __init__ is under way: goes on in it with the object that there is.
Recipe SegmentEnding::constructor(const Expected& call) {
  const Shadow made = call.new_self ? Shadow::fresh(walk_.by_identity_[call.self]) : call.made;
  Recipe recipe;
  recipe.kind = Recipe::Kind::call;
  recipe.items = {live(construct_function()), live(call.function)};
  recipe.items.push_back(this->recipe({made, walk_.object(made.index).object.get()}));
  return recipe;
}

Recipe SegmentEnding::contents(ObjectShadow& known) {
  PyObject* object = known.object.get();
  const Operand operand{known.origin, object};
  if (PyContextToken_CheckExact(object)) {
    const auto open = std::ranges::find(walk_.contexts_, object, [](const OpenContext& one) { return one.token.get(); });
    if (open != walk_.contexts_.end()) return token(*open);
  }
  if (PyCell_Check(object)) return cell_of(object);
  if (PyFunction_Check(object)) return function(object);
  if (PyList_CheckExact(object)) return items_of(Recipe::Kind::list, operand);
  if (PyTuple_CheckExact(object)) return items_of(Recipe::Kind::tuple, operand);
  if (is_struct_sequence(object)) {
    Recipe recipe;
    recipe.kind = Recipe::Kind::call;
    recipe.items.push_back(live(reinterpret_cast<PyObject*>(Py_TYPE(object))));
    recipe.items.push_back(items_of(Recipe::Kind::tuple, operand));
    return recipe;
  }
  if (PyDict_CheckExact(object)) return pairs_of(known);
  const bool has_slots = Py_TYPE(object)->tp_dictoffset == 0;
  if (PyDict_Check(object) && Py_TYPE(object)->tp_new == PyDict_Type.tp_new &&
      (!has_slots || PyODict_CheckExact(object))) {
    return mapping(known);
  }
  if (is_torch_size(object)) {
    Recipe recipe;
    recipe.kind = Recipe::Kind::call;
    recipe.items = {live(reinterpret_cast<PyObject*>(Py_TYPE(object))), items_of(Recipe::Kind::tuple, operand)};
    return recipe;
  }
  if (PyTuple_Check(object) && Py_TYPE(object)->tp_dictoffset == 0) {
    // A named tuple: tuple.__new__(class, items).
    PyRef maker = PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyTuple_Type), "__new__"));
    Recipe recipe;
    recipe.kind = Recipe::Kind::call;
    recipe.items.push_back(live(maker.get()));
    recipe.items.push_back(live(reinterpret_cast<PyObject*>(Py_TYPE(object))));
    recipe.items.push_back(items_of(Recipe::Kind::tuple, operand));
    return recipe;
  }
  if (PySet_CheckExact(object) || PyFrozenSet_CheckExact(object)) {
    PyRef list = PyRef::steal(PySequence_List(object));
    Recipe recipe;
    recipe.kind = PySet_CheckExact(object) ? Recipe::Kind::set : Recipe::Kind::frozenset;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
      PyObject* item = PyList_GET_ITEM(list.get(), i);
      if (Py_TYPE(item)->tp_hash == PyBaseObject_Type.tp_hash && PyType_HasFeature(Py_TYPE(item), Py_TPFLAGS_HEAPTYPE)) {
        failed_ = true;  // an entry must not keep the program's objects alive
        reason_ = "a set of objects that the segment made";
        return {};
      }
      recipe.items.push_back(literal(item, kNoSource));
    }
    return recipe;
  }
  if (PySlice_Check(object)) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    Recipe recipe;
    recipe.kind = Recipe::Kind::slice;
    PyObject* parts[] = {slice->start, slice->stop, slice->step};
    for (int i = 0; i < 3; ++i) recipe.items.push_back(this->recipe({known.items[i], parts[i]}));
    return recipe;
  }
  if (PyMethod_Check(object)) {
    Recipe recipe;
    recipe.kind = Recipe::Kind::method;
    recipe.items.push_back(this->recipe({known.items[0], PyMethod_GET_FUNCTION(object)}));
    recipe.items.push_back(this->recipe({known.items[1], PyMethod_GET_SELF(object)}));
    return recipe;
  }
  if (known.iterator != nullptr) return iterator(known);
  const bool plain = Py_TYPE(object)->tp_new == PyBaseObject_Type.tp_new &&
                     PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE);
  if (plain) return instance(known);
  failed_ = true;
  reason_ = std::string("a ") + Py_TYPE(object)->tp_name + " that the segment made";
  return {};
}

Recipe SegmentEnding::builtin_call(const char* function, std::vector<Recipe> arguments) {
  Recipe recipe;
  recipe.kind = Recipe::Kind::call;
  recipe.items.push_back(live(PyDict_GetItemString(PyEval_GetBuiltins(), function)));
  for (Recipe& argument : arguments) recipe.items.push_back(std::move(argument));
  return recipe;
}

/// What an iterator has still to give, as recipes; false for kinds that cannot be listed.
bool SegmentEnding::remaining(const IteratorShadow& over, std::vector<Recipe>& items) {
  using Kind = IteratorShadow::Kind;
  PyObject* object = over.object.get();
  if (over.kind == Kind::items) {
    const std::vector<Shadow> all = walk_.items({over.shadow, object});
    for (auto i = static_cast<std::size_t>(over.next); i < all.size(); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(object, static_cast<Py_ssize_t>(i));
      items.push_back(recipe({all[i], item}));
    }
    return true;
  }
  if (over.kind == Kind::iterator) {
    ObjectShadow* known = walk_.find(object);
    return known != nullptr && known->iterator != nullptr && remaining(*known->iterator, items);
  }
  if (over.kind != Kind::keys && over.kind != Kind::values && over.kind != Kind::pairs) return false;
  const ObjectId dict = walk_.dict_contents({over.shadow, object});
  for (Py_ssize_t i = over.next; i < PyList_GET_SIZE(over.key_list.get()); ++i) {
    PyObject* key = PyList_GET_ITEM(over.key_list.get(), i);
    PyObject* value = PyDict_GetItemWithError(object, key);
    if (value == nullptr) return false;
    Recipe key_recipe = literal(key, kNoSource);
    if (over.kind == Kind::keys) {
      items.push_back(std::move(key_recipe));
      continue;
    }
    Recipe value_recipe = recipe({walk_.dict_value(dict, key, value), value});
    if (over.kind == Kind::values) {
      items.push_back(std::move(value_recipe));
      continue;
    }
    Recipe pair;
    pair.kind = Recipe::Kind::tuple;
    pair.items = {std::move(key_recipe), std::move(value_recipe)};
    items.push_back(std::move(pair));
  }
  return true;
}

/// An iterator that is under way becomes one over what it has still to give. It is of another type
/// than the original when that went over a dict, and does not see later changes of its container.
Recipe SegmentEnding::iterator(ObjectShadow& known) {
  using Kind = IteratorShadow::Kind;
  const IteratorShadow& over = *known.iterator;
  PyObject* object = known.object.get();
  if (over.kind == Kind::numbers && PyRange_Check(over.object.get())) {
    PyRef left = PyRef::steal(PyObject_CallMethod(object, "__length_hint__", nullptr));
    PyRef all = PyRef::steal(PySequence_Tuple(over.object.get()));
    if (left && all) {
      const Py_ssize_t count = PyTuple_GET_SIZE(all.get());
      const Py_ssize_t rest = PyLong_AsSsize_t(left.get());
      PyRef numbers = PyRef::steal(PyTuple_GetSlice(all.get(), count - rest, count));
      return builtin_call("iter", {literal(numbers.get(), kNoSource)});
    }
    PyErr_Clear();
  }
  Recipe list;
  list.kind = Recipe::Kind::list;
  if (over.kind == Kind::enumerate && remaining(*over.bases[0], list.items)) {
    PyRef state = PyRef::steal(PyObject_CallMethod(object, "__reduce__", nullptr));
    PyObject* arguments = state && PyTuple_Check(state.get()) ? PyTuple_GET_ITEM(state.get(), 1) : nullptr;
    if (arguments != nullptr) {
      return builtin_call("enumerate",
                          {std::move(list), literal(PyTuple_GET_ITEM(arguments, 1), kNoSource)});
    }
    PyErr_Clear();
  } else if (over.kind == Kind::zip) {
    std::vector<Recipe> bases;
    bool complete = true;
    for (const auto& base : over.bases) {
      Recipe rest;
      rest.kind = Recipe::Kind::list;
      complete = complete && remaining(*base, rest.items);
      bases.push_back(std::move(rest));
    }
    if (complete) return builtin_call("zip", std::move(bases));
  } else if (remaining(over, list.items)) {
    return builtin_call("iter", {std::move(list)});
  }
  failed_ = true;
  reason_ = std::string("a ") + Py_TYPE(object)->tp_name + " that is under way";
  return {};
}

void SegmentEnding::slot(FrameShadow& f, int slot, std::vector<Restore>& restore) {
  PyObject* object = f.frame->local(slot);
  const Shadow shadow = f.locals[slot];
  Restore record;
  record.index = slot;
  record.name = text_of(python::slot_name(f.frame->code(), slot));
  if (object == nullptr) {
    if (f.was_bound.empty() || !f.was_bound[slot]) return;
    record.kind = Restore::Kind::unbind;
    restore.push_back(std::move(record));
    return;
  }
  // The root's own cells are there; what is in them is among the effects.
  const bool root = f.caller == nullptr;
  if (root && is_cell_slot(f.frame->code(), slot) && PyCell_Check(object) &&
      shadow.is(Shadow::Kind::fresh)) {
    return;
  }
  if (shadow.is(Shadow::Kind::sourced) && f.caller == nullptr) {
    const SourceStep& step = interface_.sources[shadow.index];
    if (step.kind == SourceKind::local && step.index == slot) return;  // as it was
  }
  record.kind = Restore::Kind::local;
  const bool described = !failed_;
  record.value = recipe({shadow, object});
  if (described && failed_) reason_ += ", '" + record.name + "'";
  restore.push_back(std::move(record));
}

void SegmentEnding::frame(FrameShadow& f, std::vector<Restore>& restore) {
  for (int slot = 0; slot < f.frame->slot_count(); ++slot) this->slot(f, slot, restore);
  const bool constructs = &f != walk_.innermost_ && f.expected.is_constructing();
  const int callable = constructs ? callable_position(*f.frame, *f.instruction) : -1;
  for (int i = 0; i < f.frame->depth(); ++i) {
    PyObject* object = f.frame->stack()[i];
    const Shadow shadow = f.stack[i];
    if (object == nullptr) continue;  // a slot without a record is null behind the segment
    Restore record;
    record.kind = Restore::Kind::stack;
    record.index = i;
    if (i == callable && PyType_Check(object)) {
      record.value = constructor(f.expected);
      restore.push_back(std::move(record));
      continue;
    }
    const bool described = !failed_;
    record.value = recipe({shadow, object});
    if (described && failed_) reason_ += ", an operand of '" + text_of(f.frame->code()->co_qualname) + "',";
    restore.push_back(std::move(record));
  }
}

void SegmentEnding::effects() {
  for (const Effect& effect : walk_.effects_) {
    Restore record;
    record.kind = effect.kind;
    record.name = effect.name;
    record.target = recipe({effect.target, effect.target_object.get()});
    if (effect.key_object) record.key = recipe({effect.key, effect.key_object.get()});
    if (effect.value_object) record.value = recipe({effect.value, effect.value_object.get()});
    interface_.restore.push_back(std::move(record));
  }
  for (std::size_t i = 0; i < walk_.objects_.size(); ++i) {
    PyObject* object = walk_.objects_[i].object.get();
    if (object != nullptr && PyCell_Check(object)) cell_content(walk_.objects_[i]);
  }
}

CapturedSegment Walk::finish(SegmentEnd end, const Operand* result) {
  Interface& interface = recorder_.graph().interface;
  python::Frame& root = *start_->frame;
  SegmentEnding ending(*this, result != nullptr);
  ending.effects();
  if (result != nullptr) {
    Restore record;
    record.kind = Restore::Kind::result;
    record.value = ending.recipe(*result);
    interface.returns = record.value;
    interface.restore.push_back(std::move(record));
  } else {
    ending.frame(*start_, interface.restore);
  }
  for (FrameShadow* f = innermost_; result == nullptr && f != nullptr && f != start_; f = f->caller) {
    // Only an instruction whose operands are still there can be executed again to make a frame real.
    const FrameShadow& caller = *f->caller;
    const bool under_way = caller.frame->depth() < static_cast<int>(caller.stack.size());
    if (under_way || f->frame->is_generator()) {
      end_place_ = {caller.frame->code(), caller.instruction->offset};
      spoil("the segment ends inside what an instruction without operands runs");
    }
    InlinedFrame inlined;
    inlined.function = ending.recipe({f->function_shadow, f->function.get()});
    inlined.name = text_of(f->frame->code()->co_qualname);
    inlined.offset = f->instruction->offset;
    inlined.location = f->frame->bytecode().location(*f->instruction);
    ending.frame(*f, inlined.restore);
    interface.frames.insert(interface.frames.begin(), std::move(inlined));
  }
  for (const OpenContext& context : contexts_) {
    if (ending.describes(context.token.get())) continue;
    end_place_ = context.place;
    spoil("a context variable is set whose token nothing holds");
  }
  if (grad_guarded_ && python::grad_enabled() != grad_at_start_) {
    end_place_ = last_grad_change_;
    spoil("gradient mode changed in the segment");
  }
  if (ending.failed()) {
    if (end_place_.code == nullptr) end_place_ = ending.culprit();
    spoil("the segment leaves " + ending.reason() + " behind");
  }
  interface.name = text_of(root.code()->co_qualname);
  interface.start_offset = start_unit_;
  interface.end = std::move(end);
  interface.location = start_location_;
  recorder_.finish();
  CapturedSegment segment{std::move(recorder_.graph()), root.code(), {}, {}, {}};
  segment.live = std::move(recorder_.live_objects);
  segment.inputs = std::move(recorder_.input_objects);
  segment.outputs = std::move(recorder_.output_objects);
  return segment;
}

}  // namespace penstock::capture
