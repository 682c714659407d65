#include "tools/extension/profile_module.h"

#include <Python.h>
#include <fmt/format.h>
#include <stdio.h>

#include "python/object.h"

namespace penstock::tools {
namespace {

jit::CallProfile* g_profile = nullptr;

PyObject* kernel_nanoseconds(PyObject*, PyObject*) {
  return PyLong_FromLongLong(g_profile->kernels());
}

PyObject* measuring_nanoseconds(PyObject*, PyObject*) {
  return PyLong_FromLongLong(jit::CallProfile::measuring());
}

PyMethodDef g_methods[] = {
    {"measuring_nanoseconds", measuring_nanoseconds, METH_NOARGS,
     "What measuring adds to a call outside of its kernels; measured now."},
    {"kernel_nanoseconds", kernel_nanoseconds, METH_NOARGS, "Time spent in kernels so far."},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef g_module = {PyModuleDef_HEAD_INIT,
                        "penstock_profile",
                        nullptr,
                        -1,
                        g_methods,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr};

}  // namespace

Result<jit::CallProfile*> start_profile() {
  static jit::CallProfile profile;
  const auto module = python::PyRef::steal(PyModule_Create(&g_module));
  if (!module ||
      PyDict_SetItemString(PyImport_GetModuleDict(), "penstock_profile", module.get()) < 0) {
    PyErr_Clear();
    return failure(Code::PS0110, "the module penstock_profile cannot be made");
  }
  g_profile = &profile;
  return g_profile;
}

void print_profile() {
  if (g_profile != nullptr) fmt::print(stderr, "{}", g_profile->table());
}

}  // namespace penstock::tools
