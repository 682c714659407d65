// Recipes for iterators that are under way where a segment ends, and for views of dicts.
//
// An iterator sees what becomes of its container while it goes over it: a loop over a list that
// grows meanwhile goes on to what was added. So behind a segment it is made over the container
// itself and takes as many steps as it had taken. How many these were is asked of the real one. A
// dict must have the keys then that it has now: behind a change of those the real iterator would
// refuse to go on, and one that is made anew would not.

#include "python/literal.h"
#include "record/ending/iterator_recipes.h"
#include "record/ending/segment_ending.h"

namespace penstock::record {

using python::PyRef;
using Kind = IteratorShadow::Kind;

namespace {

const char* view_name(Kind kind) {
  return kind == Kind::keys ? "keys" : kind == Kind::values ? "values" : "items";
}

bool is_dict_view(PyObject* object) {
  return PyDictKeys_Check(object) || PyDictValues_Check(object) || PyDictItems_Check(object);
}

/// What pickling an iterator would keep: a tuple of what makes it, the arguments for that and, for
/// some, steps.
PyRef state_of(PyObject* iterator) {
  PyRef state = PyRef::steal(PyObject_CallMethod(iterator, "__reduce__", nullptr));
  const bool known = state && PyTuple_Check(state.get()) && PyTuple_GET_SIZE(state.get()) >= 2 &&
                     PyTuple_Check(PyTuple_GET_ITEM(state.get(), 1));
  if (!known) PyErr_Clear();
  return known ? state : PyRef();
}

bool same_keys(PyObject* dict, PyObject* keys) {
  PyRef now = keys_in_order(dict);
  const Py_ssize_t count = PyList_GET_SIZE(keys);
  if (!now || PyList_GET_SIZE(now.get()) != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyList_GET_ITEM(now.get(), i) != PyList_GET_ITEM(keys, i)) return false;
  }
  return true;
}

}  // namespace

Recipe SegmentEnding::cannot_resume(PyObject* iterator) {
  failed_ = true;
  reason_ = std::string("a ") + Py_TYPE(iterator)->tp_name + " that is under way";
  return {};
}

Recipe SegmentEnding::number(std::int64_t value) {
  Recipe recipe;
  recipe.kind = Recipe::Kind::literal;
  recipe.literal = Argument(value);
  return recipe;
}

Recipe SegmentEnding::call_of(PyObject* callable, std::vector<Recipe> arguments) {
  Recipe recipe;
  recipe.kind = Recipe::Kind::call;
  recipe.items.push_back(live(callable));
  for (Recipe& argument : arguments) recipe.items.push_back(std::move(argument));
  return recipe;
}

Recipe SegmentEnding::resumed(Recipe container, const char* how, std::int64_t steps) {
  Recipe name;
  name.kind = Recipe::Kind::literal;
  name.literal = Argument(std::string(how));
  return call_of(resume_function(), {std::move(container), std::move(name), number(steps)});
}

/// Steps into a list that is older than the segment may have gone on to what the segment added,
/// which is not there yet when the iterator is made.
bool SegmentEnding::is_within(const IteratorShadow& over, std::int64_t steps) const {
  const ObjectShadow* known = walk_.objects.find(over.object.get());
  const SourceId source = known == nullptr ? kNoSource : known->origin.source();
  if (source == kNoSource) return true;
  for (const Guard& guard : interface_.guards) {
    const auto* length = guard.expected.as<std::int64_t>();
    if (guard.kind == GuardKind::length && guard.source == source && length != nullptr)
      return steps <= *length;
  }
  return false;
}

