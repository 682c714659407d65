// Lists, tuples and dicts: subscripts, stores, membership, displays of dicts.

#include "capture/literal.h"
#include "capture/walk.h"

namespace penstock::capture {

using python::PyRef;

namespace {

bool is_sequence(PyObject* object) { return PyList_CheckExact(object) || PyTuple_Check(object); }

/// A mapping whose own slots decide: dict itself and OrderedDict (the same operations).
bool is_dict(PyObject* object) {
  return PyDict_CheckExact(object) || Py_TYPE(object) == &PyODict_Type;
}

/// A built-in type whose subscript makes an alias and nothing else: list[int].
bool makes_alias(PyObject* object) {
  for (PyTypeObject* type : {&PyList_Type, &PyDict_Type, &PyTuple_Type, &PySet_Type, &PyFrozenSet_Type, &PyType_Type}) {
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

bool Walk::load_subscript(FrameShadow& f) {
  Operand container = f.operand(1), key = f.operand();
  if (is_tensor(container.object)) return tensor_subscript(f);
  if (is_sequence(container.object) && PyIndex_Check(key.object)) {
    if (!consume(key)) return false;
    const std::vector<Shadow>& all = items(container);
    auto at = index_in(key.object, all.size());
    if (!at) return gives(f, 2, Shadow::constant());  // it raises IndexError
    return gives(f, 2, all[*at]);
  }
  if (is_sequence(container.object) && PySlice_Check(key.object)) {
    if (!consume(key)) return false;
    if (is_torch_size(container.object)) {
      return consume(container) && gives_constant(f, 2);
    }
    return gives_fresh(f, 2, sliced(items(container), key.object));
  }
  if (is_dict(container.object)) {
    if (!consume(key) || !consume_type(container)) return false;
    PyObject* value = PyDict_GetItemWithError(container.object, key.object);
    PyErr_Clear();
    return gives(f, 2, dict_value(dict_contents(container), key.object, value));
  }
  if (PyUnicode_CheckExact(container.object) || PyRange_Check(container.object) ||
      PyBytes_CheckExact(container.object) || makes_alias(container.object)) {
    if (!consume(key) || !consume(container)) return false;
    return gives_constant(f, 2);
  }
  bool known = false;
  if (call_special(f, container, "__getitem__", {key}, 2, known)) return true;
  if (known) return false;
  return broke(Code::PS0303, std::string("a subscript of a ") +
                                 Py_TYPE(container.object)->tp_name + " is not followed");
}

bool Walk::store_subscript(FrameShadow& f) {
  Operand container = f.operand(1), key = f.operand(), value = f.operand(2);
  if (is_tensor(container.object)) return tensor_store_subscript(f);
  if (is_dict(container.object)) {
    if (!consume(key) || !consume_type(container)) return false;
    const ObjectId id = dict_contents(container);
    if (!container.shadow.is(Shadow::Kind::fresh)) {
      effect(Restore::Kind::set_item, container, {}, key, value);
    }
    dict_store(id, key.object, value.shadow);
    f.pop(3);
    return true;
  }
  if (PyList_CheckExact(container.object) && PyLong_Check(key.object)) {
    if (!consume(key)) return false;
    const std::size_t size = items(container).size();
    auto at = index_in(key.object, size);
    if (at) {
      if (!container.shadow.is(Shadow::Kind::fresh)) {
        effect(Restore::Kind::set_item, container, {}, key, value);
      }
      object(contents(container)).items[*at] = value.shadow;
    }
    f.pop(3);
    return true;
  }
  bool known = false;
  if (call_special(f, container, "__setitem__", {key, value}, 3, known)) {
    auto finish = std::move(f.finish);
    f.finish = [finish](Walk&, FrameShadow& f) { f.pop(3); };
    return true;
  }
  if (known) return false;
  return broke(Code::PS0303, std::string("a subscript of a ") +
                                 Py_TYPE(container.object)->tp_name + " is not followed");
}

bool Walk::delete_subscript(FrameShadow& f) {
  Operand container = f.operand(1), key = f.operand();
  if (!is_dict(container.object)) {
    return broke(Code::PS0303, "an item is deleted from what is no dict");
  }
  if (!consume(key) || !consume_type(container)) return false;
  const ObjectId id = dict_contents(container);
  if (!container.shadow.is(Shadow::Kind::fresh)) {
    effect(Restore::Kind::delete_item, container, {}, key, {});
  }
  dict_store(id, key.object, Shadow::null());
  f.pop(2);
  return true;
}

bool Walk::contains(FrameShadow& f, bool) {
  Operand container = f.operand(), key = f.operand(1);
  if (is_dict(container.object)) {
    if (!consume(key) || !consume_type(container)) return false;
    PyObject* value = PyDict_GetItemWithError(container.object, key.object);
    PyErr_Clear();
    const ObjectId id = dict_contents(container);
    const Shadow known = dict_value(id, key.object, value);
    const SourceId source = container.shadow.source();
    // A value that the segment wrote is there for certain; one that was there must be there again.
    if (source != kNoSource && value != nullptr && known.is(Shadow::Kind::sourced)) {
      if (auto literal = literal_of(key.object)) add_guard(GuardKind::has_key, source, *literal);
    }
    return gives_constant(f, 2);
  }
  if (PySet_CheckExact(container.object) || PyFrozenSet_CheckExact(container.object)) {
    if (!consume(key)) return false;
    const SourceId source = container.shadow.source();
    if (source == kNoSource) return gives_constant(f, 2);
    auto literal = literal_of(key.object);
    if (!literal) return broke(Code::PS0303, "membership of an object in a set is not followed");
    const int present = PySet_Contains(container.object, key.object);
    add_guard(present == 1 ? GuardKind::has_key : GuardKind::lacks_key, source, *literal);
    return gives_constant(f, 2);
  }
  if (is_tensor(container.object) || is_tensor(key.object)) {
    return broke(Code::PS0301, "membership depends on the elements of a tensor");
  }
  if (is_sequence(container.object)) {
    const std::vector<Shadow> all = items(container);
    for (std::size_t i = 0; i < all.size(); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(container.object, static_cast<Py_ssize_t>(i));
      if (!consume({all[i], item})) return false;
    }
    return consume(key) && gives_constant(f, 2);
  }
  if (PyUnicode_CheckExact(container.object) || PyRange_Check(container.object)) {
    return consume(key) && consume(container) && gives_constant(f, 2);
  }
  bool known = false;
  if (call_special(f, container, "__contains__", {key}, 2, known)) return true;
  if (known) return false;
  return broke(Code::PS0303, std::string("membership in a ") +
                                 Py_TYPE(container.object)->tp_name + " is not followed");
}

bool Walk::gives_dict(FrameShadow& f, int pops, std::vector<std::pair<PyRef, Shadow>> pairs) {
  f.finish = [pops, pairs = std::move(pairs)](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    const Shadow made = walk.fresh(f.object());
    for (const auto& [key, value] : pairs) walk.dict_store(made.index, key.get(), value);
    f.push(made);
  };
  return true;
}

void Walk::copy_items(ObjectId target, Operand source) {
  const ObjectId from = dict_contents(source);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(source.object, &at, &key, &value);) {
    dict_store(target, key, dict_value(from, key, value));
  }
}

}  // namespace penstock::capture
