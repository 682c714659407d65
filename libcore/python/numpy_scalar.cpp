#include "python/numpy_scalar.h"

#include <algorithm>
#include <string_view>

#include "python/object.h"

namespace penstock::python {

namespace {

enum class Kind { none, truth, integer, floating };

Kind kind_of(PyTypeObject* type) {
  std::string_view name = type->tp_name;
  constexpr std::string_view kNumPy = "numpy.";
  if (!name.starts_with(kNumPy) || PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return Kind::none;
  name.remove_prefix(kNumPy.size());
  if (name == "bool" || name == "bool_") return Kind::truth;
  constexpr std::string_view kIntegers[] = {"int8",   "int16",  "int32",    "int64",    "uint8",
                                            "uint16", "uint32", "uint64",   "intc",     "uintc",
                                            "long",   "ulong",  "longlong", "ulonglong"};
  if (std::ranges::find(kIntegers, name) != std::end(kIntegers)) return Kind::integer;
  const bool floating = name == "float16" || name == "float32" || name == "float64";
  return floating ? Kind::floating : Kind::none;
}

}  // namespace

bool is_numpy_function(PyObject* object) {
  const std::string_view type = Py_TYPE(object)->tp_name;
  if (type != "numpy.ufunc" && type != "numpy._ArrayFunctionDispatcher") return false;
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
  const PyRef name = PyRef::steal(PyObject_GetAttrString(object, "__name__"));
  PyErr_Clear();
  return module != nullptr && PyModule_Check(module) && name &&
         PyDict_GetItemWithError(PyModule_GetDict(module), name.get()) == object;
}

bool is_numpy_scalar(PyObject* object) {
  return kind_of(Py_TYPE(object)) != Kind::none;
}

std::optional<Argument> number_of_numpy(PyObject* object) {
  switch (kind_of(Py_TYPE(object))) {
    case Kind::none:
      return std::nullopt;
    case Kind::truth:
      return Argument(PyObject_IsTrue(object) == 1);
    case Kind::floating: {
      const PyRef number = PyRef::steal(PyNumber_Float(object));
      if (!number) PyErr_Clear();
      return number ? std::optional(Argument(PyFloat_AS_DOUBLE(number.get()))) : std::nullopt;
    }
    case Kind::integer: {
      const PyRef number = PyRef::steal(PyNumber_Index(object));
      int overflow = 1;
      const long long value = number ? PyLong_AsLongLongAndOverflow(number.get(), &overflow) : 0;
      PyErr_Clear();
      return overflow == 0 ? std::optional(Argument(std::int64_t{value})) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace penstock::python
