#include "python/hook.h"

#include <pthread.h>

#include <algorithm>

#include "python/code_cache.h"
#include "python/collector_rest.h"
#include "python/eval_breaker.h"
#include "python/materialise.h"
#include "python/self_test.h"
#include "python/tensor_functions.h"
#include "python/versions/raw_frame.h"
#include "python/versions/tracing.h"

namespace penstock::python {
namespace {

// The hook is a plain function that CPython calls: its state is the process's, guarded by the GIL.
FrameDriver* g_driver = nullptr;
FrameCounts g_own_counts;
FrameCounts* g_counts = &g_own_counts;
// Frames that switched the hook off: below the stack margin, because the driver wants it, or since
// their code rests (of them g_resting). Where it was set again for them all, g_age is another.
int g_suspended = 0, g_resting = 0, g_age = 0;

thread_local int t_paused __attribute__((tls_model("initial-exec"))) = 0;

/// Below this much C stack nothing is conducted any more. Small stacks keep a quarter.
constexpr std::size_t kStackMargin = 256 * 1024;

struct StackBounds {
  char* low = nullptr;
  std::size_t margin = 0;
};
thread_local StackBounds t_stack __attribute__((tls_model("initial-exec")));

const StackBounds& stack_bounds() {
  if (t_stack.low != nullptr) return t_stack;
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
  }
  t_stack.low = static_cast<char*>(low);
  t_stack.margin = std::min(kStackMargin, size / 4);
  return t_stack;
}

void count_native(Native reason) {
  ++g_counts->native[static_cast<int>(reason)];
}

PyObject* evaluate(PyThreadState* thread, _PyInterpreterFrame* raw, int throwing) noexcept;

/// Runs the frame and all it calls without the hook: CPython then recurses without C stack.
PyObject* evaluate_unhooked(PyThreadState* thread, _PyInterpreterFrame* raw, int throwing,
                            bool rests = false) {
  PyInterpreterState* interpreter = thread->interp;
  const int age = g_age;
  g_resting += rests ? 1 : 0;
  if (g_suspended++ == 0) {
    _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
  }
  PyObject* result = evaluate_frame(thread, raw, throwing);
  if (age != g_age) return result;
  g_resting -= rests ? 1 : 0;
  if (--g_suspended == 0 && g_driver != nullptr) {
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
  }
  return result;
}

PyObject* native(PyThreadState* thread, _PyInterpreterFrame* raw, int throwing, Native reason) {
  count_native(reason);
  return evaluate_frame(thread, raw, throwing);
}

/// The call that makes a generator object runs nothing but its set-up; RETURN_GENERATOR moves the
/// frame, which only the evaluator can do.
bool makes_generator(const _PyInterpreterFrame* raw) {
  constexpr int kFlags = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  return (code_of(raw)->co_flags & kFlags) != 0 && raw->owner != FRAME_OWNED_BY_GENERATOR;
}

/// While it lives, this thread runs frames apart: torch's ops in them are not counted.
class OpsApart {
 public:
  OpsApart() {
    if (tensor_functions().apart_begins != nullptr) tensor_functions().apart_begins();
  }
  ~OpsApart() {
    if (tensor_functions().apart_ends != nullptr) tensor_functions().apart_ends();
  }
  OpsApart(const OpsApart&) = delete;
  OpsApart& operator=(const OpsApart&) = delete;
};

/// The code rests: so does the driver.
PyObject* evaluate_resting(PyThreadState* thread, _PyInterpreterFrame* raw, int throwing,
                           CodeRecord& record) {
  const PyRef code = PyRef::borrow(reinterpret_cast<PyObject*>(code_of(raw)));  // and its record
  const std::uint64_t before = events();
  record.rest.take();
  count_native(Native::driver);
  PyObject* result = evaluate_unhooked(thread, raw, throwing, true);
  if (events() != before) record.rest.end();
  return result;
}

PyObject* evaluate_watched(PyThreadState* thread, _PyInterpreterFrame* raw, int throwing) {
  CodeRecord& record = record_of(code_of(raw));
  if (record.rest.on()) return evaluate_resting(thread, raw, throwing, record);
  const PyRef code = PyRef::borrow(reinterpret_cast<PyObject*>(code_of(raw)));
  const std::uint64_t before = events();
  PyObject* result = native(thread, raw, throwing, Native::driver);
  record.rest.watched(events() == before);
  return result;
}

/// A frame that nothing speaks against conducting: asks the driver.
PyObject* evaluate_driven(PyThreadState* thread, _PyInterpreterFrame* raw, int throwing) {
  Frame frame(thread, raw);
  const Entry entry = g_driver->enter(frame);
  if (entry != Entry::conduct || !frame.bytecode().valid()) frame.give_back();
  switch (entry) {
    case Entry::conduct:
      if (frame.bytecode().valid()) break;
      g_driver->leave(frame, Leaving::exited, nullptr);
      return native(thread, raw, throwing, Native::driver);
    case Entry::native:
      return native(thread, raw, throwing, Native::driver);
    case Entry::native_watched:
      return evaluate_watched(thread, raw, throwing);
    case Entry::native_apart: {
      const OpsApart apart;
      return native(thread, raw, throwing, Native::driver);
    }
    case Entry::importing: {
      const OpsApart apart;
      const CollectorRest rest(thread->interp, raw->f_globals);
      count_native(Native::driver);
      return evaluate_unhooked(thread, raw, throwing);
    }
    case Entry::unhooked: {
      const OpsApart apart;
      count_native(Native::driver);
      return evaluate_unhooked(thread, raw, throwing);
    }
    case Entry::native_told: {
      PyObject* result = native(thread, raw, throwing, Native::driver);
      if (g_driver != nullptr) g_driver->ran(thread, result != nullptr);
      return result;
    }
    case Entry::finished:
      ++g_counts->conducted;
      return end_frame(thread, raw, static_cast<PyObject*>(frame.attachment));
  }
  PyObject* result = conduct(frame, *g_driver, throwing != 0);
  ++(frame.handed_over() ? g_counts->exited : g_counts->conducted);
  return result;
}

// An if-chain, most frequent first: this runs for every Python call of the process.
PyObject* evaluate(PyThreadState* thread, _PyInterpreterFrame* raw, int throwing) noexcept {
  CodeRecord* record = find_record(code_of(raw));
  if (record != nullptr && record->skip) {
    if (!record->ours) {
      ++g_counts->seen;
      count_native(Native::skipped);
    }
    return evaluate_frame(thread, raw, throwing);
  }
  if (g_driver == nullptr || t_paused != 0) return evaluate_frame(thread, raw, throwing);
  ++g_counts->seen;
  if (states_announced()) claim_state(thread, raw);
  if (makes_generator(raw)) return native(thread, raw, throwing, Native::generator);
  if (is_traced(thread, code_of(raw))) return native(thread, raw, throwing, Native::traced);
  if (recursion_left(thread) <= 0) return native(thread, raw, throwing, Native::limit);
  if (stack_left() < t_stack.margin) {
    count_native(Native::stack);
    return evaluate_unhooked(thread, raw, throwing);
  }
  if (record != nullptr && record->rest.on() && frames_conducted() == 0) {
    return evaluate_resting(thread, raw, throwing, *record);
  }
  return evaluate_driven(thread, raw, throwing);
}

/// Sets the hook again for all frames that switched it off.
void set_again() {
  ++g_age;
  g_suspended = g_resting = 0;
  if (g_driver == nullptr) return;
  _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Main(), evaluate);
}

}  // namespace

