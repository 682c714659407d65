#include "jit/gate/measured_device.h"

#include "ir/device.h"
#include "runtime/cuda/driver.h"
#include "torch/device_memory.h"

namespace penstock::jit {

Gate::Clock clock_of(const Graph& graph) {
  const int index = gpu_index(device_of(graph).value_or("cpu"));
  if (index < 0) return Gate::steady_time;
  return [index] {
    runtime::cuda::synchronize(torch::current_stream(index));
    return Gate::steady_time();
  };
}

std::string gpu_of(const Graph& graph) {
  const int index = gpu_index(device_of(graph).value_or("cpu"));
  return index < 0 ? std::string() : runtime::cuda::describe(index);
}

}  // namespace penstock::jit
