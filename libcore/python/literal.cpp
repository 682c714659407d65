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

/// torch.NAME, or a torch.device made from the name.
PyRef make_torch_word(std::string_view name, bool device) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* torch = PyDict_GetItemString(modules, "torch");
  if (torch == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "torch is not imported");
    return {};
  }
  const std::string text(name);
  if (!device) return PyRef::steal(PyObject_GetAttrString(torch, text.c_str()));
  return PyRef::steal(PyObject_CallMethod(torch, "device", "s", text.c_str()));
}

PyRef make_text(const std::string& text) {
  PyObject* object = PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  if (object != nullptr) PyUnicode_InternInPlace(&object);
  return PyRef::steal(object);
}

PyRef make_sequence(const Argument::Sequence& sequence) {
  const auto count = static_cast<Py_ssize_t>(sequence.items.size());
  PyRef tuple = PyRef::steal(PyTuple_New(count));
  if (!tuple) return {};
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyRef item = object_of(sequence.items[i]);
    if (!item) return {};
    PyTuple_SET_ITEM(tuple.get(), i, item.release());
  }
  if (sequence.kind == Argument::Sequence::Kind::tuple) return tuple;
  if (sequence.kind == Argument::Sequence::Kind::list) {
    return PyRef::steal(PySequence_List(tuple.get()));
  }
  if (count != 3) {
    PyErr_SetString(PyExc_ValueError, "a slice has three parts");
    return {};
  }
  return PyRef::steal(PySlice_New(PyTuple_GET_ITEM(tuple.get(), 0),
                                  PyTuple_GET_ITEM(tuple.get(), 1),
                                  PyTuple_GET_ITEM(tuple.get(), 2)));
}

PyRef make_dict(const Argument::Dict& dict) {
  PyRef object = PyRef::steal(PyDict_New());
  for (const auto& [key, value] : dict.items) {
    PyRef made_key = object_of(key);
    PyRef made_value = object_of(value);
    if (!object || !made_key || !made_value) return {};
    if (PyDict_SetItem(object.get(), made_key.get(), made_value.get()) < 0) return {};
  }
  return object;
}

struct Maker {
  PyRef operator()(Argument::None) const { return PyRef::borrow(Py_None); }
  PyRef operator()(bool value) const { return PyRef::borrow(value ? Py_True : Py_False); }
  PyRef operator()(std::int64_t value) const { return PyRef::steal(PyLong_FromLongLong(value)); }
  PyRef operator()(double value) const { return PyRef::steal(PyFloat_FromDouble(value)); }
  PyRef operator()(const std::string& text) const { return make_text(text); }
  PyRef operator()(const SymExpr& expression) const {
    if (const auto value = expression.constant()) return (*this)(*value);
    PyErr_SetString(PyExc_ValueError, "a symbolic size is no literal");
    return {};
  }
  PyRef operator()(DType dtype) const { return make_torch_word(facts(dtype).name, false); }
  PyRef operator()(Argument::Value) const {
    PyErr_SetString(PyExc_ValueError, "a graph value is no literal");
    return {};
  }
  PyRef operator()(Argument::Complex value) const {
    return PyRef::steal(PyComplex_FromDoubles(value.real, value.imaginary));
  }
  PyRef operator()(Argument::Ellipsis) const { return PyRef::borrow(Py_Ellipsis); }
  PyRef operator()(const Argument::Named& named) const {
    if (named.kind != Argument::Named::Kind::object) {
      return make_torch_word(named.name, named.kind == Argument::Named::Kind::device);
    }
    PyErr_Format(PyExc_ValueError, "%s is known by its name only", named.name.c_str());
    return {};
  }
  PyRef operator()(const Argument::Bytes& bytes) const {
    return PyRef::steal(
        PyBytes_FromStringAndSize(bytes.bytes.data(), static_cast<Py_ssize_t>(bytes.bytes.size())));
  }
  PyRef operator()(const Argument::Sequence& sequence) const { return make_sequence(sequence); }
  PyRef operator()(const Argument::Dict& dict) const { return make_dict(dict); }
};

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

bool is_torch_size(PyObject* object) {
  return is_type(object, "torch.Size");
}

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

std::optional<Argument> literal_of(PyObject* object) {
  return literal(object, 0);
}

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

PyRef object_of(const Argument& literal) {
  return std::visit(Maker{}, literal.datum);
}

bool is_immutable(const Argument& literal) {
  if (literal.as<Argument::Dict>() != nullptr) return false;
  if (const auto* sequence = literal.as<Argument::Sequence>()) {
    if (sequence->kind == Argument::Sequence::Kind::list) return false;
    for (const Argument& item : sequence->items) {
      if (!is_immutable(item)) return false;
    }
  }
  return true;
}

bool is_plain_immutable(PyObject* object) {
  return object == Py_None || object == Py_Ellipsis || PyBool_Check(object) ||
         PyLong_CheckExact(object) || PyUnicode_CheckExact(object) || PyFloat_CheckExact(object) ||
         PyBytes_CheckExact(object) || PyComplex_CheckExact(object);
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
