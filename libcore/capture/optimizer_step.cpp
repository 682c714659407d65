#include "capture/optimizer_step.h"

#include "python/rest.h"
#include "torch/state.h"

namespace penstock::capture {

bool run_fused_step(python::Frame& frame, Region& region, CodeInfo& known,
                    const torch::TensorBridge& bridge) {
  const PyCodeObject* code = frame.code();
  if (!known.fused_step) known.fused_step = torch::FusedStep::find(frame.code(), frame.globals());
  const torch::FusedStep* step = known.fused_step->get();
  if (step == nullptr || torch::grad_enabled()) return false;
  std::vector<PyObject*> arguments;
  for (int i = 0; i < code->co_argcount + code->co_kwonlyargcount; ++i)
    arguments.push_back(frame.local(i));
  if (!step->takes(arguments, bridge)) return false;
  frame.attachment = step->run(arguments).release();
  // Calls of the optimizer are worth looking at.
  ++region.entrances;
  python::note_event();
  return true;
}

}  // namespace penstock::capture
