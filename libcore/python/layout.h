#pragma once

// Inline readers of CPython's dicts and instances for code that runs on every call and must not run
// foreign code: they call nothing but a dict's own lookup, change nothing and return borrowed
// references. For .cpp files of the rooms python, record, guards and capture.

#include <cstdint>

#include "python/versions/instance_layout.h"

namespace penstock::python {

/// Where a key was found the last time: its index in the table's entries. kNoHint: not to be found
/// by identity (an equal key that is another object).
using DictHint = std::uint32_t;
inline constexpr DictHint kNoHint = ~DictHint{0};

inline std::uint64_t dict_version(PyObject* dict) {
  return *dict_version_word(dict);
}

/// The entry's value when the table's entry `hint` has this very key, else null.
inline PyObject* dict_entry(PyDictKeysObject* keys, PyDictValues* values, PyObject* key,
                            DictHint hint) {
  if (static_cast<Py_ssize_t>(hint) >= keys->dk_nentries) return nullptr;
  if (!DK_IS_UNICODE(keys)) {
    const PyDictKeyEntry& entry = DK_ENTRIES(keys)[hint];
    return entry.me_key == key ? entry.me_value : nullptr;
  }
  const PyDictUnicodeEntry& entry = DK_UNICODE_ENTRIES(keys)[hint];
  if (entry.me_key != key) return nullptr;
  return values != nullptr ? values->values[hint] : entry.me_value;
}

/// False where a key is no str, which may be compared by code of the program's.
inline bool has_only_string_keys(PyObject* dict) {
  if (DK_IS_UNICODE(reinterpret_cast<PyDictObject*>(dict)->ma_keys)) return true;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value) != 0;) {
    if (!PyUnicode_Check(key)) return false;
  }
  return true;
}

/// The index of this very key among the entries, or kNoHint.
inline DictHint dict_index(PyDictKeysObject* keys, PyObject* key) {
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i) {
    PyObject* at =
        DK_IS_UNICODE(keys) ? DK_UNICODE_ENTRIES(keys)[i].me_key : DK_ENTRIES(keys)[i].me_key;
    if (at == key) return static_cast<DictHint>(i);
  }
  return kNoHint;
}

/// The value of `key` in a dict or a subclass's base part, null when absent. `key` is a str, a
/// number, a bool, None or a tuple of such, so that comparing runs no foreign code unless the dict
/// holds a foreign key of equal hash; an error of that one is dropped.
inline PyObject* dict_value(PyObject* dict, PyObject* key, Py_hash_t hash, DictHint& hint) {
  auto* object = reinterpret_cast<PyDictObject*>(dict);
  if (hint != kNoHint) {
    PyObject* value = dict_entry(object->ma_keys, object->ma_values, key, hint);
    if (value != nullptr) return value;
  }
  PyObject* value = _PyDict_GetItem_KnownHash(dict, key, hash);
  if (value == nullptr) {
    PyErr_Clear();
  } else if (hint != kNoHint) {
    hint = dict_index(object->ma_keys, key);
  }
  return value;
}

/// What torch.Tensor.__hash__ makes of an object, hash(id(tensor)): no two tensors are compared
/// where one is looked up.
inline Py_hash_t tensor_hash(PyObject* tensor) {
  return static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(tensor) % _PyHASH_MODULUS);
}

/// The place of an instance's dict pointer, or null when its type gives it none. The pointer itself
/// is null while the attributes stand inline (instance_values) or none was ever set.
inline PyObject** instance_dict_pointer(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if ((type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0) {
    return reinterpret_cast<PyObject**>(object) + kManagedDict;
  }
  Py_ssize_t offset = type->tp_dictoffset;
  if (offset == 0) return nullptr;
  if (offset < 0) {
    const Py_ssize_t items = Py_SIZE(object);
    offset += static_cast<Py_ssize_t>(_PyObject_VAR_SIZE(type, items < 0 ? -items : items));
  }
  return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
}

/// The instance's dict if it is one already; null when attributes stand inline or there are none.
inline PyObject* instance_dict(PyObject* object) {
  if (instance_values(object) != nullptr) return nullptr;
  PyObject** pointer = instance_dict_pointer(object);
  return pointer == nullptr ? nullptr : *pointer;
}

/// What the instance itself holds under `name` (interned), without its type; null when nothing.
inline PyObject* instance_value(PyObject* object, PyObject* name, Py_hash_t hash, DictHint& hint) {
  if (PyDictValues* values = instance_values(object)) {
    auto* type = reinterpret_cast<PyHeapTypeObject*>(Py_TYPE(object));
    PyDictKeysObject* keys = type->ht_cached_keys;
    if (static_cast<Py_ssize_t>(hint) >= keys->dk_nentries ||
        DK_UNICODE_ENTRIES(keys)[hint].me_key != name) {
      hint = dict_index(keys, name);
      if (hint == kNoHint) {
        hint = 0;
        return nullptr;
      }
    }
    return values->values[hint];
  }
  PyObject** pointer = instance_dict_pointer(object);
  if (pointer == nullptr || *pointer == nullptr) return nullptr;
  return dict_value(*pointer, name, hash, hint);
}

}  // namespace penstock::python
