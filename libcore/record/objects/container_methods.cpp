// Models of the methods of list, dict and set.

#include "python/literal.h"
#include "record/objects/builtin_call.h"
#include "record/objects/container.h"
#include "record/objects/iteration.h"
#include "record/results.h"

namespace penstock::record {

using python::PyRef;

namespace {

bool list_append(BuiltinCall& c) {
  Operand list = c.positional[0], item = c.positional[1];
  const ObjectId id = c.walk.objects.contents(list);
  if (!list.shadow.is(Shadow::Kind::fresh)) {
    c.walk.facts.consume_type(list);
    c.walk.effects.add(Restore::Kind::append, list, {}, {}, item);
  }
  ObjectShadow& known = c.walk.objects.object(id);
  known.items.push_back(item.shadow);
  return gives_constant(c.frame, c.pops);
}

bool list_extend(BuiltinCall& c) {
  Operand list = c.positional[0], more = c.positional[1];
  if (!PyList_CheckExact(more.object) && !PyTuple_CheckExact(more.object)) return polyfill(c);
  const std::vector<Shadow> items = c.walk.objects.items(more);
  const ObjectId id = c.walk.objects.contents(list);
  if (!list.shadow.is(Shadow::Kind::fresh)) {
    c.walk.facts.consume_type(list);
    c.walk.effects.add(Restore::Kind::extend, list, {}, {}, more);
  }
  ObjectShadow& known = c.walk.objects.object(id);
  known.items.insert(known.items.end(), items.begin(), items.end());
  return gives_constant(c.frame, c.pops);
}

bool list_insert(BuiltinCall& c) {
  Operand list = c.positional[0], at = c.positional[1], item = c.positional[2];
  if (!c.walk.facts.consume(at)) return false;
  c.walk.objects.items(list);
  ObjectShadow& known = c.walk.objects.object(c.walk.objects.contents(list));
  const auto size = static_cast<Py_ssize_t>(known.items.size());
  Py_ssize_t index = PyNumber_AsSsize_t(at.object, nullptr);
  index = std::clamp(index < 0 ? index + size : index, Py_ssize_t{0}, size);
  if (!list.shadow.is(Shadow::Kind::fresh)) {
    c.walk.effects.add(Restore::Kind::insert, list, {}, at, item);
  }
  known.items.insert(known.items.begin() + index, item.shadow);
  return gives_constant(c.frame, c.pops);
}

bool list_pop(BuiltinCall& c) {
  Operand list = c.positional[0];
  c.walk.objects.items(list);
  ObjectShadow& known = c.walk.objects.object(c.walk.objects.contents(list));
  const auto size = static_cast<Py_ssize_t>(known.items.size());
  Py_ssize_t index = size - 1;
  if (c.positional.size() > 1) {
    if (!c.walk.facts.consume(c.positional[1])) return false;
    index = PyNumber_AsSsize_t(c.positional[1].object, nullptr);
    if (index < 0) index += size;
  }
  if (index < 0 || index >= size) return gives_constant(c.frame, c.pops);  // IndexError
  if (!list.shadow.is(Shadow::Kind::fresh)) {
    Operand key;
    if (c.positional.size() > 1) key = c.positional[1];
    c.walk.effects.add(Restore::Kind::pop, list, {}, key, {});
  }
  const Shadow item = known.items[index];
  known.items.erase(known.items.begin() + index);
  return gives(c.frame, c.pops, item);
}

bool copy_sequence(BuiltinCall& c) {
  return gives_fresh(c.frame, c.pops, c.walk.objects.items(c.positional[0]));
}

// -- dict

bool dict_get(BuiltinCall& c) {
  const auto item = known_item(c.walk, c.positional[0], c.positional[1]);
  if (!item) return false;
  if (item->value != nullptr) return gives(c.frame, c.pops, item->shadow);
  return gives(c.frame, c.pops,
               c.positional.size() > 2 ? c.positional[2].shadow : Shadow::constant());
}

bool dict_view(BuiltinCall& c) {
  Operand dict = c.positional[0];
  if (!c.walk.facts.consume_type(dict) || !c.walk.objects.consume_keys(dict)) return false;
  auto over = std::make_unique<IteratorShadow>();
  over->kind = c.name == "items"    ? IteratorShadow::Kind::pairs
               : c.name == "values" ? IteratorShadow::Kind::values
                                    : IteratorShadow::Kind::keys;
  over->shadow = dict.shadow;
  over->object = PyRef::borrow(dict.object);
  over->key_list = keys_in_order(dict.object);
  return gives_iterator(c.frame, c.pops, std::move(over));
}

bool dict_pop(BuiltinCall& c) {
  Operand dict = c.positional[0], key = c.positional[1];
  const auto item = known_item(c.walk, c.positional[0], c.positional[1]);
  if (!item) return false;
  if (item->value == nullptr) {
    return gives(c.frame, c.pops,
                 c.positional.size() > 2 ? c.positional[2].shadow : Shadow::constant());
  }
  if (!dict.shadow.is(Shadow::Kind::fresh)) {
    c.walk.effects.add(Restore::Kind::delete_item, dict, {}, key, {});
  }
  c.walk.objects.dict_store(item->dict, key.object, Shadow::null());
  return gives(c.frame, c.pops, item->shadow);
}

bool dict_set_default(BuiltinCall& c) {
  Operand dict = c.positional[0], key = c.positional[1];
  const auto item = known_item(c.walk, c.positional[0], c.positional[1]);
  if (!item) return false;
  if (item->value != nullptr) return gives(c.frame, c.pops, item->shadow);
  Operand given{Shadow::constant(), Py_None};
  if (c.positional.size() > 2) given = c.positional[2];
  if (!dict.shadow.is(Shadow::Kind::fresh)) {
    c.walk.effects.add(Restore::Kind::set_item, dict, {}, key, given);
  }
  c.walk.objects.dict_store(item->dict, key.object, given.shadow);
  return gives(c.frame, c.pops, given.shadow);
}

/// What OrderedDict.update() and __init__() store goes through the class's own __setitem__.
bool stores_itself(Operand dict) {
  return PyODict_Check(dict.object) && !has_dict_slot(dict.object, "__setitem__");
}

/// dict.update and dict.__init__.
bool dict_update(BuiltinCall& c) {
  Operand dict = c.positional[0];
  const bool empty = c.positional.size() == 1 && c.keywords.empty();
  if (c.positional.size() > 2 || !c.walk.facts.consume_type(dict)) return refuse(c);
  if (!empty && stores_itself(dict)) return c.positional.size() == 2 ? polyfill(c) : refuse(c);
  const ObjectId id = c.walk.objects.contents(dict);
  if (c.positional.size() > 1) {
    Operand more = c.positional[1];
    const bool known = PyDict_CheckExact(more.object) ||
                       (is_merged_by_key(more.object) && c.walk.facts.consume_type(more));
    if (!known) return polyfill(c);
    if (!c.walk.objects.consume_keys(more)) return false;
    if (!dict.shadow.is(Shadow::Kind::fresh)) {
      c.walk.effects.add(Restore::Kind::update, dict, {}, {}, more);
    }
    copy_items(c.walk, id, more);
  }
  for (auto& [name, value] : c.keywords) {
    const Operand key{Shadow::constant(), name};
    if (!dict.shadow.is(Shadow::Kind::fresh)) {
      c.walk.effects.add(Restore::Kind::set_item, dict, {}, key, value);
    }
    c.walk.objects.dict_store(id, name, value.shadow);
  }
  return gives_constant(c.frame, c.pops);
}

bool dict_copy(BuiltinCall& c) {
  Operand dict = c.positional[0];
  if (!PyDict_CheckExact(dict.object) && !PyODict_CheckExact(dict.object)) return refuse(c);
  if (!c.walk.facts.consume_type(dict) || !c.walk.objects.consume_keys(dict)) return false;
  return gives_dict(c.frame, c.pops, all_pairs(c.walk, dict));
}

/// The slots of dict, called by name.
bool dict_slot(BuiltinCall& c) {
  const Operand dict = c.positional[0];
  const std::size_t count = c.positional.size();
  if (!c.keywords.empty()) return refuse(c);
  if (c.name == "__getitem__" && count == 2)
    return dict_get_item(c.walk, c.frame, dict, c.positional[1], c.pops);
  if (c.name == "__contains__" && count == 2)
    return dict_contains(c.walk, c.frame, dict, c.positional[1], c.pops);
  if (c.name == "__delitem__" && count == 2) {
    return dict_delete_item(c.walk, c.frame, dict, c.positional[1], c.pops, true);
  }
  if (c.name == "__setitem__" && count == 3) {
    return dict_set_item(c.walk, c.frame, dict, c.positional[1], c.positional[2], c.pops, true);
  }
  if (c.name == "__len__" && count == 1) {
    return c.walk.facts.consume_type(dict) && c.walk.objects.guard_size(dict) &&
           gives_constant(c.frame, c.pops);
  }
  if (c.name != "__iter__" || count != 1 || !c.walk.facts.consume_type(dict) ||
      !c.walk.objects.consume_keys(dict)) {
    return refuse(c);
  }
  auto over = std::make_unique<IteratorShadow>();
  over->kind = IteratorShadow::Kind::keys;
  over->shadow = dict.shadow;
  over->object = PyRef::borrow(dict.object);
  over->key_list = keys_in_order(dict.object);
  return gives_iterator(c.frame, c.pops, std::move(over));
}

bool dict_clear(BuiltinCall& c) {
  const Operand dict = c.positional[0];
  if (!c.walk.facts.consume_type(dict) || !c.walk.objects.consume_keys(dict)) return false;
  if (!dict.shadow.is(Shadow::Kind::fresh))
    c.walk.effects.add(Restore::Kind::clear, dict, {}, {}, {});
  const ObjectId id = c.walk.objects.contents(dict);
  for (const auto& [key, value] : all_pairs(c.walk, dict))
    c.walk.objects.dict_store(id, key.get(), Shadow::null());
  return gives_constant(c.frame, c.pops);
}

/// What an OrderedDict's popitem and move_to_end are given as `last`; nothing for other arguments.
std::optional<bool> at_end(BuiltinCall& c, std::size_t place) {
  Operand last{Shadow::constant(), Py_True};
  if (c.positional.size() > place) last = c.positional[place];
  for (const auto& [name, operand] : c.keywords) {
    if (PyUnicode_CompareWithASCIIString(name, "last") != 0) return std::nullopt;
    last = operand;
  }
  if (c.positional.size() > place + 1 || !PyBool_Check(last.object) || !c.walk.facts.consume(last))
    return std::nullopt;
  return last.object == Py_True;
}

/// OrderedDict.move_to_end of one that the segment made: its order is that of the real one.
bool dict_move(BuiltinCall& c) {
  const Operand dict = c.positional[0];
  const bool made = dict.shadow.is(Shadow::Kind::fresh) && PyODict_Check(dict.object);
  if (!made || !at_end(c, 2) || !c.walk.facts.consume(c.positional[1])) return refuse(c);
  return gives_constant(c.frame, c.pops);
}

/// dict.popitem: the last one, or an OrderedDict's first one.
bool dict_pop_item(BuiltinCall& c) {
  const Operand dict = c.positional[0];
  const bool ordered = PyODict_Check(dict.object);
  const auto last = at_end(c, 1);
  const bool plain = c.positional.size() == 1 && c.keywords.empty();
  if (!last || !(plain || ordered) || !c.walk.facts.consume_type(dict) ||
      !c.walk.objects.consume_keys(dict)) {
    return refuse(c);
  }
  PyRef keys = keys_in_order(dict.object);
  const Py_ssize_t count = keys ? PyList_GET_SIZE(keys.get()) : 0;
  if (count == 0) return gives_constant(c.frame, c.pops);  // KeyError
  const Operand key{Shadow::constant(), PyList_GET_ITEM(keys.get(), *last ? count - 1 : 0)};
  const ObjectId id = c.walk.objects.contents(dict);
  const Shadow value =
      c.walk.objects.dict_value(id, key.object, PyDict_GetItemWithError(dict.object, key.object));
  if (!dict.shadow.is(Shadow::Kind::fresh))
    c.walk.effects.add(Restore::Kind::delete_item, dict, {}, key, {});
  c.walk.objects.dict_store(id, key.object, Shadow::null());
  return gives_fresh(c.frame, c.pops, {Shadow::constant(), value});
}

/// set.add and its like on a set of constants; a set that was made here may hold known objects.
bool set_change(BuiltinCall& c) {
  Operand set = c.positional[0];
  if (c.positional.size() != 2) return refuse(c);
  const bool fresh = set.shadow.is(Shadow::Kind::fresh);
  if (!(fresh ? c.walk.facts.consume_hashed(c.positional[1])
              : c.walk.facts.consume(c.positional[1])))
    return refuse(c);
  if (!fresh) {
    c.walk.effects.add(c.name == "add" ? Restore::Kind::add : Restore::Kind::remove, set, {}, {},
                       c.positional[1]);
  }
  return gives_constant(c.frame, c.pops);
}

/// set.pop and set.clear of a set that the segment made.
bool set_take(BuiltinCall& c) {
  return c.positional[0].shadow.is(Shadow::Kind::fresh) ? gives_constant(c.frame, c.pops)
                                                        : refuse(c);
}

/// Of sets, and of plain values: another set, or a question.
bool set_of_sets(BuiltinCall& c) {
  const auto is_known = [&c](Operand one) {
    const bool values = PyList_CheckExact(one.object) || PyTuple_CheckExact(one.object) ||
                        PyAnySet_CheckExact(one.object) || one.shadow.is(Shadow::Kind::constant);
    return values && c.walk.facts.consume(one);
  };
  if (!c.keywords.empty() || !std::ranges::all_of(c.positional, is_known)) return refuse(c);
  const bool asks = c.name.starts_with("is");
  return asks ? gives_constant(c.frame, c.pops) : gives_fresh(c.frame, c.pops, {});
}

/// The keys, values or pairs of a read-only mapping that the segment got from CPython (the
/// parameters of a signature): constants, as the mapping is.
bool proxy_view(BuiltinCall& c) {
  const Operand proxy = c.positional[0];
  const bool is_known =
      Py_TYPE(proxy.object) == &PyDictProxy_Type && proxy.shadow.is(Shadow::Kind::fresh);
  return is_known ? gives_constant(c.frame, c.pops) : refuse(c);
}

constexpr FunctionModel kModels[] = {
    {"polyfill", polyfill, 0},
    {"proxy_view", proxy_view, 1, 1},
    {"list_append", list_append, 2, 2},
    {"list_extend", list_extend, 2, 2},
    {"list_insert", list_insert, 3, 3},
    {"list_pop", list_pop, 1, 2},
    {"list_copy", copy_sequence, 1, 1},
    {"dict_get", dict_get, 2, 3},
    {"dict_view", dict_view, 1, 1},
    {"dict_pop", dict_pop, 2, 3},
    {"dict_pop_item", dict_pop_item, 1},
    {"dict_move", dict_move, 2},
    {"dict_set_default", dict_set_default, 2, 3},
    {"dict_update", dict_update, 1},
    {"dict_copy", dict_copy, 1, 1},
    {"dict_clear", dict_clear, 1, 1},
    {"dict_slot", dict_slot, 1},
    {"set_change", set_change, 2, 2},
    {"set_take", set_take, 1, 1},
    {"set_of_sets", set_of_sets, 1},
};

}  // namespace

std::span<const FunctionModel> container_models() {
  return kModels;
}

}  // namespace penstock::record
