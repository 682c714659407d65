// copy.copy and copy.deepcopy. CPython copies; what is followed is which objects the copies hold:
// plain values and classes are shared, lists, tuples, dicts and instances without copying code of
// their own are made anew.

#include <cstring>
#include <unordered_set>

#include "python/literal.h"
#include "record/objects/call.h"
#include "record/objects/container.h"
#include "record/walk.h"

namespace penstock::record {

using python::PyRef;

namespace {

constexpr int kDeepest = 64;

/// A value that copies share, whatever it is.
bool is_shared(PyObject* object) {
  if (object == Py_None || object == Py_Ellipsis || object == Py_NotImplemented ||
      PyType_Check(object))
    return true;
  for (const PyTypeObject* type :
       {&PyBool_Type, &PyLong_Type, &PyFloat_Type, &PyComplex_Type, &PyUnicode_Type, &PyBytes_Type,
        &PyFunction_Type, &PyCFunction_Type, &PyRange_Type}) {
    if (Py_TYPE(object) == type) return true;
  }
  // Members of an enumeration are the only ones of their value.
  auto* meta = reinterpret_cast<PyObject*>(Py_TYPE(Py_TYPE(object)));
  return std::strcmp(Py_TYPE(object)->tp_name, "torch.dtype") == 0 ||
         python::qualified_name(meta) == "enum.EnumType";
}

/// True for an instance that is copied by object's own methods: its class and its attributes.
bool is_plain_instance(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  const bool plain = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
                     type->tp_new == PyBaseObject_Type.tp_new && type->tp_itemsize == 0;
  if (!plain) return false;
  const auto lookup = [](PyTypeObject* of, const char* name) {
    PyRef text = PyRef::steal(PyUnicode_InternFromString(name));
    return _PyType_Lookup(of, text.get());
  };
  for (const char* own : {"__copy__", "__deepcopy__", "__setstate__", "__getnewargs__",
                          "__getnewargs_ex__", "__getattr__", "__slots__"}) {
    if (lookup(type, own) != nullptr) return false;
  }
  for (const char* inherited : {"__reduce__", "__reduce_ex__", "__getstate__", "__new__"}) {
    if (lookup(type, inherited) != lookup(&PyBaseObject_Type, inherited)) return false;
  }
  return true;
}

}  // namespace

/// One call of copy() or deepcopy().
class Copying {
 public:
  Copying(Walk& walk, bool deep) : walk_(walk), deep_(deep) {}

  /// Guards what the copy depends on; false when that is not known.
  bool prepare(Operand from, int depth = 0);
  /// What is known of the copy.
  Shadow pair(Operand from, PyObject* to, int depth = 0);

 private:
  Operand attributes(Operand instance);
  Shadow child(Operand from, PyObject* to, int depth);
  void pair_items(ObjectId copy, Operand from, PyObject* to, int depth);

  Walk& walk_;
  bool deep_;
  std::unordered_set<PyObject*> seen_;
};

Operand Copying::attributes(Operand instance) {
  const ObjectId id = walk_.objects.instance_dict(instance);
  if (id == kNoSource) return {};
  const ObjectShadow& dict = walk_.objects.object(id);
  return {dict.origin.is(Shadow::Kind::sourced) ? dict.origin : Shadow::fresh(id),
          dict.object.get()};
}

bool Copying::prepare(Operand from, int depth) {
  PyObject* object = from.object;
  if (depth > kDeepest || from.shadow.is(Shadow::Kind::unknown) || walk_.is_tensor(object))
    return false;
  if (is_shared(object))
    return walk_.sizes.is_followed(from) ? walk_.facts.consume(from)
                                         : walk_.facts.consume_type(from);
  if (!seen_.insert(object).second) return true;
  if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
    const std::vector<Shadow> all = walk_.objects.items(from);
    for (std::size_t i = 0; deep_ && i < all.size(); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(object, static_cast<Py_ssize_t>(i));
      if (!prepare({all[i], item}, depth + 1)) return false;
    }
    return true;
  }
  Operand dict = from;
  if (!PyDict_CheckExact(object)) {
    if (!is_plain_instance(object)) return false;
    walk_.facts.guard_type_version(from);
    dict = attributes(from);
    if (dict.object == nullptr) return false;
  }
  if (!walk_.facts.consume_type(dict) || !walk_.objects.consume_keys(dict)) return false;
  if (!deep_) return true;
  for (const auto& [key, shadow] : all_pairs(walk_, dict)) {
    if (!is_shared(key.get())) return false;
    if (!prepare({shadow, PyDict_GetItemWithError(dict.object, key.get())}, depth + 1))
      return false;
  }
  return true;
}

Shadow Copying::child(Operand from, PyObject* to, int depth) {
  if (deep_) return pair(from, to, depth + 1);
  if (from.object != to) walk_.verdict.spoil("a copy holds another object than what was copied");
  return from.shadow;
}

Shadow Copying::pair(Operand from, PyObject* to, int depth) {
  if (from.object == to) return from.shadow;
  if (to == nullptr || Py_TYPE(to) != Py_TYPE(from.object) || is_shared(to) || depth > kDeepest) {
    walk_.verdict.spoil("a copy is not made as copies of its type are");
    return {};
  }
  if (const ObjectId known = walk_.objects.id_of(to); known != kNoSource)
    return Shadow::fresh(known);
  const Shadow made = walk_.objects.fresh(to);
  if (PyList_CheckExact(to) || PyTuple_CheckExact(to)) {
    pair_items(made.index, from, to, depth);
    return made;
  }
  Operand source = from;
  Operand target{made, to};
  if (!PyDict_CheckExact(to)) {
    source = attributes(from);
    target = attributes(target);
  }
  if (source.object == nullptr || target.object == nullptr) {
    walk_.verdict.spoil("what a copy holds was not found");
    return {};
  }
  for (const auto& [key, shadow] : all_pairs(walk_, source)) {
    PyObject* value = PyDict_GetItemWithError(source.object, key.get());
    walk_.objects.dict_store(
        walk_.objects.contents(target), key.get(),
        child({shadow, value}, PyDict_GetItemWithError(target.object, key.get()), depth));
  }
  return made;
}

void Copying::pair_items(ObjectId copy, Operand from, PyObject* to, int depth) {
  const std::vector<Shadow> all = walk_.objects.items(from);
  if (PySequence_Fast_GET_SIZE(to) != static_cast<Py_ssize_t>(all.size())) {
    return walk_.verdict.spoil("a copy is of another length than what was copied");
  }
  std::vector<Shadow> items;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto at = static_cast<Py_ssize_t>(i);
    items.push_back(child({all[i], PySequence_Fast_GET_ITEM(from.object, at)},
                          PySequence_Fast_GET_ITEM(to, at), depth));
  }
  walk_.objects.object(copy).items = std::move(items);
}

bool call_copy(Walk& walk, FrameShadow& f, Operand function, bool deep, Operand from, int pops) {
  if (!Copying(walk, deep).prepare(from)) {
    return walk.verdict.broke(Code::PS0307,
                              std::string("a ") + Py_TYPE(from.object)->tp_name + " is copied");
  }
  f.expected.function = function.object;
  f.expected.native = true;
  f.finish = [pops, deep, shadow = from.shadow, held = PyRef::borrow(from.object)](Walk& walk,
                                                                                   FrameShadow& f) {
    f.pop(pops);
    f.push(Copying(walk, deep).pair({shadow, held.get()}, f.object()));
  };
  return true;
}

}  // namespace penstock::record
