// The mode "harness": the program gets a module `penstock_harness` to command the driver with.
//
//   select(code, exit_after=-1, exit_when_raised=False, windows=False)   which frames, and what to
//   do release()                                                           nothing is conducted
//   counts() -> (exits, exits with an error pending, windows)
//   decode(code) -> (instructions, handlers), both lists of tuples
//   follows(opcode, argument) -> whether capture has a rule for that row of opcodes.def
//   tensor(t) -> what the tensor bridge reads of it, a dict; "agree": by attribute too
//   fast() -> (abi, version, requires_grad): which parts of the bridge need no attribute access
//   make(sizes, strides, floats) -> (tensor over memory of ours, released() -> bool)
#include <Python.h>

#include <algorithm>
#include <vector>

#include "python/harness.h"
#include "python/materialise.h"
#include "python/materialise_harness.h"
#include "record/rules/rules.h"
#include "tools/extension/modes.h"
#include "torch/tensor_bridge.h"

namespace penstock::tools {
namespace {

using python::HarnessDriver;
using python::HarnessPlan;
using python::PyRef;

/// Conducts nothing until the program selects a code object.
class CommandedDriver final : public python::FrameDriver {
 public:
  python::Entry enter(python::Frame& frame) override {
    return selected ? current->enter(frame) : python::Entry::native;
  }
  python::Directive instruction(python::Frame& frame, const python::Instruction& at) override {
    return current->instruction(frame, at);
  }
  std::vector<int> window_exits(python::Frame& frame, const python::Instruction& at) override {
    return current->window_exits(frame, at);
  }
  bool stepped(python::Frame& frame, const python::Instruction& at,
               python::Outcome outcome) override {
    return current->stepped(frame, at, outcome);
  }
  void leave(python::Frame& frame, python::Leaving how, PyObject* value) override {
    current->leave(frame, how, value);
  }
  HarnessDriver driver;
  python::MaterialiseDriver materialiser;
  python::FrameDriver* current = &driver;
  PyRef selected;
};
CommandedDriver* g_driver = nullptr;

PyObject* select(PyObject*, PyObject* arguments, PyObject* names) {
  static const char* keywords[] = {"code",    "exit_after",     "exit_when_raised",
                                   "windows", "random_windows", nullptr};
  PyObject* code = nullptr;
  HarnessPlan plan;
  int raised = 0, windows = 0;
  if (PyArg_ParseTupleAndKeywords(arguments, names, "O!|ippI", const_cast<char**>(keywords),
                                  &PyCode_Type, &code, &plan.exit_after, &raised, &windows,
                                  &plan.random_windows) == 0) {
    return nullptr;
  }
  plan.code = reinterpret_cast<PyCodeObject*>(code);
  plan.exit_when_raised = raised != 0;
  plan.windows = windows != 0;
  g_driver->driver.set_plan(plan);
  g_driver->current = &g_driver->driver;
  g_driver->selected = PyRef::borrow(code);
  Py_RETURN_NONE;
}

PyObject* release(PyObject*, PyObject*) {
  g_driver->selected = nullptr;
  Py_RETURN_NONE;
}

PyObject* materialise(PyObject*, PyObject* arguments) {
  PyObject* code = nullptr;
  int after = 0, conduct_on = 0;
  if (PyArg_ParseTuple(arguments, "O!ip", &PyCode_Type, &code, &after, &conduct_on) == 0) {
    return nullptr;
  }
  python::MaterialiseDriver& driver = g_driver->materialiser;
  driver.outer = reinterpret_cast<PyCodeObject*>(code);
  driver.after = after;
  driver.conduct_on = conduct_on != 0;
  g_driver->current = &driver;
  g_driver->selected = PyRef::borrow(code);
  Py_RETURN_NONE;
}

PyObject* materialised(PyObject*, PyObject*) {
  const python::MaterialiseDriver& driver = g_driver->materialiser;
  return Py_BuildValue("KK", static_cast<unsigned long long>(driver.materialised),
                       static_cast<unsigned long long>(driver.unclaimed));
}

PyObject* take_over(PyObject*, PyObject* arguments) {
  PyObject *donor, *fresh;
  if (PyArg_ParseTuple(arguments, "OO", &donor, &fresh) == 0) return nullptr;
  python::FrameState state;
  if (!python::take_generator(donor, state)) Py_RETURN_FALSE;
  return PyBool_FromLong(python::materialise_generator(fresh, std::move(state)));
}

PyObject* counts(PyObject*, PyObject*) {
  const HarnessDriver& driver = g_driver->driver;
  return Py_BuildValue("KKK", static_cast<unsigned long long>(driver.exits),
                       static_cast<unsigned long long>(driver.raised),
                       static_cast<unsigned long long>(driver.windows));
}

/// (name, argument, offset, at, next, target, keyword names, depth, line, end line, columns).
PyRef instruction_tuple(const python::Bytecode& code, const python::Instruction& i) {
  const python::Position& place = code.position(i);
  const std::string name(python::facts(i.opcode).name);
  return PyRef::steal(Py_BuildValue("siiiiiiiiiii", name.c_str(), i.argument, i.offset, i.at,
                                    i.next, i.target, i.keyword_names, code.depth(i.offset),
                                    place.line, place.end_line, place.column, place.end_column));
}

PyObject* decode(PyObject*, PyObject* code) {
  if (!PyCode_Check(code)) return PyErr_Format(PyExc_TypeError, "not a code object");
  const python::Bytecode& decoded = python::bytecode_of(reinterpret_cast<PyCodeObject*>(code));
  const PyRef instructions = PyRef::steal(PyList_New(0)), handlers = PyRef::steal(PyList_New(0));
  for (const python::Instruction& instruction : decoded.instructions()) {
    const PyRef row = instruction_tuple(decoded, instruction);
    if (!row || PyList_Append(instructions.get(), row.get()) < 0) return nullptr;
  }
  for (const python::Handler& handler : decoded.handlers()) {
    const PyRef row =
        PyRef::steal(Py_BuildValue("iiiii", handler.start, handler.end, handler.target,
                                   handler.depth, handler.push_lasti ? 1 : 0));
    if (!row || PyList_Append(handlers.get(), row.get()) < 0) return nullptr;
  }
  return Py_BuildValue("OO", instructions.get(), handlers.get());
}

PyObject* follows(PyObject*, PyObject* arguments) {
  const char* name = nullptr;
  int argument = 0;
  if (PyArg_ParseTuple(arguments, "si", &name, &argument) == 0) return nullptr;
  constexpr python::Opcode kRows[] = {
#define PS_OPCODE(name, operand, jump, flow) python::Opcode::name,
#include "python/opcodes.def"
#undef PS_OPCODE
  };
  for (const python::Opcode row : kRows) {
    if (python::facts(row).name == name) return PyBool_FromLong(record::has_rule(row, argument));
  }
  return PyErr_Format(PyExc_ValueError, "no row %s", name);
}

/// The bridge, or null with a Python error set.
torch::TensorBridge* bridge() {
  const auto found = torch::TensorBridge::get();
  if (found && *found != nullptr) return *found;
  PyErr_SetString(PyExc_RuntimeError,
                  found ? "torch is not imported" : found.error().message.c_str());
  return nullptr;
}

PyRef tuple_of(std::span<const std::int64_t> numbers) {
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(index),
                     PyLong_FromLongLong(numbers[index]));
  }
  return tuple;
}

