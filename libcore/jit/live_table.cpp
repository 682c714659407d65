#include "jit/live_table.h"

#include "jit/literal.h"

namespace penstock::jit {
namespace {

bool nothing_hangs_on(PyObject* object) {
  if (is_plain_immutable(object) || PyCode_Check(object)) return true;
  if (PyType_Check(object)) {
    return (reinterpret_cast<PyTypeObject*>(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0;
  }
  if (PyCFunction_CheckExact(object)) {
    PyObject* self = PyCFunction_GET_SELF(object);
    return self == nullptr || PyModule_Check(self);
  }
  return false;
}

}  // namespace

LiveTable::LiveTable(const std::vector<python::PyRef>& objects) {
  holders_.reserve(objects.size());
  for (const python::PyRef& object : objects) {
    Holder holder;
    if (!object) {
      // Stays empty: holds() says so.
    } else if (nothing_hangs_on(object.get())) {
      holder.object = object;
    } else {
      holder.object = python::PyRef::steal(PyWeakref_NewRef(object.get(), nullptr));
      holder.weak = true;
      if (!holder.object) {
        PyErr_Clear();
        // torch's dtypes and layouts are static singletons without weak references or a dict:
        // nothing can hang on an object whose type has neither items nor the collector's interest.
        if (!PyObject_IS_GC(object.get())) holder = {object, false};
      }
    }
    holders_.push_back(std::move(holder));
  }
}

PyObject* LiveTable::get(std::int64_t index) const {
  if (index < 0 || index >= static_cast<std::int64_t>(holders_.size())) return nullptr;
  const Holder& holder = holders_[index];
  if (!holder.object || !holder.weak) return holder.object.get();
  PyObject* object = PyWeakref_GET_OBJECT(holder.object.get());
  return object == Py_None ? nullptr : object;
}

bool LiveTable::holds(std::int64_t index) const {
  return index >= 0 && index < static_cast<std::int64_t>(holders_.size()) &&
         static_cast<bool>(holders_[index].object);
}

PyObject* LiveTable::holder(std::int64_t index, bool& weak) const {
  weak = holds(index) && holders_[index].weak;
  return holds(index) ? holders_[index].object.get() : nullptr;
}

}  // namespace penstock::jit
