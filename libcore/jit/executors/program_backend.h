#pragma once

#include <memory>

#include "capture/segment_client.h"
#include "jit/executors/executor.h"

namespace penstock::jit {

/// Makes an executor of a segment that was recorded in the region of
/// torch.compile(backend=FUNCTION) around the current thread: FUNCTION gets the graph as a
/// torch.fx.GraphModule, made of its calls, with the inputs of the recorded call, and what it gives
/// is called with the inputs of later ones.
///
/// The executor says that inputs may be written whenever it fails, and leaves a Python error set:
/// what goes wrong in FUNCTION's result is the program's own error.
///
/// The recorded call gets what that gives, too, in place of what torch gave while it was recorded;
/// `raised` is what it raised then.
///
/// Null with a Python error set: FUNCTION raised. A failure, no error being set: the graph could
/// not be shown as a module.
Result<std::unique_ptr<Executor>> make_program_backend(const record::CapturedSegment& segment,
                                                       python::PyRef& raised);

/// The Python code behind it: fx_module_source.py.
extern const char kFxModuleSource[];

/// The Python error that is set, with its traceback, which is set no more.
python::PyRef take_python_error();

}  // namespace penstock::jit
