#include "runtime/library/packed_weights.h"

namespace penstock::runtime {

Result<PackedWeights::Copy> PackedWeights::get(const Key& key,
                                               const std::function<Result<Copy>()>& make) {
  std::string name(reinterpret_cast<const char*>(&key.data), sizeof key.data);
  name.append(reinterpret_cast<const char*>(&key.version), sizeof key.version);
  name += key.layout;
  std::lock_guard lock(mutex_);
  if (auto found = copies_.find(name); found != copies_.end()) {
    if (auto copy = found->second.lock()) return copy;
  }
  std::erase_if(copies_, [](const auto& entry) { return entry.second.expired(); });
  auto copy = make();
  if (copy) copies_[name] = *copy;
  return copy;
}

}  // namespace penstock::runtime
