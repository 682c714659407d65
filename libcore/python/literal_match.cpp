#include "python/literal_match.h"

#include <cstring>

namespace penstock::python {
namespace {

constexpr std::size_t kTextLimit = 80;

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool matches_int(PyObject* object, std::int64_t expected) {
  if (!PyLong_CheckExact(object)) return false;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0 && value == expected;
}

bool matches_text(PyObject* object, const std::string& expected) {
  if (!PyUnicode_CheckExact(object)) return false;
  Py_ssize_t length = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &length);
  if (text == nullptr) {
    PyErr_Clear();
    return false;
  }
  return expected.size() == static_cast<std::size_t>(length) &&
         std::memcmp(text, expected.data(), length) == 0;
}

bool matches_sequence(PyObject* object, const Argument::Sequence& expected) {
  const auto& items = expected.items;
  const auto all = [&](PyObject* const* at, Py_ssize_t count) {
    if (count != static_cast<Py_ssize_t>(items.size())) return false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!matches(at[i], items[i])) return false;
    }
    return true;
  };
  switch (expected.kind) {
    case Argument::Sequence::Kind::list:
      return PyList_CheckExact(object) &&
             all(reinterpret_cast<PyListObject*>(object)->ob_item, PyList_GET_SIZE(object));
    case Argument::Sequence::Kind::tuple:
      return PyTuple_CheckExact(object) &&
             all(reinterpret_cast<PyTupleObject*>(object)->ob_item, PyTuple_GET_SIZE(object));
    case Argument::Sequence::Kind::slice: {
      if (!PySlice_Check(object)) return false;
      auto* slice = reinterpret_cast<PySliceObject*>(object);
      PyObject* const parts[3] = {slice->start, slice->stop, slice->step};
      return all(parts, 3);
    }
  }
  return false;
}

bool matches_dict(PyObject* object, const Argument::Dict& expected) {
  if (!PyDict_CheckExact(object)) return false;
  if (PyDict_GET_SIZE(object) != static_cast<Py_ssize_t>(expected.items.size())) return false;
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  for (std::size_t i = 0; PyDict_Next(object, &position, &key, &value); ++i) {
    if (!matches(key, expected.items[i].first)) return false;
    if (!matches(value, expected.items[i].second)) return false;
  }
  return true;
}

/// torch.NAME, or a torch.device made from the name.
PyRef torch_word(std::string_view name, bool device) {
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
    PyRef item = make_literal(sequence.items[i]);
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
  return PyRef::steal(PySlice_New(PyTuple_GET_ITEM(tuple.get(), 0), PyTuple_GET_ITEM(tuple.get(), 1),
                                  PyTuple_GET_ITEM(tuple.get(), 2)));
}

PyRef make_dict(const Argument::Dict& dict) {
  PyRef object = PyRef::steal(PyDict_New());
  for (const auto& [key, value] : dict.items) {
    PyRef made_key = make_literal(key);
    PyRef made_value = make_literal(value);
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
  PyRef operator()(DType dtype) const { return torch_word(facts(dtype).name, false); }
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
      return torch_word(named.name, named.kind == Argument::Named::Kind::device);
    }
    PyErr_Format(PyExc_ValueError, "%s is known by its name only", named.name.c_str());
    return {};
  }
  PyRef operator()(const Argument::Bytes& bytes) const {
    return PyRef::steal(PyBytes_FromStringAndSize(bytes.bytes.data(),
                                                  static_cast<Py_ssize_t>(bytes.bytes.size())));
  }
  PyRef operator()(const Argument::Sequence& sequence) const { return make_sequence(sequence); }
  PyRef operator()(const Argument::Dict& dict) const { return make_dict(dict); }
};

/// torch's dtypes, layouts and memory formats are there once, devices are made anew by whoever asks.
bool matches_word(PyObject* object, const PyRef& word) {
  if (!word) PyErr_Clear();
  if (!word || Py_TYPE(object) != Py_TYPE(word.get())) return false;
  const int same = PyObject_RichCompareBool(object, word.get(), Py_EQ);
  if (same < 0) PyErr_Clear();
  return same == 1;
}

