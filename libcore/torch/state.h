#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>

namespace penstock::torch {

/// torch.is_grad_enabled() of this thread: through torch's C ABI (2 ns), else by calling it. True
/// while torch is not imported. Needs the GIL.
bool grad_enabled();

/// torch.is_inference_mode_enabled() of this thread, likewise; false while torch is not imported.
bool inference_mode();

/// True if ops of this thread run as they do outside every context of torch that changes what an op
/// does to the same tensors: no autocast, no functorch transform, no tracing, no torch function or
/// dispatch mode, no op of torch's with another body (torch/overridden_ops.h). Gradient mode and
/// inference mode are as they may be. Where it is false an op is not what its name says, so nothing
/// is captured and no entry is used.
///
/// A few nanoseconds: torch keeps all of it in one thread-local record, c10's local dispatch key
/// set, which holds zeros in the ordinary state. False where that record is not found. Needs the
/// GIL, and torch imported.
bool ops_run_plainly();
/// False where this torch's record of that is not found, so that ops_run_plainly() is never true.
/// Needs the GIL, and torch imported.
bool state_is_known();

/// Whose ops are autocast (torch/autocast.h).
enum class CastDevice : std::uint8_t { cpu, gpu };
/// As torch.autocast calls it.
const char* cast_device_name(CastDevice device);
/// The device on which autocasting is on in this thread, where nothing else changes what ops do;
/// nothing where none is, or both are. Needs the GIL, and torch imported.
std::optional<CastDevice> autocasting_device();
/// Turns autocasting off in this thread's record alone, whatever else is on: torch is not told.
/// What was turned off, as the bits of the devices, is to be turned on again.
unsigned turn_autocast_off();
void turn_autocast_on(unsigned devices);

/// While it lives, ops of this thread run as ops_run_plainly() has it, whatever context they are
/// called in, and inference mode is off: what was recorded outside of a functorch transform, a
/// dispatch mode or inference mode is run again as it was. Function modes and overridden ops stay.
/// Does nothing where this torch's record is not found. Needs the GIL, and torch imported.
class PlainOps {
 public:
  PlainOps();
  ~PlainOps();
  PlainOps(const PlainOps&) = delete;
  PlainOps& operator=(const PlainOps&) = delete;

 private:
  PyObject* no_inference_ = nullptr;  ///< torch's own context, where inference mode was on
  std::uint64_t before_[2] = {};      ///< this thread's record
};

/// torch.are_deterministic_algorithms_enabled(); false while torch is not imported.
bool deterministic_algorithms();
/// True if ops that the backward of a node in Python runs in this thread run as they do outside
/// every context. torch's engine has one of its own there: it propagates no names of dims. False
/// until note_plain_backward() has learnt it.
bool backward_runs_plainly();
/// Must be called by such a node, in a backward that nothing stands around.
void note_plain_backward();

/// True while the truth of such tensors is torch's own function: a program may put its own there.
bool has_torch_truth(PyTypeObject* tensor_type);

}  // namespace penstock::torch
