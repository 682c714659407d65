// Lists, tuples and dicts: subscripts, stores, membership, displays of dicts.

#include "record/objects/container.h"

#include <cstring>

#include "python/hook.h"
#include "python/layout.h"
#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/objects/call.h"
#include "record/objects/torch_tensor.h"
#include "record/results.h"
#include "record/walk.h"

namespace penstock::record {

using python::literal_of;
using python::PyRef;
using python::type_lookup;

namespace {

bool is_sequence(PyObject* object) {
  return has_list_slots(object) || has_tuple_slots(object) || python::is_deque(object);
}

/// A type whose subscript makes an alias and nothing else: list[int],
/// collections.abc.Sequence[int].
bool makes_alias(PyObject* object) {
  if (PyType_Check(object) && type_lookup(Py_TYPE(object), "__getitem__") == nullptr) {
    PyObject* own = type_lookup(reinterpret_cast<PyTypeObject*>(object), "__class_getitem__");
    if (own != nullptr && Py_TYPE(own) == &PyClassMethodDescr_Type) return true;
    const bool wrapped = own != nullptr && std::strcmp(Py_TYPE(own)->tp_name, "classmethod") == 0;
    const PyRef function =
        wrapped ? PyRef::steal(PyObject_GetAttrString(own, "__func__")) : PyRef();
    PyErr_Clear();
    if (function.get() == reinterpret_cast<PyObject*>(&Py_GenericAliasType)) return true;
  }
  for (PyTypeObject* type :
       {&PyList_Type, &PyDict_Type, &PyTuple_Type, &PySet_Type, &PyFrozenSet_Type, &PyType_Type}) {
    if (object == reinterpret_cast<PyObject*>(type)) return true;
  }
  return false;
}

std::optional<Py_ssize_t> index_in(PyObject* index, std::size_t size) {
  const Py_ssize_t at = PyNumber_AsSsize_t(index, nullptr);
  const Py_ssize_t from_start = at < 0 ? at + static_cast<Py_ssize_t>(size) : at;
  if (from_start < 0 || from_start >= static_cast<Py_ssize_t>(size)) return std::nullopt;
  return from_start;
}

std::vector<Shadow> sliced(const std::vector<Shadow>& all, PyObject* slice) {
  Py_ssize_t start, stop, step;
  std::vector<Shadow> result;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) {
    PyErr_Clear();
    return result;
  }
  const Py_ssize_t count = PySlice_AdjustIndices(all.size(), &start, &stop, step);
  for (Py_ssize_t i = 0; i < count; ++i) result.push_back(all[start + i * step]);
  return result;
}

}  // namespace

bool has_dict_slot(PyObject* object, const char* special) {
  if (PyDict_CheckExact(object) || PyODict_CheckExact(object)) return true;
  if (!PyDict_Check(object)) return false;
  PyRef name = PyRef::steal(PyUnicode_InternFromString(special));
  PyObject* own = _PyType_Lookup(Py_TYPE(object), name.get());
  return own != nullptr &&
         (own == _PyType_Lookup(&PyDict_Type, name.get()) ||
          (PyODict_Check(object) && own == _PyType_Lookup(&PyODict_Type, name.get())));
}

bool is_merged_by_key(PyObject* object) {
  return PyDict_CheckExact(object) || PyODict_CheckExact(object) ||
         (!PyODict_Check(object) && has_dict_slot(object, "__iter__"));
}

bool has_list_slots(PyObject* object) {
  if (PyList_CheckExact(object)) return true;
  if (!PyList_Check(object)) return false;
  // Of a subclass the slots themselves say nothing: CPython gives each one a slot that looks for
  // __getitem__, because list has that as a method.
  const auto is_own = [object](const char* special) {
    return python::type_lookup(Py_TYPE(object), special) !=
           python::type_lookup(&PyList_Type, special);
  };
  const bool changed = is_own("__iter__") || is_own("__len__") || is_own("__contains__") ||
                       is_own("__getitem__") || is_own("__bool__");
  return !changed;
}

bool has_tuple_slots(PyObject* object) {
  if (!PyTuple_Check(object)) return false;
  const PyTypeObject *own = Py_TYPE(object), *plain = &PyTuple_Type;
  return own == plain || python::is_torch_size(object) ||
         (own->tp_iter == plain->tp_iter &&
          own->tp_as_sequence->sq_length == plain->tp_as_sequence->sq_length &&
          own->tp_as_sequence->sq_contains == plain->tp_as_sequence->sq_contains &&
          own->tp_as_mapping->mp_subscript == plain->tp_as_mapping->mp_subscript);
}

