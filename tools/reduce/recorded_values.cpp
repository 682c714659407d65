#include "tools/reduce/recorded_values.h"

#include <cstring>
#include <utility>

#include "formats/safetensors.h"
#include "ops/interpreter.h"
#include "tools/run/recorded.h"

namespace penstock::tools {

using ops::HostTensor;

HostTensor row_major(const HostTensor& tensor) {
  HostTensor out = HostTensor::contiguous(tensor.dtype, tensor.sizes);
  const std::size_t size = facts(tensor.dtype).size;
  std::size_t at = 0;
  for (const std::int64_t place : tensor.places()) {
    std::memcpy(out.memory->data() + at,
                tensor.memory->data() + static_cast<std::size_t>(place) * size, size);
    at += size;
  }
  return out;
}

std::string keep_tensor(const HostTensor& tensor, store::Store& store) {
  const std::string_view bytes(reinterpret_cast<const char*>(tensor.memory->data()),
                               tensor.memory->size());
  return formats::put_tensor(store, {"data", tensor.dtype, tensor.sizes, bytes}).value_or("");
}

RecordedValues::RecordedValues(const Graph& graph, store::Store& store)
    : store_(store), values_(graph.values.size()) {
  auto inputs = recorded_inputs(graph.interface, store);
  if (!inputs) return;
  // An error ends the values early, which is what the class says.
  (void)ops::interpret(graph, std::move(*inputs), [&](ValueId id, const HostTensor& tensor) {
    // A copy: later writes must not reach it.
    if (tensor.memory) values_[id] = row_major(tensor);
  });
}

std::string RecordedValues::blob(ValueId id) {
  if (!values_[id]) return {};
  const auto [found, fresh] = hashes_.try_emplace(id);
  if (!fresh) return found->second;
  found->second = keep_tensor(*values_[id], store_);
  return found->second;
}

}  // namespace penstock::tools
