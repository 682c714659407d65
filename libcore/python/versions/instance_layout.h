#pragma once

// Where an instance keeps its attributes, and which dicts count their changes. For layout.h only.

#include <cstdint>

#include "python/cpython.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <internal/pycore_dict.h>
#pragma GCC diagnostic pop

namespace penstock::python {

// An instance whose type has Py_TPFLAGS_MANAGED_DICT carries two words in front of its collector
// header (pycore_object.h, which does not compile as C++). The one at -3 is its dict. In 3.11 and
// 3.12 the attributes that stand inline are another block of memory, and the instance has either
// that or a dict, in 3.12 in one word, which is odd for the block: one less than its address. Since
// 3.13 they stand behind the object's head as long as they are valid, and the dict, if there is
// one, shares them.
inline constexpr int kManagedDict = -3;

#if PY_VERSION_HEX >= 0x030e0000

// Since 3.14 no dict counts its changes. Each that is asked for its number is watched from then on:
// before it changes, it gets another number, in the bits of its own that CPython leaves alone.

inline constexpr std::uint64_t kChangeStep = DICT_VERSION_INCREMENT;  // below: CPython's own bits

inline void count_change(PyObject* dict) {
  static std::uint64_t last = 0;
  std::uint64_t& word = reinterpret_cast<PyDictObject*>(dict)->_ma_watcher_tag;
  word = (word & (kChangeStep - 1)) | (last += kChangeStep);
}
inline int dict_watcher() {
  static const int watcher =
      PyDict_AddWatcher([](PyDict_WatchEvent, PyObject* dict, PyObject*, PyObject*) {
        count_change(dict);
        return 0;
      });
  return watcher;
}
inline bool changes_are_counted() {
  if (dict_watcher() >= 0) return true;
  PyErr_Clear();  // all watchers are taken
  return false;
}

/// Changes with every change of a dict that counts them; no two states of any dicts ever share a
/// number.
inline const std::uint64_t* dict_version_word(PyObject* dict) {
  const std::uint64_t& word = reinterpret_cast<PyDictObject*>(dict)->_ma_watcher_tag;
  if (changes_are_counted() && (word & std::uint64_t{1} << dict_watcher()) == 0 &&
      PyDict_Watch(dict_watcher(), dict) == 0)
    count_change(dict);
  return &word;
}

#else

inline bool changes_are_counted() {
  return true;
}

/// Changes with every change of a dict that counts them; no two states of any dicts ever share a
/// number.
inline const std::uint64_t* dict_version_word(PyObject* dict) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#pragma GCC diagnostic pop
}

#endif

#if PY_VERSION_HEX >= 0x030d0000

/// The attributes that stand inline in the instance, or null.
inline PyDictValues* instance_values(PyObject* object) {
  if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES) == 0) return nullptr;
  auto* values = reinterpret_cast<PyDictValues*>(object + 1);
  return values->valid != 0 ? values : nullptr;
}

/// A word that differs when the attributes begin or cease to stand inline; null where the
/// instance's type never has them inline.
inline const void* inline_word(PyObject* object) {
  return (Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES) != 0 ? object + 1 : nullptr;
}

/// True if every change gives the dict another version. What is set by way of the instance, while
/// its dict shares the inline values, does not.
inline bool counts_changes(PyObject* dict) {
  return reinterpret_cast<PyDictObject*>(dict)->ma_values == nullptr && changes_are_counted();
}

#elif PY_VERSION_HEX >= 0x030c0000

inline PyDictValues* instance_values(PyObject* object) {
  if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0) return nullptr;
  const auto word = reinterpret_cast<std::uintptr_t*>(object)[kManagedDict];
  return (word & 1) != 0 ? reinterpret_cast<PyDictValues*>(word + 1) : nullptr;
}

inline const void* inline_word(PyObject* object) {
  if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0) return nullptr;
  return reinterpret_cast<PyObject**>(object) + kManagedDict;
}

inline bool counts_changes(PyObject*) {
  return true;
}

#else

inline constexpr int kManagedValues = -4;

inline PyDictValues* instance_values(PyObject* object) {
  if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0) return nullptr;
  return reinterpret_cast<PyDictValues**>(object)[kManagedValues];
}

inline const void* inline_word(PyObject* object) {
  if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0) return nullptr;
  return reinterpret_cast<PyObject**>(object) + kManagedValues;
}

inline bool counts_changes(PyObject*) {
  return true;
}

#endif

}  // namespace penstock::python
