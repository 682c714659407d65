#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "runtime/library/onednn.h"

namespace penstock::runtime {

/// A weight that is packed once when its contents are known, else in every run. What is packed of a
/// stored tensor is kept in the store, and found there by the next process.
class Weight {
 public:
  Weight() = default;
  /// `plain` is how it lies in the program, `wanted` how the primitive reads it; equal: no packing,
  /// unless its first `scaled_dims` dims are multiplied by a number for each of their elements.
  Weight(OneDnn& library, dnnl::memory::desc plain, dnnl::memory::desc wanted, int scaled_dims = 0);
  /// Bytes of scratch for runs in which it cannot be kept.
  std::size_t scratch_bytes() const;
  /// Contents: where they are, and their version.
  struct Contents {
    const void* data = nullptr;
    std::uint64_t version = kUnversioned;
    StoredWindow stored = {};
  };
  /// Where the primitive finds `weight`, multiplied by `scale` if that has data. PS0207 when it
  /// must be read and is damaged in its store, PS0803.
  Result<void*> prepare(OneDnn& library, const Contents& weight, const Contents& scale,
                        void* scratch);

 private:
  std::size_t scale_bytes() const;
  void pack(OneDnn& library, const void* weight, const float* scale, void* destination) const;
  std::string layouts() const;
  std::string lasting_key(const StoredWindow& stored, const float* scale) const;
  Result<std::shared_ptr<const void>> packed_copy(OneDnn& library, const Contents& weight,
                                                  const float* scale) const;
  dnnl::memory::desc plain_, wanted_;
  dnnl::reorder reorder_;
  bool same_ = true;
  int scaled_dims_ = 0;
  Contents packed_weight_, packed_scale_;
  std::shared_ptr<const void> packed_;
};

/// The second input of a call. `counts`: whether it may be packed ahead.
inline Weight::Contents weight_contents(const LibraryMemory& memory, bool counts) {
  return {memory.inputs[1], counts ? memory.versions[1] : kUnversioned,
          memory.stored.empty() ? StoredWindow() : memory.stored[1]};
}

}  // namespace penstock::runtime
