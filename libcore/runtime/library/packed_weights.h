#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "diag/diagnostic.h"

namespace penstock::runtime {

/// Packed copies of weights, shared by all kernels that read the same contents in the same layout,
/// and gone with the last of them. Thread-safe.
class PackedWeights {
 public:
  /// What was packed: a data pointer, the version of its contents, and the layout's bytes.
  struct Key {
    const void* data;
    std::uint64_t version;
    std::string layout;
  };
  using Copy = std::shared_ptr<const void>;
  /// The packed copy; `make` gives it when there is none yet.
  Result<Copy> get(const Key& key, const std::function<Result<Copy>()>& make);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const void>> copies_;
};

}  // namespace penstock::runtime
