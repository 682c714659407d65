#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "runtime/library_kernel.h"

namespace penstock::embedding {

/// A tensor of a graph, mapped from the store; every process that maps it shares the memory.
/// Thread-safe once its strides are set.
class StoredInput final : public runtime::StoredTensor {
 public:
  StoredInput(std::string hash, formats::TensorBlob blob)
      : name_(hash), hash_(std::move(hash)), blob_(std::move(blob)) {}
  std::string_view name() const override { return name_; }
  Result<void> check() override;
  const formats::TensorBytes& tensor() const { return blob_.tensor; }
  /// From now on the name stands for a copy that lies in memory with these strides.
  void set_strides(const std::vector<std::int64_t>& strides);

 private:
  std::string name_, hash_;
  formats::TensorBlob blob_;
  std::atomic<bool> checked_ = false;
};

}  // namespace penstock::embedding
