// Asking a function again. functools.lru_cache's wrappers do not say what is in their caches:
// what they tell the garbage collector leads to the dict, and the key is made as they make it.

#include "guards/call_again.h"

#include <cstring>
#include <vector>

#include "torch/element_question.h"

namespace penstock::guards {

using python::PyRef;

namespace {

/// The parts of a wrapper, in the order in which it shows them to the collector.
struct CacheParts {
  PyObject* wrapped;
  PyObject *before = nullptr, *cache = nullptr, *mark = nullptr;
  bool after = false;
};

int look_at(PyObject* part, void* into) {
  auto* parts = static_cast<CacheParts*>(into);
  if (parts->after && parts->mark == nullptr) parts->mark = part;
  if (part == parts->wrapped && parts->cache == nullptr) {
    parts->cache = parts->before;
    parts->after = true;
  }
  parts->before = part;
  return 0;
}

/// Whether the function tells apart what is equal but of another type.
bool is_typed(PyObject* function) {
  const PyRef settings = PyRef::steal(PyObject_CallMethod(function, "cache_parameters", nullptr));
  PyObject* typed = settings && PyDict_Check(settings.get())
                        ? PyDict_GetItemString(settings.get(), "typed")
                        : nullptr;
  PyErr_Clear();
  return typed != Py_False;
}

/// The key of a call, as _functoolsmodule.c makes it.
PyRef key_of(PyObject* function, PyObject* mark, const std::vector<PyRef>& values,
             PyObject* names) {
  const bool typed = is_typed(function);
  const std::size_t named =
      names == nullptr ? 0 : static_cast<std::size_t>(PyTuple_GET_SIZE(names));
  const std::size_t placed = values.size() - named;
  if (!typed && named == 0 && placed == 1 &&
      (PyUnicode_CheckExact(values[0].get()) || PyLong_CheckExact(values[0].get()))) {
    return values[0];
  }
  std::vector<PyObject*> parts;
  for (std::size_t i = 0; i < placed; ++i) parts.push_back(values[i].get());
  if (named > 0) parts.push_back(mark);
  for (std::size_t i = 0; i < named; ++i) {
    parts.push_back(PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i)));
    parts.push_back(values[placed + i].get());
  }
  for (std::size_t i = 0; typed && i < values.size(); ++i)
    parts.push_back(reinterpret_cast<PyObject*>(Py_TYPE(values[i].get())));
  PyRef key = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
  for (std::size_t i = 0; key && i < parts.size(); ++i)
    PyTuple_SET_ITEM(key.get(), static_cast<Py_ssize_t>(i), PyRef::borrow(parts[i]).release());
  return key;
}

/// True if the cache has the result of such a call.
bool has_result(PyObject* function, const std::vector<PyRef>& values, PyObject* names) {
  const PyRef wrapped = PyRef::steal(PyObject_GetAttrString(function, "__wrapped__"));
  CacheParts parts{wrapped.get()};
  if (wrapped) Py_TYPE(function)->tp_traverse(function, look_at, &parts);
  if (parts.cache == nullptr || !PyDict_CheckExact(parts.cache) || parts.mark == nullptr) {
    PyErr_Clear();
    return false;
  }
  const PyRef key = key_of(function, parts.mark, values, names);
  const bool found = key && PyDict_GetItemWithError(parts.cache, key.get()) != nullptr;
  PyErr_Clear();
  return found;
}

}  // namespace

PyRef call_again(PyObject* function, PyObject* arguments) {
  if (arguments != nullptr && torch::is_question(arguments)) return torch::ask(arguments, function);
  if (PyContextVar_CheckExact(function)) {
    PyObject* value = nullptr;
    if (PyContextVar_Get(function, nullptr, &value) < 0) PyErr_Clear();
    return PyRef::steal(value);
  }
  std::vector<PyRef> held;  // the function may let go of what a weak reference led to
  PyObject* names = nullptr;
  if (arguments != nullptr) {
    PyObject* values = PyTuple_GET_ITEM(arguments, 0);
    names = PyTuple_GET_ITEM(arguments, 1);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i) {
      PyObject* value = PyTuple_GET_ITEM(values, i);
      const bool weak = PyWeakref_Check(value);
      held.push_back(PyRef::borrow(weak ? PyWeakref_GET_OBJECT(value) : value));
      if (weak && held.back().get() == Py_None) return {};
    }
  }
  if (!PyCFunction_Check(function)) {
    const bool cached =
        std::strcmp(Py_TYPE(function)->tp_name, "functools._lru_cache_wrapper") == 0;
    if (!cached || !has_result(function, held, names)) return {};
  }
  std::vector<PyObject*> all;
  for (const PyRef& value : held) all.push_back(value.get());
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  PyRef answer = PyRef::steal(PyObject_Vectorcall(
      function, all.data(), all.size() - static_cast<std::size_t>(named), names));
  if (!answer) PyErr_Clear();
  return answer;
}

}  // namespace penstock::guards
