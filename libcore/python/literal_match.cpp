#include "python/literal_match.h"

#include <cstring>

#include "python/literal.h"

namespace penstock::python {
namespace {

bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

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

/// torch's dtypes, layouts and memory formats are there once, devices are made anew by whoever
/// asks.
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
  bool operator()(DType dtype) const { return matches_word(object, object_of(Argument(dtype))); }
  bool operator()(Argument::Value) const { return false; }
  bool operator()(Argument::Complex value) const {
    if (!PyComplex_CheckExact(object)) return false;
    const Py_complex actual = PyComplex_AsCComplex(object);
    return same_bits(actual.real, value.real) && same_bits(actual.imag, value.imaginary);
  }
  bool operator()(Argument::Ellipsis) const { return object == Py_Ellipsis; }
  bool operator()(const Argument::Named& named) const {
    return named.kind != Argument::Named::Kind::object &&
           matches_word(object, object_of(Argument(named)));
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

}  // namespace

bool matches(PyObject* object, const Argument& literal) {
  return std::visit(Matcher{object}, literal.datum);
}

}  // namespace penstock::python
