// The mode "harness": the program gets a module `penstock_harness` to command the driver with.
//
//   select(code, exit_after=-1, exit_when_raised=False, windows=False)   which frames, and what to
//   do release()                                                           nothing is conducted
//   counts() -> (exits, exits with an error pending, windows)
#include <Python.h>

#include "python/harness.h"
#include "tools/extension/modes.h"

namespace penstock::tools {
namespace {

using python::HarnessDriver;
using python::HarnessPlan;
using python::PyRef;

/// Conducts nothing until the program selects a code object.
class CommandedDriver final : public python::FrameDriver {
 public:
  python::Entry enter(python::Frame& frame) override {
    return selected ? driver.enter(frame) : python::Entry::native;
  }
  python::Directive instruction(python::Frame& frame, const python::Instruction& at) override {
    return driver.instruction(frame, at);
  }
  bool stepped(python::Frame& frame, const python::Instruction& at,
               python::Outcome outcome) override {
    return driver.stepped(frame, at, outcome);
  }
  HarnessDriver driver;
  PyRef selected;
};
CommandedDriver* g_driver = nullptr;

PyObject* select(PyObject*, PyObject* arguments, PyObject* names) {
  static const char* keywords[] = {"code", "exit_after", "exit_when_raised", "windows", nullptr};
  PyObject* code = nullptr;
  HarnessPlan plan;
  int raised = 0, windows = 0;
  if (PyArg_ParseTupleAndKeywords(arguments, names, "O!|ipp", const_cast<char**>(keywords),
                                  &PyCode_Type, &code, &plan.exit_after, &raised, &windows) == 0) {
    return nullptr;
  }
  plan.code = reinterpret_cast<PyCodeObject*>(code);
  plan.exit_when_raised = raised != 0;
  plan.windows = windows != 0;
  g_driver->driver.set_plan(plan);
  g_driver->selected = PyRef::borrow(code);
  Py_RETURN_NONE;
}

PyObject* release(PyObject*, PyObject*) {
  g_driver->selected = nullptr;
  Py_RETURN_NONE;
}

PyObject* counts(PyObject*, PyObject*) {
  const HarnessDriver& driver = g_driver->driver;
  return Py_BuildValue("KKK", static_cast<unsigned long long>(driver.exits),
                       static_cast<unsigned long long>(driver.raised),
                       static_cast<unsigned long long>(driver.windows));
}

PyMethodDef g_methods[] = {
    {"select", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(select)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"release", release, METH_NOARGS, nullptr},
    {"counts", counts, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef g_module = {PyModuleDef_HEAD_INIT,
                        "penstock_harness",
                        nullptr,
                        -1,
                        g_methods,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr};

Result<std::unique_ptr<python::FrameDriver>> start(const python::Settings&) {
  const PyRef module = PyRef::steal(PyModule_Create(&g_module));
  if (!module ||
      PyDict_SetItemString(PyImport_GetModuleDict(), "penstock_harness", module.get()) < 0) {
    PyErr_Clear();
    return failure(Code::PS0110, "the harness module cannot be made");
  }
  auto driver = std::make_unique<CommandedDriver>();
  g_driver = driver.get();
  return driver;
}

}  // namespace

python::Mode harness_mode() {
  return {"harness", "frames are conducted as the program under test asks", start, nullptr};
}

}  // namespace penstock::tools
