#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace penstock::runtime {

/// Packed copies of weights, shared by all kernels that read the same contents in the same layout, and
/// gone with the last of them. Thread-safe.
class PackedWeights {
 public:
  /// What was packed: a data pointer, the version of its contents, and the layout's bytes.
  struct Key {
    const void* data;
    std::uint64_t version;
    std::string layout;
  };
  /// The packed copy; `pack(destination)` fills `bytes` bytes when there is none yet.
  std::shared_ptr<void> get(const Key& key, std::size_t bytes,
                            const std::function<void(void*)>& pack);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<void>> copies_;
};

}  // namespace penstock::runtime