struct Matcher {
  PyObject* object;
  bool operator()(Argument::None) const { return object == Py_None; }
  bool operator()(bool value) const { return object == (value ? Py_True : Py_False); }
  bool operator()(std::int64_t value) const { return matches_int(object, value); }
  bool operator()(double value) const {
    return PyFloat_CheckExact(object) && same_bits(PyFloat_AS_DOUBLE(object), value);
  }
  bool operator()(const std::string& text) const { return matches_text(object, text); }
  bool operator()(const SymExpr& expression) const {
    const auto value = expression.constant();
    return value.has_value() && matches_int(object, *value);
  }
  bool operator()(DType dtype) const { return matches_word(object, Maker()(dtype)); }
  bool operator()(Argument::Value) const { return false; }
  bool operator()(Argument::Complex value) const {
    if (!PyComplex_CheckExact(object)) return false;
    const Py_complex actual = PyComplex_AsCComplex(object);
    return same_bits(actual.real, value.real) && same_bits(actual.imag, value.imaginary);
  }
  bool operator()(Argument::Ellipsis) const { return object == Py_Ellipsis; }
  bool operator()(const Argument::Named& named) const {
    return named.kind != Argument::Named::Kind::object && matches_word(object, Maker()(named));
  }
  bool operator()(const Argument::Bytes& bytes) const {
    return PyBytes_CheckExact(object) &&
           PyBytes_GET_SIZE(object) == static_cast<Py_ssize_t>(bytes.bytes.size()) &&
           std::memcmp(PyBytes_AS_STRING(object), bytes.bytes.data(), bytes.bytes.size()) == 0;
  }
  bool operator()(const Argument::Sequence& sequence) const {
    return matches_sequence(object, sequence);
  }
  bool operator()(const Argument::Dict& dict) const { return matches_dict(object, dict); }
};

std::string cut(std::string text) {
  if (text.size() > kTextLimit) text.replace(kTextLimit - 3, std::string::npos, "...");
  return text;
}

std::string text_of(const PyRef& object) {
  const char* text = object ? PyUnicode_AsUTF8(object.get()) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return "?";
  }
  return text;
}

/// Only built-in values all the way down: their repr runs no foreign code.
bool repr_is_safe(PyObject* object, int depth) {
  if (is_plain_immutable(object)) return true;
  if (depth == 0) return false;
  if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      if (!repr_is_safe(PySequence_Fast_GET_ITEM(object, i), depth - 1)) return false;
    }
    return true;
  }
  if (!PyDict_CheckExact(object)) return false;
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  while (PyDict_Next(object, &position, &key, &value)) {
    if (!repr_is_safe(key, depth - 1) || !repr_is_safe(value, depth - 1)) return false;
  }
  return true;
}

}  // namespace

bool matches(PyObject* object, const Argument& literal) {
  return std::visit(Matcher{object}, literal.datum);
}

PyRef make_literal(const Argument& literal) { return std::visit(Maker{}, literal.datum); }

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

std::string describe(PyObject* object) {
  if (object == nullptr) return "nothing";
  if (PyType_Check(object)) return reinterpret_cast<PyTypeObject*>(object)->tp_name;
  if (repr_is_safe(object, 3)) return cut(text_of(PyRef::steal(PyObject_Repr(object))));
  return "<" + std::string(Py_TYPE(object)->tp_name) + " object>";
}

std::string describe(const Argument& literal) {
  if (const auto* named = literal.as<Argument::Named>()) return named->name;
  if (const auto* dtype = literal.as<DType>()) return "torch." + std::string(facts(*dtype).name);
  if (const auto* expression = literal.as<SymExpr>()) return expression->to_string();
  PyRef object = make_literal(literal);
  if (!object) {
    PyErr_Clear();
    return "?";
  }
  return cut(text_of(PyRef::steal(PyObject_Repr(object.get()))));
}

}  // namespace penstock::python
