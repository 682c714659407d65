#include "runtime/library/packed_weights.h"

#include <cstdlib>

namespace penstock::runtime {

std::shared_ptr<void> PackedWeights::get(const Key& key, std::size_t bytes,
                                         const std::function<void(void*)>& pack) {
  std::string name(reinterpret_cast<const char*>(&key.data), sizeof key.data);
  name.append(reinterpret_cast<const char*>(&key.version), sizeof key.version);
  name += key.layout;
  std::lock_guard lock(mutex_);
  if (auto found = copies_.find(name); found != copies_.end()) {
    if (auto copy = found->second.lock()) return copy;
  }
  std::erase_if(copies_, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<void> copy(std::aligned_alloc(64, (bytes + 127) / 64 * 64), std::free);
  if (copy == nullptr) return copy;
  pack(copy.get());
  copies_[name] = copy;
  return copy;
}

}  // namespace penstock::runtime
