#include "jit/restore/pending_tensor.h"

#include <algorithm>

#include "jit/restore/tensor_layout.h"
#include "python/collector_pause.h"

namespace penstock::jit {
namespace {

void release_memory(void* context) {
  delete static_cast<runtime::PooledMemory*>(context);
}

/// The elements of `whole`, one behind another, shown as `view` lies in them; to torch it is a
/// tensor of its own.
python::PyRef shown_as(const torch::TensorView& view, PyObject* whole) {
  const python::PyRef shown = strided(whole, view.sizes, view.strides, view.storage_offset);
  return shown ? python::PyRef::steal(PyObject_CallMethod(shown.get(), "detach", nullptr))
               : nullptr;
}

/// How many elements lie between the storage's first one and the view's last.
std::int64_t reach_of(const torch::TensorView& view) {
  std::int64_t last = view.storage_offset;
  for (std::size_t i = 0; i < view.sizes.size(); ++i) last += (view.sizes[i] - 1) * view.strides[i];
  return last + 1;
}

}  // namespace

python::PyRef PendingTensor::make(const torch::TensorBridge& bridge) {
  auto* owner = new runtime::PooledMemory(std::move(memory));
  torch::TensorSpec spec;
  spec.sizes = view.sizes;
  spec.strides = view.strides;
  spec.dtype = view.dtype;
  // Where torch allocates nothing, the address is null.
  const bool empty = std::ranges::find(view.sizes, 0) != view.sizes.end();
  spec.data = empty ? nullptr : owner->data();
  // DLPack carries no offset: the memory is made a tensor, and that is shown.
  const bool behind_start = view.storage_offset != 0 && !empty;
  const std::int64_t reach = behind_start ? reach_of(view) : 0, step = 1;
  if (behind_start) {
    spec.sizes = {&reach, 1};
    spec.strides = {&step, 1};
  }
  spec.device_index = view.device_index;
  spec.resizable = view.device_index < 0;
  spec.release = release_memory;
  spec.context = owner;
  python::PyRef tensor = bridge.make(spec);
  if (!tensor) delete owner;
  return tensor && behind_start ? shown_as(view, tensor.get()) : std::move(tensor);
}

const torch::TensorView* PendingLocals::find_view(std::int32_t local) const {
  for (const PendingLocal& pending : locals) {
    if (pending.local == local) return &pending.tensor.view;
  }
  return nullptr;
}

void PendingLocals::drop(std::int32_t local) {
  std::erase_if(locals, [&](const PendingLocal& pending) { return pending.local == local; });
}

bool PendingLocals::settle(python::Frame& frame) {
  bool made = true;
  if (!locals.empty()) {
    const python::CollectorPause no_finalizers;
    const auto bridge = torch::TensorBridge::get();
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