namespace {

/// The dict has no such item: it makes one, by a method of its class's, or raises KeyError.
bool lacks_item(Walk& walk, FrameShadow& f, Operand dict, Operand key, int pops) {
  const bool plain = PyDict_CheckExact(dict.object) || PyODict_CheckExact(dict.object);
  if (plain || type_lookup(Py_TYPE(dict.object), "__missing__") == nullptr)
    return gives_constant(f, pops);
  if (python::is_default_dict(dict.object)) return makes_missing_item(walk, f, dict, key, pops);
  bool known = false;
  if (call_special(walk, f, dict, "__missing__", {key}, pops, known)) return true;
  return known
             ? false
             : walk.verdict.broke(Code::PS0303,
                                  std::string("a subscript of a ") + Py_TYPE(dict.object)->tp_name +
                                      ", which makes the item that it lacks, is not followed");
}

}  // namespace

namespace {

/// A tensor that an input is and that a dict finds by its identity, as the source that it has.
std::optional<Operand> tensor_key(Walk& walk, Operand key) {
  if (!walk.recorder.bridge().is_plain_tensor(key.object)) return std::nullopt;
  if (key.shadow.is(Shadow::Kind::node) && walk.recorder.is_input(key.shadow.index))
    key.shadow = Shadow::sourced(walk.recorder.input_of(key.shadow.index).source);
  if (!key.shadow.is(Shadow::Kind::sourced) || key.shadow.source() == kNoSource)
    return std::nullopt;
  const python::HookPause pause;
  const bool by_identity = PyObject_Hash(key.object) == python::tensor_hash(key.object);
  PyErr_Clear();
  return by_identity ? std::optional(key) : std::nullopt;
}

/// The key decides which item of the dict is meant. In a dict of the segment's a tensor is found by
/// its identity.
bool consume_key(Walk& walk, Operand dict, Operand key) {
  return dict.shadow.source() == kNoSource ? walk.facts.consume_hashed(key)
                                           : walk.facts.consume(key);
}

}  // namespace

std::optional<DictItem> known_item(Walk& walk, Operand dict, Operand key) {
  const bool made = dict.shadow.source() == kNoSource;
  const auto tensor = made ? std::nullopt : tensor_key(walk, key);
  if ((!tensor && !consume_key(walk, dict, key)) || !walk.facts.consume_type(dict))
    return std::nullopt;
  const python::HookPause pause;  // torch.Tensor.__hash__ is Python code
  DictItem item{walk.objects.contents(dict), PyDict_GetItemWithError(dict.object, key.object), {}};
  PyErr_Clear();
  item.shadow = tensor ? walk.objects.value_of_tensor(item.dict, *tensor, item.value)
                       : walk.objects.dict_value(item.dict, key.object, item.value);
  return is_item_known(walk, item.shadow, key) ? std::optional(item) : std::nullopt;
}

namespace {

/// An older dict makes its item for a tensor (the state that an optimizer keeps for a parameter).
/// The next call will find it: what is recorded would be for this call alone.
bool makes_first_item(Walk& walk, Operand dict, Operand key) {
  if (!python::is_default_dict(dict.object) || dict.shadow.source() == kNoSource) return false;
  if (!tensor_key(walk, key)) return false;
  const python::HookPause pause;
  const bool has = PyDict_Contains(dict.object, key.object) == 1;
  PyErr_Clear();
  if (!has) walk.verdict.spoil_once("a dict gets its first item for a tensor");
  return !has;
}

/// What schedulers of learning rates write after each step: they leave the first rate beside it.
void note_scheduled(Walk& walk, PyObject* dict, PyObject* key, Shadow value) {
  if (!value.is(Shadow::Kind::sourced) || !PyUnicode_CheckExact(key)) return;
  const std::string name = python::text_of(key);
  if (name != "lr" && name != "momentum" && name != "betas") return;
  if (PyDict_GetItemString(dict, "initial_lr") != nullptr) walk.sizes.expect_change(value.source());
}

}  // namespace

bool dict_get_item(Walk& walk, FrameShadow& f, Operand dict, Operand key, int pops) {
  if (makes_first_item(walk, dict, key)) return gives(f, pops, {});
  const auto item = known_item(walk, dict, key);
  if (!item) return false;
  note_scheduled(walk, dict.object, key.object, item->shadow);
  return item->value != nullptr ? gives(f, pops, item->shadow)
                                : lacks_item(walk, f, dict, key, pops);
}

bool is_item_known(Walk& walk, Shadow item, Operand key) {
  if (!item.is(Shadow::Kind::unknown)) return true;
  return walk.verdict.broke(Code::PS0303, std::string("an item of a dict is asked for by a ") +
                                              Py_TYPE(key.object)->tp_name);
}

bool dict_set_item(Walk& walk, FrameShadow& f, Operand dict, Operand key, Operand value, int pops,
                   bool call) {
  if (!consume_key(walk, dict, key) || !walk.facts.consume_type(dict)) return false;
  const ObjectId id = walk.objects.contents(dict);
  if (!dict.shadow.is(Shadow::Kind::fresh))
    walk.effects.add(Restore::Kind::set_item, dict, {}, key, value);
  walk.objects.dict_store(id, key.object, value.shadow);
  f.pop(pops);
  if (call) f.push(Shadow::constant());
  return true;
}

