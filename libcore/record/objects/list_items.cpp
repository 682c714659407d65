// Parts of lists that are stored or deleted: l[a:b] = items, del l[i], del l[a:b].

#include "python/literal.h"
#include "record/objects/container.h"
#include "record/walk.h"

namespace penstock::record {

namespace {

/// The places that a slice names in a list of so many items; nothing for a malformed one.
struct Places {
  Py_ssize_t start, stop, step, count;
};
std::optional<Places> places_of(PyObject* slice, std::size_t size) {
  Places all{};
  if (PySlice_Unpack(slice, &all.start, &all.stop, &all.step) < 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  all.count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(size), &all.start, &all.stop, all.step);
  return all;
}

/// The items of a list that the instruction changes.
std::vector<Shadow>& changed_items(Walk& walk, Operand list) {
  walk.facts.consume_type(list);
  walk.objects.items(list);
  return walk.objects.object(walk.objects.contents(list)).items;
}

}  // namespace

std::optional<bool> store_list_slice(Walk& walk, FrameShadow& f, Operand list, Operand slice,
                                     Operand value, int pops) {
  const bool listed = PyList_CheckExact(value.object) || PyTuple_CheckExact(value.object);
  if (!PyList_CheckExact(list.object) || !PySlice_Check(slice.object) || !listed)
    return std::nullopt;
  if (!walk.facts.consume(slice)) return false;
  const std::vector<Shadow> given = walk.objects.items(value);
  std::vector<Shadow>& items = changed_items(walk, list);
  const auto places = places_of(slice.object, items.size());
  const bool fits =
      places && (places->step == 1 || places->count == static_cast<Py_ssize_t>(given.size()));
  if (!fits) return walk.verdict.broke(Code::PS0304, "a list is given as many items as do not fit");
  if (!list.shadow.is(Shadow::Kind::fresh))
    walk.effects.add(Restore::Kind::set_item, list, {}, slice, value);
  if (places->step == 1) {
    const auto first =
        items.erase(items.begin() + places->start, items.begin() + places->start + places->count);
    items.insert(first, given.begin(), given.end());
  } else {
    for (Py_ssize_t i = 0; i < places->count; ++i)
      items[static_cast<std::size_t>(places->start + i * places->step)] =
          given[static_cast<std::size_t>(i)];
  }
  f.pop(pops);
  return true;
}

std::optional<bool> delete_list_item(Walk& walk, FrameShadow& f, Operand list, Operand key,
                                     int pops) {
  const bool slice = PySlice_Check(key.object);
  if (!PyList_CheckExact(list.object) || (!slice && !PyLong_Check(key.object))) return std::nullopt;
  if (!walk.facts.consume(key)) return false;
  std::vector<Shadow>& items = changed_items(walk, list);
  auto places = slice ? places_of(key.object, items.size()) : Places{0, 0, 1, 1};
  if (!places) return walk.verdict.broke(Code::PS0304, "a slice of a list is malformed");
  if (!slice) {
    const Py_ssize_t at = PyNumber_AsSsize_t(key.object, nullptr);
    places->start = at < 0 ? at + static_cast<Py_ssize_t>(items.size()) : at;
    const bool there = places->start >= 0 && places->start < static_cast<Py_ssize_t>(items.size());
    if (!there) places->count = 0;  // IndexError
  }
  if (places->count > 0 && !list.shadow.is(Shadow::Kind::fresh))
    walk.effects.add(Restore::Kind::delete_item, list, {}, key, {});
  std::vector<bool> gone(items.size(), false);
  for (Py_ssize_t i = 0; i < places->count; ++i)
    gone[static_cast<std::size_t>(places->start + i * places->step)] = true;
  std::size_t at = 0;
  std::erase_if(items, [&](const Shadow&) { return gone[at++]; });
  f.pop(pops);
  return true;
}

}  // namespace penstock::record
