#include "python/literal.h"

#include <algorithm>
#include <cstring>

#include "ir/dtype.h"

namespace penstock::python {

namespace {

bool is_type(PyObject* object, const char* name) {
  return std::strcmp(Py_TYPE(object)->tp_name, name) == 0;
}

/// str(object) without what stands before the last dot: "torch.float32" gives "float32".
std::string last_word(PyObject* object) {
  PyRef text = PyRef::steal(PyObject_Str(object));
  if (!text) PyErr_Clear();
  std::string word = text ? text_of(text.get()) : std::string();
  return word.substr(word.rfind('.') + 1);
}

/// Objects of torch's own C types that print as a word.
std::optional<Argument> torch_word(PyObject* object) {
  using Named = Argument::Named;
  if (is_type(object, "torch.dtype")) {
    if (auto dtype = dtype_from_name(last_word(object))) return Argument(*dtype);
    return std::nullopt;
  }
  if (is_type(object, "torch.device")) {
    return Argument(Named{Named::Kind::device, last_word(object)});
  }
  if (is_type(object, "torch.layout")) {
    return Argument(Named{Named::Kind::layout, last_word(object)});
  }
  if (is_type(object, "torch.memory_format")) {
    return Argument(Named{Named::Kind::memory_format, last_word(object)});
  }
  return std::nullopt;
}

/// Containers in containers: what is deeper, or holds itself, is no literal.
constexpr int kDeepest = 64;

std::optional<Argument> literal(PyObject* object, int depth);

std::optional<Argument> sequence(PyObject* object, Argument::Sequence::Kind kind, int depth) {
  Argument::Sequence result{kind, {}};
  PyObject** items = PySequence_Fast_ITEMS(object);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    auto item = literal(items[i], depth);
    if (!item) return std::nullopt;
    result.items.push_back(std::move(*item));
  }
  return Argument(std::move(result));
}

std::optional<Argument> slice(PyObject* object, int depth) {
  auto* parts = reinterpret_cast<PySliceObject*>(object);
  Argument::Sequence result{Argument::Sequence::Kind::slice, {}};
  for (PyObject* part : {parts->start, parts->stop, parts->step}) {
    auto item = literal(part, depth);
    if (!item) return std::nullopt;
    result.items.push_back(std::move(*item));
  }
  return Argument(std::move(result));
}

std::optional<Argument> dict(PyObject* object, int depth) {
  Argument::Dict result;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &value);) {
    auto key_literal = literal(key, depth);
    auto value_literal = literal(value, depth);
    if (!key_literal || !value_literal) return std::nullopt;
    result.items.emplace_back(std::move(*key_literal), std::move(*value_literal));
  }
  return Argument(std::move(result));
}

std::optional<Argument> integer(PyObject* object) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) return std::nullopt;
  return Argument(std::int64_t{value});
}

PyRef torch_object(const std::string& name) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* torch = PyDict_GetItemString(modules, "torch");
  if (torch == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "torch is not imported");
    return nullptr;
  }
  return PyRef::steal(PyObject_GetAttrString(torch, name.c_str()));
}

PyRef object_of_named(const Argument::Named& named) {
  if (named.kind != Argument::Named::Kind::device) return torch_object(named.name);
  PyRef device = torch_object("device");
  if (!device) return nullptr;
  return PyRef::steal(PyObject_CallFunction(device.get(), "s", named.name.c_str()));
}

PyRef object_of_sequence(const Argument::Sequence& sequence) {
  PyRef list = PyRef::steal(PyList_New(0));
  for (const Argument& item : sequence.items) {
    PyRef object = object_of(item);
    if (!object || PyList_Append(list.get(), object.get()) < 0) return nullptr;
  }
  switch (sequence.kind) {
    case Argument::Sequence::Kind::list: return list;
    case Argument::Sequence::Kind::tuple: return PyRef::steal(PyList_AsTuple(list.get()));
    case Argument::Sequence::Kind::slice: break;
  }
  PyObject** parts = PySequence_Fast_ITEMS(list.get());
  return PyRef::steal(PySlice_New(parts[0], parts[1], parts[2]));
}

PyRef object_of_dict(const Argument::Dict& dict) {
  PyRef result = PyRef::steal(PyDict_New());
  for (const auto& [key, value] : dict.items) {
    PyRef key_object = object_of(key);
    PyRef value_object = object_of(value);
    if (!key_object || !value_object) return nullptr;
    if (PyDict_SetItem(result.get(), key_object.get(), value_object.get()) < 0) return nullptr;
  }
  return result;
}

}  // namespace

std::string text_of(PyObject* str) {
  if (str == nullptr || !PyUnicode_Check(str)) return {};
  Py_ssize_t length = 0;
  const char* text = PyUnicode_AsUTF8AndSize(str, &length);
  if (text == nullptr) {
    PyErr_Clear();
    return {};
  }
  return std::string(text, length);
}