bool dict_delete_item(Walk& walk, FrameShadow& f, Operand dict, Operand key, int pops, bool call) {
  if (!consume_key(walk, dict, key) || !walk.facts.consume_type(dict)) return false;
  const ObjectId id = walk.objects.contents(dict);
  const python::HookPause pause;
  if (PyDict_Contains(dict.object, key.object) == 1) {
    if (!dict.shadow.is(Shadow::Kind::fresh))
      walk.effects.add(Restore::Kind::delete_item, dict, {}, key, {});
    walk.objects.dict_store(id, key.object, Shadow::null());
  } else {  // it raises KeyError
    PyErr_Clear();
    walk.objects.dict_value(id, key.object, nullptr);
  }
  f.pop(pops);
  if (call) f.push(Shadow::constant());
  return true;
}

bool dict_contains(Walk& walk, FrameShadow& f, Operand dict, Operand key, int pops) {
  if (!consume_key(walk, dict, key) || !walk.facts.consume_type(dict)) return false;
  const python::HookPause pause;
  PyObject* value = PyDict_GetItemWithError(dict.object, key.object);
  PyErr_Clear();
  const ObjectId id = walk.objects.contents(dict);
  const Shadow known = walk.objects.dict_value(id, key.object, value);
  if (!is_item_known(walk, known, key)) return false;
  const SourceId source = dict.shadow.source();
  // A value that the segment wrote is there for certain; one that was there must be there again.
  if (source != kNoSource && value != nullptr && known.is(Shadow::Kind::sourced)) {
    if (auto literal = literal_of(key.object)) {
      walk.facts.add_guard(GuardKind::has_key, source, *literal);
    } else if (is_found_by_identity(key.object)) {
      walk.facts.add_guard(GuardKind::has_key, source, python::qualified_name(key.object),
                           key.object);
    }
  }
  return gives_constant(f, pops);
}

namespace {

/// False for a slice that the instruction makes: a method of the program's gets another object.
bool lies_on_stack(const FrameShadow& f, Operand key) {
  return f.object() == key.object;
}

}  // namespace

bool load_subscript(Walk& walk, FrameShadow& f, Operand container, Operand key, int pops) {
  if (walk.is_tensor(container.object)) return tensor_subscript(walk, f, container, key, pops);
  if (is_sequence(container.object) && PyIndex_Check(key.object)) {
    if (!walk.facts.consume(key) || !is_known_deque(walk, container)) return false;
    auto at = index_in(key.object, static_cast<std::size_t>(walk.objects.guard_length(container)));
    return gives(
        f, pops,
        at ? walk.objects.item(container, *at) : Shadow::constant());  // else it raises IndexError
  }
  if (is_sequence(container.object) && PySlice_Check(key.object) &&
      !python::is_deque(container.object)) {
    if (!walk.facts.consume(key)) return false;
    return gives_fresh(f, pops, sliced(walk.objects.items(container), key.object));
  }
  if (has_dict_slot(container.object, "__getitem__"))
    return dict_get_item(walk, f, container, key, pops);
  if (PyUnicode_CheckExact(container.object) || PyRange_Check(container.object) ||
      std::string_view(Py_TYPE(container.object)->tp_name) == "re.Match" ||
      PyBytes_CheckExact(container.object) || makes_alias(container.object)) {
    if (!walk.facts.consume(key) || !walk.facts.consume(container)) return false;
    return gives_constant(f, pops);
  }
  bool known = false;
  if (lies_on_stack(f, key)) {
    if (call_special(walk, f, container, "__getitem__", {key}, pops, known)) return true;
    if (known) return false;
  }
  return walk.verdict.broke(
      Code::PS0303,
      std::string("a subscript of a ") + Py_TYPE(container.object)->tp_name + " is not followed");
}

bool store_subscript(Walk& walk, FrameShadow& f, Operand container, Operand key, Operand value,
                     int pops) {
  if (walk.is_tensor(container.object))
    return tensor_store_subscript(walk, f, container, key, value, -pops);
  if (has_dict_slot(container.object, "__setitem__")) {
    return dict_set_item(walk, f, container, key, value, pops, false);
  }
  if (PyList_CheckExact(container.object) && PyLong_Check(key.object)) {
    if (!walk.facts.consume(key)) return false;
    const std::size_t size = walk.objects.items(container).size();
    auto at = index_in(key.object, size);
    if (at) {
      if (!container.shadow.is(Shadow::Kind::fresh)) {
        walk.effects.add(Restore::Kind::set_item, container, {}, key, value);
      }
      walk.objects.object(walk.objects.contents(container)).items[*at] = value.shadow;
    }
    f.pop(pops);
    return true;
  }
  if (const auto done = store_list_slice(walk, f, container, key, value, pops)) return *done;
  bool known = false;
  if (lies_on_stack(f, key)) {
    if (call_special(walk, f, container, "__setitem__", {key, value}, pops, known)) {
      f.finish = [pops](Walk&, FrameShadow& f) { f.pop(pops); };
      return true;
    }
    if (known) return false;
  }
  return walk.verdict.broke(
      Code::PS0303,
      std::string("a subscript of a ") + Py_TYPE(container.object)->tp_name + " is not followed");
}

