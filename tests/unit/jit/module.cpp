// The module penstock_jit_test: guard and restore programs written down in Python, run on the
// frames of a function.
//
//   attach(code, spec, outputs=())    the program for frames of `code`; one at a time
//   detach()
//   last() -> (checked, failed guards as (source, expected, actual))   of the last frame
//   steps() -> number of steps
//   repeat(n), nanoseconds()          the next frame checks n times: the time of one check
//                                     (callgrind --collect-atstart=no counts just these)
//
// and the client that runs recorded segments, without a walker to record them:
//
//   install(code, spec)               hands the client a recorded segment
//   state() -> {"compiled", "calls": [(id, calls, runs)], "recompiles": [...], "messages": [...],
//               "found": {"returned": n, …}, "pending": runs that left their outputs pending}
//   fail(how), fail_compiling(how)    executors or the compiler "refuse", "throw", have "no
//   memory",
//                                     fail "behind a write", or give "wrong" results; "": they do
//                                     not
//   throw_in_driver(), mend_driver()  the driver throws at every frame and instruction
#include <Python.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT
#endif

#include <chrono>
#include <cstdlib>

#include <map>
#include <stdexcept>
#include <string>

#include "guards/guard_program.h"
#include "jit/client.h"
#include "jit/guarded_driver.h"
#include "jit/restore/restore.h"
#include "python/hook.h"
#include "python/made_once.h"
#include "spec.h"
#include "torch_executor.h"

namespace penstock::test {
namespace {

using python::PyRef;

/// What capture would be told.
class TestSink final : public capture::EventSink {
 public:
  void recompiled(const RecompileEvent& event) override {
    std::string text = to_string(event.id) + (event.limit ? " limit" : "");
    for (const auto& entry : event.entries) {
      for (const FailedGuard& failed : entry.failed) {
        text += "; " + to_string(entry.id) + ": " + failed.text + ", is " + failed.actual;
      }
    }
    recompiles.push_back(std::move(text));
  }
  std::vector<std::string> recompiles;
};

/// The frame ends through its own RETURN_VALUE.
void return_value(python::Frame& frame, PyRef result) {
  for (const python::Instruction& instruction : frame.bytecode().instructions()) {
    if (instruction.opcode != python::Opcode::RETURN_VALUE) continue;
    frame.unwind_to(0);
    frame.push(std::move(result));
    return frame.jump(instruction.offset);
  }
}

/// Does what a walker does on later calls: asks the client wherever a segment starts.
class CallDriver {
 public:
  CallDriver() : client(compiler, sink, nullptr, options()) {}

  jit::ClientOptions options() {
    jit::ClientOptions options;
    options.self_check = std::getenv("PENSTOCK_JIT_TEST_SELF_CHECK") != nullptr;
    options.report = [this](const Diagnostic& diagnostic) {
      messages.push_back(std::string(facts(diagnostic.code).id) + " " + diagnostic.message);
    };
    return options;
  }

  python::Entry enter(python::Frame& frame) {
    switch (client.finish_call(frame)) {
      case capture::Finish::done:
        ++found["finished"];
        return python::Entry::finished;
      case capture::Finish::plain:
      case capture::Finish::refused:
        ++found["plain"];
        return python::Entry::native_told;
      case capture::Finish::no:
        break;
    }
    return client.starts_at(frame.bytecode(), 0) && !frame.is_generator() ? python::Entry::conduct
                                                                          : python::Entry::native;
  }

  python::Directive instruction(python::Frame& frame) {
    if (!client.starts_at(frame.bytecode(), frame.unit())) return python::Directive::step;
    capture::Lookup answer = client.lookup(frame, true);
    switch (answer.found) {
      case capture::Found::moved:
        ++found[answer.branched ? "branched" : "moved"];
        return python::Directive::done;
      case capture::Found::raised:
        ++found["raised"];
        return python::Directive::raised;
      case capture::Found::returned:
        ++found["returned"];
        return_value(frame, std::move(answer.value));
        return python::Directive::done;
      case capture::Found::miss:
        ++found["miss"];
        break;
      case capture::Found::step:
        ++found["step"];
        break;
      case capture::Found::none:
        ++found["none"];
        break;
    }
    return python::Directive::step;
  }

  TorchCompiler compiler;
  TestSink sink;
  std::vector<std::string> messages;
  std::map<std::string, int> found;
  jit::JitClient client;
};

/// Checks the attached program on each frame of its code; with restore records it runs those.
class TestDriver final : public python::FrameDriver {
 public:
  python::Entry enter(python::Frame& frame) override {
    if (throws) throw std::runtime_error("told to throw");
    if (guards == nullptr || frame.code() != code) return calls.enter(frame);
    checked = guards->check(frame);
    failed = checked ? std::vector<FailedGuard>{} : guards->explain(frame);
    if (repeat > 0) measure(frame);
    if (!checked || restore == nullptr) return python::Entry::native;
    if (!restore->make(*guards, outputs, &frame)) return raise(frame);
    if (!restore->only_returns()) return python::Entry::conduct;
    frame.attachment = restore->take_result().release();
    return python::Entry::finished;
  }

