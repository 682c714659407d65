#include "torch/overridden_ops.h"

#include <Python.h>

#include <algorithm>
#include <string_view>

#include "python/object.h"
#include "torch/exchanged_members.h"

namespace penstock::torch {

using python::PyRef;

namespace {

/// The dispatch keys of ordinary tensors on devices that we compile for; none: for all tensors.
constexpr std::string_view kKeys[] = {
    "",
    "CPU",
    "CUDA",
    "Autograd",
    "AutogradCPU",
    "AutogradCUDA",
    "ADInplaceOrView",
    "AutocastCPU",
    "AutocastCUDA",
    "BackendSelect",
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
};

/// The kernels in Python that torch itself brings for its ops: (namespace, op, key) since 2.15,
/// (op, key) in 2.13 and 2.14, where all are aten's. Borrowed, null where there are none.
PyObject* find_native_kernels() {
  PyObject* registry = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._native.registry");
  if (registry == nullptr) return nullptr;
  for (const char* name : {"_override_libs", "_aten_override_libs"}) {
    PyObject* found = PyDict_GetItemString(PyModule_GetDict(registry), name);
    if (found != nullptr && PyDict_CheckExact(found)) return found;
  }
  return nullptr;
}

bool is_native(PyObject* kernels, PyObject* registration) {
  const PyRef slash = PyRef::steal(PyUnicode_FromString("/"));
  const PyRef parts =
      slash ? PyRef::steal(PyUnicode_Split(registration, slash.get(), -1)) : PyRef();
  const PyRef key = parts ? PyRef::steal(PyList_AsTuple(parts.get())) : PyRef();
  const PyRef op_and_key = key ? PyRef::steal(PyTuple_GetSlice(key.get(), 1, 3)) : PyRef();
  const bool native = op_and_key && (PyDict_Contains(kernels, key.get()) == 1 ||
                                     PyDict_Contains(kernels, op_and_key.get()) == 1);
  PyErr_Clear();
  return native;
}

/// Whether a registration as torch.library notes it, "aten/add.Tensor/CPU", is for torch's own ops.
bool overrides(PyObject* registration) {
  Py_ssize_t size = 0;
  const char* text =
      PyUnicode_Check(registration) ? PyUnicode_AsUTF8AndSize(registration, &size) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return false;
  }
  const std::string_view name(text, static_cast<std::size_t>(size));
  const bool own = name.starts_with("aten/") || name.starts_with("_/");
  return own && std::ranges::find(kKeys, name.substr(name.rfind('/') + 1)) != std::end(kKeys);
}

/// The first registration that stands in for an op of torch's; empty: none does.
std::string find_override(PyObject* registrations) {
  const PyRef items = PyRef::steal(PySequence_List(registrations));
  if (!items) PyErr_Clear();
  PyObject* kernels = find_native_kernels();
  for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* one = PyList_GET_ITEM(items.get(), i);
    if (overrides(one) && (kernels == nullptr || !is_native(kernels, one)))
      return PyUnicode_AsUTF8(one);
  }
  return {};
}

/// The set of all registrations by Python; null while torch is not imported, or has none.
PyObject* find_registrations() {
  PyObject* library = PyDict_GetItemString(PyImport_GetModuleDict(), "torch.library");
  if (library == nullptr) return nullptr;
  PyObject* found = PyDict_GetItemString(PyModule_GetDict(library), "_impls");
  return found != nullptr && PySet_CheckExact(found) ? Py_NewRef(found) : nullptr;
}

/// What is registered by now, as far as it was looked at.
struct Registrations {
  PyObject* all = nullptr;
  Py_ssize_t seen = 0;
  std::string overridden;
};
Registrations known;

bool is_registered() {
  if (known.all == nullptr) known.all = find_registrations();
  if (known.all == nullptr || PySet_GET_SIZE(known.all) == known.seen)
    return !known.overridden.empty();
  known.seen = PySet_GET_SIZE(known.all);
  known.overridden = find_override(known.all);
  return !known.overridden.empty();
}

}  // namespace

bool ops_are_overridden() {
  return is_registered() || !exchanged_member().empty();
}

const std::string& overridden_op() {
  return known.overridden.empty() ? exchanged_member() : known.overridden;
}

}  // namespace penstock::torch