PyObject* tensor(PyObject*, PyObject* object) {
  const torch::TensorBridge* torch = bridge();
  torch::TensorView view, slow;
  if (torch == nullptr || !torch->read(object, view)) return nullptr;
  if (!torch->read_attributes(object, slow)) return nullptr;
  const bool agree = std::ranges::equal(view.sizes, slow.sizes) &&
                     std::ranges::equal(view.strides, slow.strides) && view.data == slow.data &&
                     view.storage_offset == slow.storage_offset && view.dtype == slow.dtype &&
                     view.device_type == slow.device_type;
  const PyRef sizes = tuple_of(view.sizes), strides = tuple_of(view.strides);
  return Py_BuildValue(
      "{sOsOsLsKsKsisisisIsOsOsO}", "sizes", sizes.get(), "strides", strides.get(), "offset",
      static_cast<long long>(view.storage_offset), "data",
      reinterpret_cast<std::uintptr_t>(view.data), "storage",
      reinterpret_cast<std::uintptr_t>(view.storage), "dtype", view.dtype, "device_type",
      view.device_type, "device_index", view.device_index, "version", torch->version(object),
      "has_version", view.has_version ? Py_True : Py_False, "requires_grad",
      view.requires_grad ? Py_True : Py_False, "agree", agree ? Py_True : Py_False);
}

