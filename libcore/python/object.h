#pragma once

#include <Python.h>

#include <utility>

namespace penstock::python {

/// An owned reference to a Python object, or null. Copying and destroying need the GIL.
class PyRef {
 public:
  PyRef() = default;
  PyRef(std::nullptr_t) {}
  PyRef(const PyRef& other) : object_(other.object_) { Py_XINCREF(object_); }
  PyRef(PyRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PyRef& operator=(PyRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(object_); }

  /// Takes over a reference that the caller owns (null stays null).
  static PyRef steal(PyObject* object) {
    PyRef ref;
    ref.object_ = object;
    return ref;
  }
  /// Makes a new reference to a borrowed object (null stays null).
  static PyRef borrow(PyObject* object) {
    Py_XINCREF(object);
    return steal(object);
  }

  PyObject* get() const { return object_; }
  /// Gives the reference to the caller; this becomes null.
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

}  // namespace penstock::python
