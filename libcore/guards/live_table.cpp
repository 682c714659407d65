#include "guards/live_table.h"

#include <algorithm>

#include "python/getter.h"
#include "python/literal.h"
#include "python/numpy_scalar.h"
#include "python/type_union.h"
#include "python/weak_reference.h"
#include "torch/element_question.h"

namespace penstock::guards {
namespace {

bool nothing_hangs_on(PyObject* object) {
  if (python::is_plain_immutable(object) || PyCode_Check(object)) return true;
  if (PyType_Check(object)) {
    return (reinterpret_cast<PyTypeObject*>(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0;
  }
  if (PyWeakref_Check(object) || torch::is_question(object) ||
      python::is_getter_of_literals(object))
    return true;
  // Contexts keep a variable for as long as its thread lives; it holds its default value alone.
  if (PyContextVar_CheckExact(object)) return true;
  PyTypeObject* type = Py_TYPE(object);
  // list[int] and int | None: made anew by each look, and of classes, which are there for good.
  if (type == &Py_GenericAliasType || python::is_union_type(type)) return true;
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type ||
      type == &PyClassMethodDescr_Type || type == &PyGetSetDescr_Type ||
      type == &PyMemberDescr_Type) {
    return true;
  }
  if (PyTuple_CheckExact(object)) {  // arguments of a call, with weak references
    PyObject* const* items = &PyTuple_GET_ITEM(object, 0);
    return std::all_of(items, items + PyTuple_GET_SIZE(object), nothing_hangs_on);
  }
  if (python::is_numpy_function(object)) return true;
  if (PyCFunction_CheckExact(object)) {
    PyObject* self = PyCFunction_GET_SELF(object);
    return self == nullptr || PyModule_Check(self);
  }
  return false;
}

/// A member of an enum.Enum: as its class, it is there for good, and holds a value.
bool is_enum_member(PyObject* object) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "enum");
  PyObject* kind =
      module == nullptr ? nullptr : PyDict_GetItemString(PyModule_GetDict(module), "EnumMeta");
  return kind != nullptr && PyType_Check(kind) &&
         PyObject_TypeCheck(reinterpret_cast<PyObject*>(Py_TYPE(object)),
                            reinterpret_cast<PyTypeObject*>(kind));
}

/// The module in sys.modules whose dict this is, or null.
PyObject* module_of(PyObject* dict) {
  if (!PyDict_CheckExact(dict)) return nullptr;
  PyObject* name = PyDict_GetItemString(dict, "__name__");
  PyObject* module =
      name == nullptr ? nullptr : PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  PyErr_Clear();
  const bool own = module != nullptr && PyModule_Check(module) && PyModule_GetDict(module) == dict;
  return own ? module : nullptr;
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
      PyObject* module = module_of(object.get());
      holder.of_module = module != nullptr;
      holder.object = python::weak_reference(module != nullptr ? module : object.get());
      holder.weak = true;
      if (!holder.object) {
        // torch's dtypes and layouts are static singletons without weak references or a dict:
        // nothing can hang on an object whose type has neither items nor the collector's interest.
        // Nor do members of IntEnum and StrEnum have any.
        if (!PyObject_IS_GC(object.get()) || is_enum_member(object.get()))
          holder = {object, false, false};
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
  if (object == Py_None) return nullptr;
  return holder.of_module ? PyModule_GetDict(object) : object;
}

bool LiveTable::holds(std::int64_t index) const {
  return index >= 0 && index < static_cast<std::int64_t>(holders_.size()) &&
         static_cast<bool>(holders_[index].object);
}

PyObject* LiveTable::holder(std::int64_t index, bool& weak) const {
  if (!holds(index) || holders_[index].of_module) return nullptr;
  weak = holders_[index].weak;
  return holders_[index].object.get();
}

}  // namespace penstock::guards
