#include "tools/reduce/recorded_values.h"

#include <cstring>
#include <utility>

#include "formats/safetensors.h"
#include "ops/interpreter.h"
#include "tools/run/recorded.h"

namespace penstock::tools {
namespace {

using ops::HostTensor;

/// The elements, row-major, in memory of their own: later writes must not reach them.
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

}  // namespace

RecordedValues::RecordedValues(const Graph& graph, store::Store& store)
    : store_(store), values_(graph.values.size()) {
  auto inputs = recorded_inputs(graph.interface, store);
  if (!inputs) return;
  // An error ends the values early, which is what the class says.
  (void)ops::interpret(graph, std::move(*inputs), [&](ValueId id, const HostTensor& tensor) {
    if (tensor.memory) values_[id] = row_major(tensor);
  });
}

std::string RecordedValues::blob(ValueId id) {
  if (!values_[id]) return {};
  const auto [found, fresh] = hashes_.try_emplace(id);
  if (!fresh) return found->second;
  const HostTensor& tensor = *values_[id];
  const std::string_view bytes(reinterpret_cast<const char*>(tensor.memory->data()),
                               tensor.memory->size());
  auto hash = formats::put_tensor(store_, {"data", tensor.dtype, tensor.sizes, bytes});
  if (hash) found->second = *hash;
  return found->second;
}

}  // namespace penstock::tools
