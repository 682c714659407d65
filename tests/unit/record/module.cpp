// The module penstock_record_test: asks the rule of one instruction, in a frame of a function, what
// it makes of the operands that are there.
//
//   ask(code, opcode)    the next frame of `code` asks the rule before its first instruction of
//   that opcode answer() -> {"followed", "reason", "moved", "constant", "guards"} of that frame, or
//   None:
//       moved     a rule that answers no has moved shadows all the same
//       constant  what the guards of the operands determine is all of the result
//   check(code, opcode)  the next frame of `code` checks those guards at its instruction instead
//   holds() -> whether they held there, as the slow reference says and as the compiled program does
#include <Python.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guards/guard_check.h"
#include "guards/guard_program.h"
#include "python/hook.h"
#include "record/models.h"
#include "record/walk.h"
#include "torch/connection.h"

namespace penstock::test {
namespace {

using python::PyRef;

/// What a frame's rule answered, and what stays of the walk that asked it.
struct Answer {
  bool followed = false, moved = false, constant = false;
  std::string reason;
  std::vector<std::string> guards;
  Interface interface;
  guards::LiveObjects live;
  std::optional<guards::LiveTable> table;
  std::unique_ptr<guards::GuardProgram> program;
};

class RuleDriver final : public python::FrameDriver {
 public:
  explicit RuleDriver(policy::Callables callables) : callables_(std::move(callables)) {}

  python::Entry enter(python::Frame& frame) override {
    return frame.code() == code && !opcode.empty() ? python::Entry::conduct : python::Entry::native;
  }

  python::Directive instruction(python::Frame& frame,
                                const python::Instruction& instruction) override {
    if (opcode != python::facts(instruction.opcode).name) return python::Directive::step;
    opcode.clear();
    const python::HookPause pause;  // what a rule runs is no frame of the program
    if (checks) {
      held =
          guards::GuardCheck(answer->interface, answer->live, frame, torch::TensorBridge::absent())
              .holds();
      held_compiled = answer->program->check(frame);
    } else {
      ask(frame, instruction);
    }
    PyErr_Clear();
    return python::Directive::step;
  }

  bool stepped(python::Frame& frame, const python::Instruction&, python::Outcome outcome) override {
    if (walk_ == nullptr) return false;
    const python::HookPause pause;
    if (outcome != python::Outcome::raised && outcome != python::Outcome::reraised) {
      walk_->after(*shadow_);
      if (walk_->verdict.spoiled()) {  // it runs code that no walk is followed into here
        answer->followed = false;
        answer->reason = walk_->verdict.spoiled_by();
      }
      // What jumps or stores leaves nothing.
      if (!shadow_->stack.empty() && static_cast<int>(shadow_->stack.size()) == frame.depth()) {
        answer->constant = shadow_->top().is(record::Shadow::Kind::constant);
      }
      if (answer->followed) keep();
    } else {
      answer->followed = false;
      answer->reason = "it raised";
    }
    walk_ = nullptr;
    return false;
  }

  PyCodeObject* code = nullptr;
  std::string opcode;  ///< empty: nothing is to be asked
  bool checks = false, held = false, held_compiled = false;
  std::unique_ptr<Answer> answer;

 private:
  void ask(python::Frame& frame, const python::Instruction& instruction) {
    answer = std::make_unique<Answer>();
    walk_ =
        std::make_unique<record::Walk>(torch::TensorBridge::absent(), schemas_, compile_api_,
                                       callables_, nullptr, record::DynamicSizes::off, false, true);
    shadow_ = &walk_->start(frame);
    const std::vector<record::Shadow> stack = shadow_->stack, locals = shadow_->locals;
    answer->followed = walk_->before(*shadow_, instruction);
    if (answer->followed) return;
    answer->reason = walk_->verdict.reason().reason;
    answer->moved = shadow_->stack != stack || shadow_->locals != locals || shadow_->finish;
    walk_ = nullptr;
  }

