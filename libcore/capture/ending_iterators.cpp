// Recipes for iterators that are under way where a segment ends.

#include "capture/literal.h"
#include "capture/segment_ending.h"

namespace penstock::capture {

using python::PyRef;

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

}  // namespace penstock::capture