/// Of a list, tuple, range or text.
Recipe SegmentEnding::sequence_iterator(const IteratorShadow& over, PyObject* iterator) {
  if (over.step < 0) return cannot_resume(iterator);
  PyRef state = state_of(iterator);
  if (!state || PyTuple_GET_SIZE(PyTuple_GET_ITEM(state.get(), 1)) != 1)
    return cannot_resume(iterator);
  PyObject* container = PyTuple_GET_ITEM(PyTuple_GET_ITEM(state.get(), 1), 0);
  const bool counts =
      PyTuple_GET_SIZE(state.get()) == 3 && PyLong_Check(PyTuple_GET_ITEM(state.get(), 2));
  const std::int64_t steps = counts ? PyLong_AsSsize_t(PyTuple_GET_ITEM(state.get(), 2)) : 0;
  if (PyRange_Check(container)) {
    std::vector<Recipe> parts;
    for (const char* name : {"start", "stop", "step"}) {
      PyRef part = PyRef::steal(PyObject_GetAttrString(container, name));
      parts.push_back(literal(part.get(), kNoSource));
    }
    return resumed(call_of(reinterpret_cast<PyObject*>(&PyRange_Type), std::move(parts)),
                   resume::kItems, steps);
  }
  if (over.kind == Kind::numbers) {
    const bool text = PyUnicode_CheckExact(container) || PyBytes_CheckExact(container);
    return text ? resumed(literal(container, kNoSource), resume::kItems, steps)
                : cannot_resume(iterator);
  }
  if (!counts) {  // it came to its end, and has let go of what it went over
    Recipe nothing;
    nothing.kind = PyList_Check(container) ? Recipe::Kind::list : Recipe::Kind::tuple;
    return resumed(std::move(nothing), resume::kItems, 0);
  }
  const bool within = over.kind == Kind::sequence || is_within(over, steps);
  if (container != over.object.get() || !within) return cannot_resume(iterator);
  return resumed(recipe({over.shadow, container}), resume::kItems, steps);
}

Recipe SegmentEnding::dict_iterator(const IteratorShadow& over, PyObject* iterator,
                                    std::int64_t steps) {
  PyObject* dict = over.object.get();
  const ObjectShadow* known = walk_.objects.find(dict);
  const bool changed = known != nullptr && known->written && !known->origin.is(Shadow::Kind::fresh);
  // A view goes over what there is.
  if (steps != resume::kView && (changed || !same_keys(dict, over.key_list.get())))
    return cannot_resume(iterator);
  return resumed(recipe({over.shadow, dict}), view_name(over.kind), steps);
}

/// Of zip() and enumerate(), with the real iterators that they go over.
Recipe SegmentEnding::joined_iterator(const IteratorShadow& over, PyObject* iterator) {
  PyRef state = state_of(iterator);
  const bool numbered = over.kind == Kind::enumerate;
  const auto bases = static_cast<Py_ssize_t>(over.bases.size());
  const Py_ssize_t expected = numbered ? 2 : bases;
  const bool plain = state && PyTuple_GET_SIZE(state.get()) == 2;  // zip(strict=True) has more
  if (!plain || PyTuple_GET_SIZE(PyTuple_GET_ITEM(state.get(), 1)) != expected)
    return cannot_resume(iterator);
  std::vector<Recipe> arguments;
  for (Py_ssize_t i = 0; i < bases; ++i) {
    PyObject* base = PyTuple_GET_ITEM(PyTuple_GET_ITEM(state.get(), 1), i);
    arguments.push_back(iterator_over(*over.bases[static_cast<std::size_t>(i)], base));
  }
  if (numbered)
    arguments.push_back(literal(PyTuple_GET_ITEM(PyTuple_GET_ITEM(state.get(), 1), 1), kNoSource));
  return call_of(reinterpret_cast<PyObject*>(Py_TYPE(iterator)), std::move(arguments));
}

Recipe SegmentEnding::iterator_over(const IteratorShadow& over, PyObject* iterator) {
  switch (over.kind) {
    case Kind::items:
    case Kind::sequence:
    case Kind::numbers:
      return sequence_iterator(over, iterator);
    case Kind::keys:
    case Kind::values:
    case Kind::pairs:
      return dict_iterator(over, iterator, over.next);
    case Kind::enumerate:
    case Kind::zip:
      return joined_iterator(over, iterator);
    case Kind::iterator:
      return recipe({over.shadow, over.object.get()});
    case Kind::same: {
      PyRef state = state_of(iterator);
      PyObject* arguments = state ? PyTuple_GET_ITEM(state.get(), 1) : nullptr;
      if (arguments == nullptr || PyTuple_GET_SIZE(arguments) != 2) return cannot_resume(iterator);
      return call_of(reinterpret_cast<PyObject*>(Py_TYPE(iterator)),
                     {recipe({over.shadow, over.object.get()}),
                      literal(PyTuple_GET_ITEM(arguments, 1), kNoSource)});
    }
    case Kind::generator:
    case Kind::method:
      break;
  }
  return cannot_resume(iterator);
}

Recipe SegmentEnding::iterator(ObjectShadow& known) {
  PyObject* object = known.object.get();
  if (is_dict_view(object)) return dict_iterator(*known.iterator, object, resume::kView);
  return iterator_over(*known.iterator, object);
}

}  // namespace penstock::record