  /// What the rule relied on; the operands that it made no constant of are no longer known.
  void keep() {
    Interface& interface = walk_->recorder.graph().interface;
    for (const Guard& guard : interface.guards)
      answer->guards.push_back(to_string(guard, interface.sources));
    answer->interface = interface;
    answer->live = walk_->recorder.guards().take_live_objects();
    answer->table.emplace(answer->live);
    auto program = guards::GuardProgram::compile(answer->interface, *answer->table, code);
    if (program) {
      answer->program = std::move(*program);
    } else {
      answer->followed = false;
      answer->reason = program.error().message;
    }
  }

  torch::SchemaTable schemas_;
  policy::CompileApi compile_api_;
  policy::Callables callables_;
  std::unique_ptr<record::Walk> walk_;
  record::FrameShadow* shadow_ = nullptr;
};
RuleDriver* g_driver = nullptr;

PyObject* attach(PyObject* arguments, bool checks) {
  PyObject* code = nullptr;
  const char* opcode = nullptr;
  if (PyArg_ParseTuple(arguments, "O!s", &PyCode_Type, &code, &opcode) == 0) return nullptr;
  g_driver->code = reinterpret_cast<PyCodeObject*>(code);
  g_driver->opcode = opcode;
  g_driver->checks = checks;
  g_driver->held = g_driver->held_compiled = false;
  if (!checks) g_driver->answer = nullptr;
  Py_RETURN_NONE;
}

PyObject* ask(PyObject*, PyObject* arguments) {
  return attach(arguments, false);
}

PyObject* check(PyObject*, PyObject* arguments) {
  if (g_driver->answer != nullptr && g_driver->answer->followed) return attach(arguments, true);
  PyErr_SetString(PyExc_RuntimeError, "no rule has answered yes");
  return nullptr;
}

PyObject* holds(PyObject*, PyObject*) {
  return Py_BuildValue("(OO)", g_driver->held ? Py_True : Py_False,
                       g_driver->held_compiled ? Py_True : Py_False);
}

PyObject* answer(PyObject*, PyObject*) {
  if (g_driver->answer == nullptr) Py_RETURN_NONE;
  const Answer& found = *g_driver->answer;
  PyRef guards = PyRef::steal(PyList_New(0));
  for (const std::string& guard : found.guards) {
    const PyRef text = PyRef::steal(PyUnicode_FromString(guard.c_str()));
    if (!guards || !text || PyList_Append(guards.get(), text.get()) < 0) return nullptr;
  }
  return Py_BuildValue("{s:O,s:s,s:O,s:O,s:N}", "followed", found.followed ? Py_True : Py_False,
                       "reason", found.reason.c_str(), "moved", found.moved ? Py_True : Py_False,
                       "constant", found.constant ? Py_True : Py_False, "guards", guards.release());
}

PyObject* fail(const Diagnostic& diagnostic) {
  PyErr_SetString(PyExc_RuntimeError, diagnostic.message.c_str());
  return nullptr;
}

PyMethodDef g_methods[] = {
    {"ask", ask, METH_VARARGS, nullptr},     {"answer", answer, METH_NOARGS, nullptr},
    {"check", check, METH_VARARGS, nullptr}, {"holds", holds, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef g_module = {PyModuleDef_HEAD_INIT,
                        "penstock_record_test",
                        nullptr,
                        -1,
                        g_methods,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr};

}  // namespace
}  // namespace penstock::test

PyMODINIT_FUNC PyInit_penstock_record_test() {
  using namespace penstock;
  auto callables = record::callables_with_models("");
  if (!callables) return test::fail(callables.error());
  torch::connect_to_python();
  test::g_driver = new test::RuleDriver(std::move(*callables));
  auto installed = python::install_hook(*test::g_driver);  // lives as long as the hook: for good
  if (!installed) return test::fail(installed.error());
  return PyModule_Create(&test::g_module);
}
