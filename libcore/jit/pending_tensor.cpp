#include "jit/pending_tensor.h"

#include <algorithm>

#include "jit/torch_state.h"

namespace penstock::jit {
namespace {

void release_memory(void* context) { delete static_cast<runtime::PooledMemory*>(context); }

}  // namespace

python::PyRef PendingTensor::make(const python::TensorBridge& bridge) {
  auto* owner = new runtime::PooledMemory(std::move(memory));
  python::TensorSpec spec;
  spec.sizes = view.sizes;
  spec.strides = view.strides;
  spec.dtype = view.dtype;
  // Where torch allocates nothing, the address is null.
  spec.data = std::ranges::find(view.sizes, 0) == view.sizes.end() ? owner->data() : nullptr;
  spec.resizable = true;
  spec.release = release_memory;
  spec.context = owner;
  python::PyRef tensor = bridge.make(spec);
  if (!tensor) delete owner;
  return tensor;
}

const PendingLocal* PendingLocals::find(std::int32_t local) const {
  for (const PendingLocal& pending : locals) {
    if (pending.local == local) return &pending;
  }
  return nullptr;
}

void PendingLocals::drop(std::int32_t local) {
  std::erase_if(locals, [&](const PendingLocal& pending) { return pending.local == local; });
}

bool PendingLocals::settle(python::Frame& frame) {
  bool made = true;
  if (!locals.empty()) {
    const CollectorPause no_finalizers;
    const auto bridge = python::TensorBridge::get();
    for (PendingLocal& pending : locals) {
      python::PyRef tensor = bridge && *bridge != nullptr ? pending.tensor.make(**bridge) : nullptr;
      made = made && tensor;
      replaced.push_back(frame.take_local(pending.local));
      frame.set_local(pending.local, std::move(tensor));
    }
    locals.clear();
    if (!made && !PyErr_Occurred()) PyErr_NoMemory();
  }
  replaced.clear();
  return made;
}

}  // namespace penstock::jit