PyObject* fast(PyObject*, PyObject*) {
  const torch::TensorBridge* torch = bridge();
  if (torch == nullptr) return nullptr;
  return Py_BuildValue(
      "OOOO", torch->fast_abi() ? Py_True : Py_False, torch->fast_version() ? Py_True : Py_False,
      torch->fast_requires_grad() ? Py_True : Py_False, torch->resizes() ? Py_True : Py_False);
}

/// Memory of one tensor made for a test.
struct Lent {
  std::vector<float> values;
  int released = 0;  ///< times: never more than once
};

PyObject* released(PyObject* capsule, PyObject*) {
  const auto* lent = static_cast<const Lent*>(PyCapsule_GetPointer(capsule, nullptr));
  return PyLong_FromLong(lent->released);
}
PyMethodDef g_released = {"released", released, METH_NOARGS, nullptr};

bool numbers_of(PyObject* sequence, std::vector<std::int64_t>& into) {
  for (Py_ssize_t index = 0; index < PySequence_Size(sequence); ++index) {
    const PyRef item = PyRef::steal(PySequence_GetItem(sequence, index));
    into.push_back(PyLong_AsLongLong(item.get()));
  }
  return PyErr_Occurred() == nullptr;
}

PyObject* make(PyObject*, PyObject* arguments) {
  PyObject *sizes_given, *strides_given;
  Py_ssize_t count = 0;
  int resizable = 0;
  if (PyArg_ParseTuple(arguments, "OOn|p", &sizes_given, &strides_given, &count, &resizable) == 0)
    return nullptr;
  std::vector<std::int64_t> sizes, strides;
  const torch::TensorBridge* torch = bridge();
  if (torch == nullptr || !numbers_of(sizes_given, sizes) || !numbers_of(strides_given, strides)) {
    return nullptr;
  }
  auto* lent = new Lent{std::vector<float>(static_cast<std::size_t>(count)), 0};  // for good
  for (std::size_t index = 0; index < lent->values.size(); ++index) {
    lent->values[index] = static_cast<float>(index);
  }
  const PyRef made = torch->make({.sizes = sizes,
                                  .strides = strides,
                                  .data = lent->values.data(),
                                  .resizable = resizable != 0,
                                  .release = [](void* it) { ++static_cast<Lent*>(it)->released; },
                                  .context = lent});
  const PyRef capsule = PyRef::steal(PyCapsule_New(lent, nullptr, nullptr));
  if (!made || !capsule) return nullptr;
  const PyRef asks = PyRef::steal(PyCFunction_New(&g_released, capsule.get()));
  return Py_BuildValue("OO", made.get(), asks.get());
}

PyMethodDef g_methods[] = {
    {"select", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(select)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"materialise", materialise, METH_VARARGS, nullptr},
    {"materialised", materialised, METH_NOARGS, nullptr},
    {"take_over", take_over, METH_VARARGS, nullptr},
    {"release", release, METH_NOARGS, nullptr},
    {"counts", counts, METH_NOARGS, nullptr},
    {"decode", decode, METH_O, nullptr},
    {"follows", follows, METH_VARARGS, nullptr},
    {"tensor", tensor, METH_O, nullptr},
    {"fast", fast, METH_NOARGS, nullptr},
    {"make", make, METH_VARARGS, nullptr},
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
