#pragma once

#include <atomic>

#include "runtime/library_kernel.h"
#include "store/store.h"

namespace penstock::pipeline {

/// Packed weights in a store: the process that packs one writes it, the next one maps it. Where the
/// store cannot be written, every process packs for itself.
class StoredWeights : public runtime::PackedStore {
 public:
  explicit StoredWeights(store::Store& store) : store_(store) {}
  std::shared_ptr<const void> find(std::string_view key, std::size_t bytes) override;
  void keep(std::string_view key, std::string_view bytes) override;

  /// How many were found, and how many were kept.
  std::int64_t found() const { return found_; }
  std::int64_t kept() const { return kept_; }

 private:
  store::Store& store_;
  std::atomic<std::int64_t> found_{0}, kept_{0};
  std::atomic<bool> full_{false};  ///< the store did not take one
};

}  // namespace penstock::pipeline