std::size_t stack_left() {
  const char* here = static_cast<const char*>(__builtin_frame_address(0));
  return static_cast<std::size_t>(here - stack_bounds().low);
}

Result<void> install_hook(FrameDriver& driver, FrameCounts* counts) {
  if (!prepare_breaker()) {
    PyErr_Clear();
    return failure(Code::PS0110, "the function that serves CPython's eval breaker cannot be made");
  }
  CodeRecord& breaker = record_of(breaker_code());
  breaker.skip = breaker.ours = true;
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
  g_counts = &g_own_counts;
  Result<void> tested = self_test([](FrameDriver* tester) { g_driver = tester; });
  g_driver = nullptr;
  if (!tested) {
    remove_hook();
    return tested;
  }
  g_own_counts = FrameCounts{};
  if (counts != nullptr) g_counts = counts;
  g_driver = &driver;
  return {};
}

void remove_hook() {
  g_driver = nullptr;
  _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), _PyEval_EvalFrameDefault);
}

void set_hook(FrameDriver& driver) {
  g_driver = &driver;
  set_again();
}

const FrameCounts& frame_counts() {
  return *g_counts;
}

void count_walked(std::uint64_t instructions, std::uint64_t followed) {
  ++g_counts->walked;
  g_counts->instructions += instructions;
  g_counts->followed += followed;
}

void continue_in_child() {
  g_own_counts = *g_counts;
  g_counts = &g_own_counts;
  if (g_suspended != 0) set_again();
}

void note_tensor() {
  note_event();
  if (g_resting != 0 && g_resting == g_suspended) set_again();
}

bool is_only_thread(PyThreadState* thread) {
  return PyInterpreterState_ThreadHead(thread->interp) == thread &&
         PyThreadState_Next(thread) == nullptr;
}

void skip_code(PyCodeObject* code) {
  record_of(code).skip = true;
}

HookPause::HookPause() {
  ++t_paused;
}
HookPause::~HookPause() {
  --t_paused;
}

}  // namespace penstock::python
