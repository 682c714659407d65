#include "python/self_test.h"

#include <string>

#include "python/harness.h"
#include "python/object.h"

namespace penstock::python {
namespace {

// A loop, a handled error, a second handler that re-raises, a cell, a keyword call.
constexpr const char* kProgram = R"(
def probe(n):
    log = []
    def note(value, *, twice=False):
        log.append(value * 2 if twice else value)
    for i in range(n):
        try:
            note(10 // (i - 1), twice=True)
            if i == 3:
                raise KeyError(i)
        except ZeroDivisionError as error:
            note(type(error).__name__)
    return log

def run():
    try:
        return repr(probe(3)) + repr(probe(5))
    except KeyError as error:
        trace, lines = error.__traceback__, []
        while trace is not None:
            lines.append((trace.tb_lineno, trace.tb_lasti))
            trace = trace.tb_next
        return repr(error) + repr(lines)
)";

std::string text_of(PyObject* function) {
  const PyRef result = PyRef::steal(PyObject_CallNoArgs(function));
  const char* text = result ? PyUnicode_AsUTF8(result.get()) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return "error";
  }
  return text;
}

}  // namespace

Result<void> self_test(const std::function<void(FrameDriver*)>& use) {
  constexpr int kExits = 24;
  const PyRef names = PyRef::steal(PyDict_New());
  const PyRef done = PyRef::steal(PyRun_String(kProgram, Py_file_input, names.get(), names.get()));
  if (!done) {
    PyErr_Clear();
    return failure(Code::PS0110, "the self-test does not compile");
  }
  PyObject* run = PyDict_GetItemString(names.get(), "run");
  PyObject* probe = PyDict_GetItemString(names.get(), "probe");
  const std::string expected = text_of(run);
  HarnessDriver driver;
  const auto differs = [&](HarnessPlan plan) {
    plan.code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(probe));
    driver.set_plan(plan);
    use(&driver);
    const std::string seen = text_of(run);
    use(nullptr);
    return seen != expected;
  };
  for (int exit = 0; exit < kExits; ++exit) {
    if (differs({.exit_after = exit}) || differs({.exit_after = exit, .exit_when_raised = true})) {
      return failure(Code::PS0110, "a frame left in the middle ends differently");
    }
  }
  if (differs({})) return failure(Code::PS0110, "a conducted frame ends differently");
  if (differs({.windows = true})) return failure(Code::PS0110, "a native window ends differently");
  return {};
}

}  // namespace penstock::python
