#include "record/contents.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "python/hook.h"
#include "python/layout.h"
#include "python/literal.h"
#include "python/type_lookup.h"
#include "python/versions/private_api.h"
#include "record/walk.h"

// What is in objects. An object is followed once something looks into it or writes it: then it has
// an ObjectShadow, found by identity, so that all paths to it see the same contents. Contents of an
// object that existed before have sources derived from the object's own; what is written is kept
// over them.

namespace penstock::record {

using python::literal_of;
using python::PyRef;

ObjectShadow* Objects::find(PyObject* object) {
  auto found = by_identity_.find(object);
  return found == by_identity_.end() ? nullptr : &objects_[found->second];
}

ObjectId Objects::id_of(PyObject* object) const {
  const auto found = by_identity_.find(object);
  return found == by_identity_.end() ? kNoSource : found->second;
}

namespace {

/// Objects that programs make by the hundred and let go of at once.
bool is_passing(PyObject* object) {
  return PyTuple_Check(object) || PyList_CheckExact(object) || PyDict_CheckExact(object) ||
         PyCell_Check(object) || PySlice_Check(object) || PyMethod_Check(object) ||
         python::is_deque(object) || Py_TYPE(object) == &PySuper_Type ||
         Py_TYPE(object) == python::method_wrapper_type();
}

}  // namespace

Shadow Objects::fresh(PyObject* object, std::vector<Shadow> items) {
  const ObjectId id = static_cast<ObjectId>(objects_.size());
  ObjectShadow& shadow = objects_.emplace_back();
  shadow.object = PyRef::borrow(object);
  shadow.origin = Shadow::fresh(id);
  if (walk_.innermost() != nullptr && walk_.innermost()->instruction != nullptr)
    shadow.made_at = Walk::place_of(*walk_.innermost());
  shadow.listed = true;
  shadow.items = std::move(items);
  by_identity_[object] = id;
  if (is_passing(object) || (releases_all_ && !PyCFunction_Check(object)))
    passing_.push_back({object, id});
  return Shadow::fresh(id);
}

void Objects::release_dead() {
  while (release_some()) {  // what only those held is dead next
  }
}

bool Objects::release_some() {
  constexpr std::size_t kLatest =
      64;  // older ones live long: looking at them each time would add up
  const std::size_t first = passing_.size() - std::min(passing_.size(), kLatest);
  // What a suspended generator runs when it is let go of is release_abandoned()'s affair.
  const auto is_dead = [&](const Passing& passing) {
    return Py_REFCNT(passing.object) == 1 && !walk_.generators.contains(passing.id);
  };
  const auto begin = passing_.begin() + static_cast<std::ptrdiff_t>(first);
  if (std::none_of(begin, passing_.end(), is_dead)) return false;
  const auto dead = std::stable_partition(begin, passing_.end(), std::not_fn(is_dead));
  std::vector<PyRef> last_references;
  last_references.reserve(static_cast<std::size_t>(passing_.end() - dead));
  for (auto passing = dead; passing != passing_.end(); ++passing) {
    ObjectShadow& shadow = objects_[passing->id];
    by_identity_.erase(passing->object);
    shadow.items.clear();
    shadow.iterator = nullptr;
    last_references.push_back(std::exchange(shadow.object, PyRef()));
  }
  passing_.erase(dead, passing_.end());
  const auto begin_freeing = std::chrono::steady_clock::now();
  last_references.clear();
  freeing_ += std::chrono::steady_clock::now() - begin_freeing;
  return true;
}

PyRef Objects::release(ObjectId id) {
  ObjectShadow& generator = objects_[id];
  if (releases_all_)
    std::erase_if(passing_, [id](const Passing& passing) { return passing.id == id; });
  by_identity_.erase(generator.object.get());
  generator.generator = nullptr;
  return std::exchange(generator.object, PyRef());
}

void Objects::guard_same(Shadow known, Shadow again) {
  const SourceId first = known.source(), other = again.source();
  if (first == kNoSource || other == kNoSource || first == other) return;
  Guard same{
      GuardKind::same_object, other, first, walk_.recorder.guards().text(first), {}, {}, {}, -1};
  walk_.recorder.guards().add(std::move(same), [this] { return walk_.here(); });
}

ObjectId Objects::contents(Operand operand) {
  if (operand.shadow.is(Shadow::Kind::fresh)) return operand.shadow.index;
  auto [found, added] =
      by_identity_.emplace(operand.object, static_cast<ObjectId>(objects_.size()));
  if (!added) {
    guard_same(objects_[found->second].origin, operand.shadow);
    return found->second;
  }
  ObjectShadow& shadow = objects_.emplace_back();
  shadow.object = PyRef::borrow(operand.object);
  shadow.origin = operand.shadow;
  return found->second;
}

Shadow Objects::old_item(const ObjectShadow& known, Py_ssize_t index) {
  if (known.origin.is(Shadow::Kind::unknown)) return {};
  // Items of a constant without a source are constants of a code object.
  const SourceId source = known.origin.source();
  if (source == kNoSource) return Shadow::constant();
  // What a constant tuple holds is as constant as the tuple.
  const SourceId item = walk_.recorder.guards().source(SourceKind::item, source, {}, index);
  const bool constant =
      PyTuple_CheckExact(known.object.get()) && known.origin.is(Shadow::Kind::constant);
  return constant ? Shadow::constant(item) : Shadow::sourced(item);
}

Py_ssize_t Objects::guard_length(Operand sequence) {
  ObjectShadow& known = object(contents(sequence));
  const Py_ssize_t size = python::is_deque(sequence.object)
                              ? Py_SIZE(sequence.object)
                              : PySequence_Fast_GET_SIZE(sequence.object);
  if (known.listed) return static_cast<Py_ssize_t>(known.items.size());
  if (!known.is_length_guarded && known.origin.is(Shadow::Kind::sourced)) {
    known.is_length_guarded = true;
    walk_.facts.consume_type(sequence);
    const bool is_plain = PyList_CheckExact(sequence.object) || PyTuple_CheckExact(sequence.object);
    if (!is_plain)
      walk_.facts.guard_type_version(sequence);  // it has no methods of its own for this
    const auto added = static_cast<std::int64_t>(known.items.size());
    walk_.facts.add_guard(GuardKind::length, known.origin.index, std::int64_t{size} - added);
  }
  return size;
}

Shadow Objects::item(Operand sequence, Py_ssize_t index) {
  const Py_ssize_t size = guard_length(sequence);
  const ObjectShadow& known = object(contents(sequence));
  if (index < 0 || index >= size) return {};
  if (known.listed) return known.items[static_cast<std::size_t>(index)];
  const Py_ssize_t old = size - static_cast<Py_ssize_t>(known.items.size());
  return index < old ? old_item(known, index) : known.items[static_cast<std::size_t>(index - old)];
}

const std::vector<Shadow>& Objects::items(Operand sequence) {
  const Py_ssize_t size = guard_length(sequence);
  ObjectShadow& known = object(contents(sequence));
  if (known.listed) return known.items;
  known.listed = true;
  const std::vector<Shadow> added = std::exchange(known.items, {});
  const Py_ssize_t old = size - static_cast<Py_ssize_t>(added.size());
  for (Py_ssize_t i = 0; i < old; ++i) known.items.push_back(old_item(known, i));
  known.items.insert(known.items.end(), added.begin(), added.end());
  return known.items;
}

bool Objects::size_is_known(Operand container, std::string_view asked) {
  const ObjectShadow* known = find(container.object);
  if (known == nullptr || !known->written || container.shadow.source() == kNoSource) return true;
  return walk_.verdict.broke(
      Code::PS0303,
      "the " + std::string(asked) + " of a dict or set that was changed before is asked for");
}

bool Objects::guard_size(Operand container) {
  const SourceId source = container.shadow.source();
  if (source == kNoSource) return true;
  if (!size_is_known(container, "size") || !walk_.facts.consume_type(container)) return false;
  walk_.facts.add_guard(GuardKind::length, source, std::int64_t{PyObject_Size(container.object)});
  return true;
}

ObjectId Objects::instance_dict(Operand instance) {
  PyRef dict = PyRef::steal(PyObject_GenericGetDict(instance.object, nullptr));
  // Other keys may be compared by code of the program.
  if (!dict || !python::has_only_string_keys(dict.get())) {
    PyErr_Clear();
    return kNoSource;
  }
  if (auto found = by_identity_.find(dict.get()); found != by_identity_.end()) {
    if (objects_[found->second].is_instance_dict)
      guard_same(objects_[found->second].owner, instance.shadow);
    return found->second;
  }
  const ObjectId id = static_cast<ObjectId>(objects_.size());
  ObjectShadow& shadow = objects_.emplace_back();
  shadow.object = dict;
  shadow.is_instance_dict = true;
  shadow.owner = instance.shadow;
  const SourceId source = instance.shadow.source();
  shadow.origin = source == kNoSource ? instance.shadow
                                      : Shadow::sourced(walk_.recorder.guards().source(
                                            SourceKind::attribute, source, "__dict__"));
  by_identity_.emplace(dict.get(), id);
  return id;
}

namespace {

/// Position of `key` in the table of keys, or -1.
Py_ssize_t position(const ObjectShadow& dict, PyObject* key) {
  const python::HookPause pause;
  if (!dict.keys) return -1;
  PyObject* at = PyDict_GetItemWithError(dict.keys.get(), key);
  if (at == nullptr) PyErr_Clear();
  return at == nullptr ? -1 : PyLong_AsSsize_t(at);
}

void remember(ObjectShadow& dict, PyObject* key, Shadow value) {
  const python::HookPause pause;  // torch.Tensor.__hash__ is Python code
  if (!dict.keys) dict.keys = PyRef::steal(PyDict_New());
  PyRef at = PyRef::steal(PyLong_FromSize_t(dict.values.size()));
  if (PyDict_SetItem(dict.keys.get(), key, at.get()) < 0) PyErr_Clear();
  dict.values.push_back(value);
}

}  // namespace

Shadow Objects::dict_value(ObjectId id, PyObject* key, PyObject* value) {
  ObjectShadow& dict = object(id);
  if (const Py_ssize_t at = position(dict, key); at >= 0) return dict.values[at];
  Shadow result = value == nullptr ? Shadow::null() : Shadow::constant();
  const bool instance = dict.is_instance_dict;
  const SourceId base = instance ? dict.owner.source() : dict.origin.source();
  if (base != kNoSource) {
    auto literal = literal_of(key);
    if (!literal) {
      result = value_of_object(dict, key, value);
      if (result.is(Shadow::Kind::unknown)) return result;
    } else if (value == nullptr) {
      walk_.facts.add_guard(GuardKind::lacks_key, dict.origin.source(), *literal);
    } else if (instance) {
      result = Shadow::sourced(
          walk_.recorder.guards().source(SourceKind::instance, base, python::text_of(key)));
    } else {
      SourceStep step{SourceKind::dict_item, base, {}, 0, *literal};
      result = Shadow::sourced(walk_.recorder.guards().source(std::move(step)));
    }
  }
  remember(dict, key, result);
  return result;
}

Shadow Objects::value_of_tensor(ObjectId id, Operand tensor, PyObject* value) {
  ObjectShadow& dict = object(id);
  if (const Py_ssize_t at = position(dict, tensor.object); at >= 0) return dict.values[at];
  const SourceId base = dict.origin.source(), key = tensor.shadow.source();
  if (value == nullptr || dict.is_instance_dict || base == kNoSource || key == kNoSource) return {};
  SourceStep step{SourceKind::dict_item, base, {}, 0, walk_.recorder.guards().text(key), key};
  const Shadow found = Shadow::sourced(walk_.recorder.guards().source(std::move(step)));
  remember(dict, tensor.object, found);
  return found;
}

bool is_found_by_identity(PyObject* key) {
  const bool kind = PyType_Check(key) || PyFunction_Check(key);
  const PyTypeObject& plain = PyType_Check(key) ? PyType_Type : PyFunction_Type;
  return kind && Py_TYPE(key)->tp_hash == plain.tp_hash &&
         Py_TYPE(key)->tp_richcompare == plain.tp_richcompare;
}

/// What an older dict has for a key that documents cannot hold. A class or function is looked up
/// again; for anything else a guard holds for this state of the dict alone, so that the value must
/// be one that does not change either.
Shadow Objects::value_of_object(const ObjectShadow& dict, PyObject* key, PyObject* value) {
  const SourceId source = dict.origin.source();
  if (value == nullptr && PyType_Check(key)) {
    walk_.facts.add_guard(GuardKind::lacks_key, source, python::qualified_name(key), key);
    return Shadow::null();
  }
  if (value != nullptr && source != kNoSource && is_found_by_identity(key)) {
    const std::int64_t live = walk_.recorder.guards().live(key);
    const std::string_view kind = PyType_Check(key) ? "<class " : "<function ";
    SourceStep step{
        SourceKind::dict_item,
        source,
        {},
        live + 1,
        std::string(kind) + python::qualified_name(key) + ", " + std::to_string(live) + ">"};
    return Shadow::sourced(walk_.recorder.guards().source(std::move(step)));
  }
  if (value != nullptr && !is_known_by_identity(value) && !python::is_immutable_literal(value))
    return {};
  if (dict.written || source == kNoSource || !PyDict_CheckExact(dict.object.get()) ||
      !python::counts_changes(dict.object.get()))
    return {};
  Guard unchanged{GuardKind::dict_version, source, kNoSource, {}, {}, {}, {}, -1};
  unchanged.live = static_cast<std::int64_t>(python::dict_version(dict.object.get()));
  walk_.recorder.guards().add(std::move(unchanged), [this] { return walk_.here(); });
  return value == nullptr ? Shadow::null() : Shadow::constant();
}

void Objects::note_touched(ObjectId id) {
  const ObjectShadow& known = objects_[id];
  const bool made = known.origin.is(Shadow::Kind::fresh) ||
                    (known.is_instance_dict && known.owner.is(Shadow::Kind::fresh));
  for (Watch& watch : watches_) {
    if (made && id < watch.first_new && !watch.touched.contains(id))
      watch.touched.emplace(id, std::pair(known.items, known.values));
  }
}

bool Objects::unwatch() {
  const Watch watch = std::move(watches_.back());
  watches_.pop_back();
  return std::ranges::any_of(watch.touched, [&](const auto& one) {
    const ObjectShadow& known = objects_[one.first];
    const bool is_gone = !known.object;
    return !is_gone && (known.items != one.second.first || known.values != one.second.second);
  });
}

void Objects::mark_written(ObjectShadow& known) {
  // What it held at the segment's start may be asked for behind the first write.
  constexpr Py_ssize_t kMostKeys = 256;
  PyObject* object = known.object.get();
  const bool is_old = known.origin.is(Shadow::Kind::sourced) && !known.is_instance_dict;
  if (is_old && !known.written && PyDict_CheckExact(object) &&
      PyDict_GET_SIZE(object) <= kMostKeys) {
    known.first_keys = PyRef::steal(PyDict_Keys(object));
  }
  known.written = true;
}

void Objects::dict_store(ObjectId id, PyObject* key, Shadow value) {
  ObjectShadow& dict = object(id);
  mark_written(dict);
  if (const Py_ssize_t at = position(dict, key); at >= 0) {
    dict.values[at] = value;
  } else {
    remember(dict, key, value);
  }
}

PyRef keys_in_order(PyObject* dict) {
  if (!PyODict_Check(dict)) return PyRef::steal(PyDict_Keys(dict));
  PyRef iterator = PyRef::steal(PyODict_Type.tp_iter(dict));
  PyRef keys = iterator ? PyRef::steal(PySequence_List(iterator.get())) : PyRef();
  if (!keys) PyErr_Clear();
  return keys;
}

bool Objects::consume_set(Operand set) {
  ObjectShadow& known = object(contents(set));
  const SourceId source = known.origin.source();
  if (source == kNoSource || known.listed) return true;  // what is in it was known as it came there
  if (known.written) {
    return walk_.verdict.broke(Code::PS0303, "a set that was changed before is gone over");
  }
  Argument::Sequence items{Argument::Sequence::Kind::list, {}};
  PyObject* item = nullptr;
  Py_hash_t hash = 0;
  for (Py_ssize_t at = 0; _PySet_NextEntry(set.object, &at, &item, &hash);) {
    auto literal = literal_of(item);
    if (!literal) {
      return walk_.verdict.broke(Code::PS0303,
                                 "a set whose items are no plain values is gone over");
    }
    items.items.push_back(std::move(*literal));
  }
  walk_.facts.consume_type(set);
  walk_.facts.add_guard(GuardKind::dict_keys, source, Argument(std::move(items)));
  known.listed = true;
  return true;
}

bool Objects::consume_keys(Operand dict) {
  ObjectShadow& known = object(contents(dict));
  const SourceId source = known.origin.source();
  if (source == kNoSource || known.listed) return true;
  if (known.written && !known.first_keys) {
    return walk_.verdict.broke(Code::PS0303,
                               "the keys of a dict that was changed before are gone over");
  }
  if (PyODict_Check(dict.object)) {
    // The guard checks the order of the keys as a dict has them.
    PyRef order = keys_in_order(dict.object), keys = PyRef::steal(PyDict_Keys(dict.object));
    if (!order || PyObject_RichCompareBool(order.get(), keys.get(), Py_EQ) != 1) {
      PyErr_Clear();
      return walk_.verdict.broke(Code::PS0303, "an OrderedDict whose keys were moved is gone over");
    }
  }
  Argument::Sequence keys{Argument::Sequence::Kind::list, {}};
  const PyRef first = known.written ? known.first_keys : PyRef::steal(PyDict_Keys(dict.object));
  for (Py_ssize_t at = 0; first && at < PyList_GET_SIZE(first.get()); ++at) {
    auto literal = literal_of(PyList_GET_ITEM(first.get(), at));
    if (!literal) {
      return walk_.verdict.broke(Code::PS0303,
                                 "a dict whose keys are no plain values is gone over");
    }
    keys.items.push_back(std::move(*literal));
  }
  walk_.facts.add_guard(GuardKind::dict_keys, source, Argument(std::move(keys)));
  known.listed = true;
  return true;
}

}  // namespace penstock::record