  python::Directive instruction(python::Frame& frame, const python::Instruction&) override {
    if (restore == nullptr || frame.code() != code) return calls.instruction(frame);
    if (frame.attachment != nullptr || frame.unit() != 0) return python::Directive::step;
    frame.attachment = this;
    PyRef result;
    if (!restore->apply(frame, result)) return python::Directive::raised;
    if (result) return_value(frame, std::move(result));
    return python::Directive::done;
  }

  void measure(python::Frame& frame) {
    const auto start = std::chrono::steady_clock::now();
    CALLGRIND_TOGGLE_COLLECT;
    for (int i = 0; i < repeat; ++i) checked = guards->check(frame) && checked;
    CALLGRIND_TOGGLE_COLLECT;
    const auto end = std::chrono::steady_clock::now();
    nanoseconds = std::chrono::duration<double, std::nano>(end - start).count() / repeat;
    repeat = 0;
  }

  python::Entry raise(python::Frame& frame) {
    frame.attachment = nullptr;
    return python::Entry::finished;
  }

  CallDriver calls;
  PyCodeObject* code = nullptr;
  std::unique_ptr<Spec> spec;
  guards::LiveTable live;
  std::unique_ptr<guards::GuardProgram> guards;
  std::unique_ptr<jit::RestoreProgram> restore;
  std::vector<PyRef> outputs;
  bool throws = false;
  bool checked = false;
  std::vector<FailedGuard> failed;
  int repeat = 0;
  double nanoseconds = 0;
};
TestDriver* g_driver = nullptr;

/// Hands what it is asked to a driver that it does not own.
class Borrowed final : public python::FrameDriver {
 public:
  explicit Borrowed(python::FrameDriver& driver) : driver_(driver) {}
  python::Entry enter(python::Frame& frame) override { return driver_.enter(frame); }
  python::Directive instruction(python::Frame& frame, const python::Instruction& at) override {
    return driver_.instruction(frame, at);
  }