std::optional<PythonNumber> plain_number(PyObject* object) {
  if (PyFloat_CheckExact(object)) return PythonNumber::of(PyFloat_AS_DOUBLE(object));
  if (!PyLong_CheckExact(object)) return std::nullopt;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) return std::nullopt;
  return PythonNumber::of(std::int64_t{value});
}

PyRef object_of(PythonNumber number) {
  return PyRef::steal(number.is_float ? PyFloat_FromDouble(number.real)
                                      : PyLong_FromLongLong(number.integer));
}

bool is_torch_size(PyObject* object) { return is_type(object, "torch.Size"); }

namespace {

std::optional<Argument> literal(PyObject* object, int depth) {
  if (++depth > kDeepest) return std::nullopt;
  if (object == Py_None) return Argument(Argument::None{});
  if (PyBool_Check(object)) return Argument(object == Py_True);
  if (PyLong_CheckExact(object)) return integer(object);
  if (PyFloat_CheckExact(object)) return Argument(PyFloat_AS_DOUBLE(object));
  if (PyUnicode_CheckExact(object)) return Argument(text_of(object));
  if (object == Py_Ellipsis) return Argument(Argument::Ellipsis{});
  if (PyTuple_CheckExact(object) || is_torch_size(object)) {
    return sequence(object, Argument::Sequence::Kind::tuple, depth);
  }
  if (PyList_CheckExact(object)) return sequence(object, Argument::Sequence::Kind::list, depth);
  if (PySlice_Check(object)) return slice(object, depth);
  if (PyDict_CheckExact(object)) return dict(object, depth);
  if (PyComplex_CheckExact(object)) {
    const Py_complex value = PyComplex_AsCComplex(object);
    return Argument(Argument::Complex{value.real, value.imag});
  }
  if (PyBytes_CheckExact(object)) {
    return Argument(Argument::Bytes{
        std::string(PyBytes_AS_STRING(object), static_cast<size_t>(PyBytes_GET_SIZE(object)))});
  }
  return torch_word(object);
}

}  // namespace

std::optional<Argument> literal_of(PyObject* object) { return literal(object, 0); }

bool is_immutable_literal(PyObject* object) {
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      if (!is_immutable_literal(PyTuple_GET_ITEM(object, i))) return false;
    }
    return true;
  }
  if (PyList_CheckExact(object) || PyDict_CheckExact(object)) return false;
  return literal_of(object).has_value();
}

python::PyRef object_of(const Argument& literal) {
  if (literal.is_none()) return PyRef::borrow(Py_None);
  if (auto* value = literal.as<bool>()) return PyRef::borrow(*value ? Py_True : Py_False);
  if (auto* value = literal.as<std::int64_t>()) return PyRef::steal(PyLong_FromLongLong(*value));
  if (auto* value = literal.as<double>()) return PyRef::steal(PyFloat_FromDouble(*value));
  if (auto* value = literal.as<std::string>()) {
    return PyRef::steal(PyUnicode_FromStringAndSize(value->data(), value->size()));
  }
  if (auto* value = literal.as<DType>()) return torch_object(std::string(facts(*value).name));
  if (auto* value = literal.as<Argument::Complex>()) {
    return PyRef::steal(PyComplex_FromDoubles(value->real, value->imaginary));
  }
  if (literal.as<Argument::Ellipsis>()) return PyRef::borrow(Py_Ellipsis);
  if (auto* value = literal.as<Argument::Named>()) return object_of_named(*value);
  if (auto* value = literal.as<Argument::Bytes>()) {
    return PyRef::steal(PyBytes_FromStringAndSize(value->bytes.data(), value->bytes.size()));
  }
  if (auto* value = literal.as<Argument::Sequence>()) return object_of_sequence(*value);
  if (auto* value = literal.as<Argument::Dict>()) return object_of_dict(*value);
  PyErr_SetString(PyExc_TypeError, "a graph value is no Python object");
  return nullptr;
}

std::string qualified_name(PyObject* object) {
  auto part = [&](const char* attribute) {
    PyRef value = PyRef::steal(PyObject_GetAttrString(object, attribute));
    if (!value) PyErr_Clear();
    return value ? text_of(value.get()) : std::string();
  };
  if (PyModule_Check(object)) return part("__name__");
  std::string module = part("__module__");
  std::string name = part("__qualname__");
  if (name.empty()) name = part("__name__");
  if (name.empty()) return std::string("an object of type ") + Py_TYPE(object)->tp_name;
  return module.empty() || module == "builtins" ? name : module + "." + name;
}

}  // namespace penstock::python