bool delete_subscript(Walk& walk, FrameShadow& f) {
  Operand container = f.operand(1), key = f.operand();
  if (has_dict_slot(container.object, "__delitem__"))
    return dict_delete_item(walk, f, container, key, 2, false);
  if (const auto done = delete_list_item(walk, f, container, key, 2)) return *done;
  bool known = false;
  if (call_special(walk, f, container, "__delitem__", {key}, 2, known)) {
    f.finish = [](Walk&, FrameShadow& f) { f.pop(2); };
    return true;
  }
  if (known) return false;
  return walk.verdict.broke(
      Code::PS0303,
      std::string("deleting from a ") + Py_TYPE(container.object)->tp_name + " is not followed");
}

bool contains(Walk& walk, FrameShadow& f, bool) {
  Operand container = f.operand(), key = f.operand(1);
  if (has_dict_slot(container.object, "__contains__"))
    return dict_contains(walk, f, container, key, 2);
  if (const ObjectShadow* view = walk.objects.find(container.object);
      view != nullptr && view->iterator && PyDictKeys_Check(container.object)) {
    return dict_contains(walk, f, {view->iterator->shadow, view->iterator->object.get()}, key, 2);
  }
  if (PySet_CheckExact(container.object) || PyFrozenSet_CheckExact(container.object)) {
    const SourceId source = container.shadow.source();
    if (source == kNoSource) return walk.facts.consume_hashed(key) && gives_constant(f, 2);
    if (!walk.facts.consume(key) || !walk.facts.consume_type(container)) return false;
    auto literal = literal_of(key.object);
    // A class is known by its identity.
    const bool is_class = PyType_Check(key.object) && Py_TYPE(key.object) == &PyType_Type;
    if (is_class) literal = python::qualified_name(key.object);
    if (!literal)
      return walk.verdict.broke(Code::PS0303, "membership of an object in a set is not followed");
    const int present = PySet_Contains(container.object, key.object);
    walk.facts.add_guard(present == 1 ? GuardKind::has_key : GuardKind::lacks_key, source, *literal,
                         is_class ? key.object : nullptr);
    return gives_constant(f, 2);
  }
  if (walk.is_tensor(key.object) && !walk.is_tensor(container.object)) {
    return walk.verdict.broke(Code::PS0301, "membership depends on the elements of a tensor");
  }
  if (is_sequence(container.object)) {
    if (!is_known_deque(walk, container)) return false;
    const std::vector<Shadow> all = walk.objects.items(container);
    const PyRef listed = PyRef::steal(PySequence_Fast(container.object, ""));
    for (std::size_t i = 0; i < all.size(); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(listed.get(), static_cast<Py_ssize_t>(i));
      if (!walk.facts.consume({all[i], item})) return false;
    }
    return walk.facts.consume(key) && gives_constant(f, 2);
  }
  const bool is_constant_view =
      PyDictViewSet_Check(container.object) && container.shadow.is(Shadow::Kind::constant);
  if (is_constant_view || PyUnicode_CheckExact(container.object) ||
      PyRange_Check(container.object)) {
    return walk.facts.consume(key) && walk.facts.consume(container) && gives_constant(f, 2);
  }
  bool known = false;
  if (call_special(walk, f, container, "__contains__", {key}, 2, known)) {
    f.expected.asks_truth = true;
    return true;
  }
  if (known) return false;
  return walk.verdict.broke(
      Code::PS0303,
      std::string("membership in a ") + Py_TYPE(container.object)->tp_name + " is not followed");
}

bool gives_dict(FrameShadow& f, int pops, std::vector<std::pair<PyRef, Shadow>> pairs) {
  f.finish = [pops, pairs = std::move(pairs)](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    const Shadow made = walk.objects.fresh(f.object());
    for (const auto& [key, value] : pairs) walk.objects.dict_store(made.index, key.get(), value);
    f.push(made);
  };
  return true;
}

void copy_items(Walk& walk, ObjectId target, Operand source) {
  const ObjectId from = walk.objects.contents(source);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(source.object, &at, &key, &value);) {
    walk.objects.dict_store(target, key, walk.objects.dict_value(from, key, value));
  }
}

}  // namespace penstock::record