 private:
  python::FrameDriver& driver_;
};

Result<void> install_guarded() {
  auto* guarded = new jit::GuardedDriver(
      std::make_unique<Borrowed>(*g_driver),
      [](const std::string& what) { g_driver->calls.messages.push_back("thrown " + what); });
  return python::install_hook(*guarded);  // lives as long as the hook: for good
}

PyObject* fail(const Diagnostic& diagnostic) {
  PyErr_SetString(PyExc_RuntimeError, diagnostic.message.c_str());
  return nullptr;
}

PyObject* detach(PyObject*, PyObject*) {
  g_driver->restore = nullptr;
  g_driver->guards = nullptr;
  g_driver->code = nullptr;
  g_driver->spec = nullptr;
  g_driver->live = guards::LiveTable{};
  g_driver->outputs.clear();
  Py_RETURN_NONE;
}

PyObject* attach(PyObject*, PyObject* arguments) {
  PyObject *code = nullptr, *dict = nullptr, *outputs = nullptr;
  if (PyArg_ParseTuple(arguments, "O!O!|O", &PyCode_Type, &code, &PyDict_Type, &dict, &outputs) ==
      0) {
    return nullptr;
  }
  TestDriver& driver = *g_driver;
  PyRef::steal(detach(nullptr, nullptr));
  auto* code_object = reinterpret_cast<PyCodeObject*>(code);
  driver.spec = std::make_unique<Spec>();
  if (!read_spec(dict, code_object, *driver.spec)) return nullptr;
  driver.live = guards::LiveTable(driver.spec->live);
  driver.spec->live.clear();
  auto guards = guards::GuardProgram::compile(driver.spec->interface, driver.live, code_object);
  if (!guards) return fail(guards.error());
  if (!driver.spec->interface.restore.empty()) {
    auto restore = jit::RestoreProgram::compile(driver.spec->interface, driver.live, code_object);
    if (!restore) return fail(restore.error());
    driver.restore = std::move(*restore);
  }
  for (Py_ssize_t i = 0; outputs != nullptr && i < PySequence_Size(outputs); ++i) {
    driver.outputs.push_back(PyRef::steal(PySequence_GetItem(outputs, i)));
  }
  driver.guards = std::move(*guards);
  driver.code = code_object;
  Py_RETURN_NONE;
}

PyObject* last(PyObject*, PyObject*) {
  PyRef list = PyRef::steal(PyList_New(0));
  for (const FailedGuard& failed : g_driver->failed) {
    PyRef row = PyRef::steal(Py_BuildValue("(sss)", failed.source.c_str(), failed.expected.c_str(),
                                           failed.actual.c_str()));
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return Py_BuildValue("(ON)", g_driver->checked ? Py_True : Py_False, list.release());
}

PyObject* steps(PyObject*, PyObject*) {
  return PyLong_FromSize_t(g_driver->guards ? g_driver->guards->step_count() : 0);
}

PyObject* repeat(PyObject*, PyObject* count) {
  g_driver->repeat = static_cast<int>(PyLong_AsLong(count));
  Py_RETURN_NONE;
}

PyObject* nanoseconds(PyObject*, PyObject*) {
  return PyFloat_FromDouble(g_driver->nanoseconds);
}

PyObject* install(PyObject*, PyObject* arguments) {
  PyObject *code = nullptr, *dict = nullptr;
  if (PyArg_ParseTuple(arguments, "O!O!", &PyCode_Type, &code, &PyDict_Type, &dict) == 0) {
    return nullptr;
  }
  Spec spec;
  auto* code_object = reinterpret_cast<PyCodeObject*>(code);
  if (!read_spec(dict, code_object, spec)) return nullptr;
  record::CapturedSegment segment{std::move(spec.graph), code_object, std::move(spec.live), {}, {}};
  return PyUnicode_FromString(
      to_string(g_driver->calls.client.captured(std::move(segment))).c_str());
}

PyRef text_list(const std::vector<std::string>& texts) {
  PyRef list = PyRef::steal(PyList_New(0));
  for (const std::string& text : texts) {
    PyList_Append(list.get(), PyRef::steal(PyUnicode_FromString(text.c_str())).get());
  }
  return list;
}

PyObject* state(PyObject*, PyObject*) {
  CallDriver& calls = g_driver->calls;
  PyRef counts = PyRef::steal(PyList_New(0));
  for (const jit::EntryCount* counter : calls.client.counters()) {
    const EntryId id{counter->frame, counter->recompile, 0};
    PyRef row = PyRef::steal(Py_BuildValue("(sLi)", to_string(id).c_str(),
                                           static_cast<long long>(counter->calls),
                                           static_cast<int>(counter->runs)));
    PyList_Append(counts.get(), row.get());
  }
  PyRef found = PyRef::steal(PyDict_New());
  for (const auto& [name, count] : calls.found) {
    PyDict_SetItemString(found.get(), name.c_str(), PyRef::steal(PyLong_FromLong(count)).get());
  }
  return Py_BuildValue("{s:i,s:N,s:N,s:N,s:N,s:i}", "compiled", calls.compiler.compiled, "calls",
                       counts.release(), "recompiles", text_list(calls.sink.recompiles).release(),
                       "messages", text_list(calls.messages).release(), "found", found.release(),
                       "pending", calls.compiler.pending);
}

Failing way_of(PyObject* name) {
  const std::string_view text = PyUnicode_AsUTF8(name);
  return text == "refuse"           ? Failing::refuse
         : text == "throw"          ? Failing::throws
         : text == "no memory"      ? Failing::no_memory
         : text == "wrong"          ? Failing::wrong
         : text == "behind a write" ? Failing::behind_write
                                    : Failing::no;
}

PyObject* set_failing(PyObject*, PyObject* how) {
  g_driver->calls.compiler.executors = way_of(how);
  Py_RETURN_NONE;
}

PyObject* set_compiler_failing(PyObject*, PyObject* how) {
  g_driver->calls.compiler.compilers = way_of(how);
  Py_RETURN_NONE;
}

PyObject* throw_in_driver(PyObject*, PyObject*) {
  g_driver->throws = true;
  Py_RETURN_NONE;
}

/// A driver that threw is never asked again: another guard around the same one.
PyObject* mend_driver(PyObject*, PyObject*) {
  g_driver->throws = false;
  if (auto installed = install_guarded(); !installed) return fail(installed.error());
  Py_RETURN_NONE;
}

/// What `make` gave when it was called first.
PyObject* made_once(PyObject*, PyObject* make) {
  static auto& value = *new python::MadeOnce<PyObject*>;
  return Py_XNewRef(value.get([&] { return PyObject_CallNoArgs(make); }));
}

PyMethodDef g_methods[] = {
    {"made_once", made_once, METH_O, nullptr},
    {"install", install, METH_VARARGS, nullptr},
    {"state", state, METH_NOARGS, nullptr},
    {"fail", set_failing, METH_O, nullptr},
    {"fail_compiling", set_compiler_failing, METH_O, nullptr},
    {"throw_in_driver", throw_in_driver, METH_NOARGS, nullptr},
    {"mend_driver", mend_driver, METH_NOARGS, nullptr},
    {"attach", attach, METH_VARARGS, nullptr},
    {"detach", detach, METH_NOARGS, nullptr},
    {"last", last, METH_NOARGS, nullptr},
    {"steps", steps, METH_NOARGS, nullptr},
    {"repeat", repeat, METH_O, nullptr},
    {"nanoseconds", nanoseconds, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef g_module = {PyModuleDef_HEAD_INIT,
                        "penstock_jit_test",
                        nullptr,
                        -1,
                        g_methods,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr};

}  // namespace
}  // namespace penstock::test

PyMODINIT_FUNC PyInit_penstock_jit_test() {
  using namespace penstock;
  test::g_driver = new test::TestDriver;
  auto installed = test::install_guarded();
  if (!installed) return test::fail(installed.error());
  return PyModule_Create(&test::g_module);
}
