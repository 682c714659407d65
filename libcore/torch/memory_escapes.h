#pragma once

#include <Python.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "python/object.h"
#include "torch/tensor_bridge.h"

namespace penstock::torch {

/// Notes the ways by which a program gets at a tensor's memory so that its writes are not counted
/// in the tensor's version: `.data`, whose tensor counts on its own, `.numpy()`, and what does not
/// count its writes: the kernels of fused optimizers, batch normalisation its statistics, a graph
/// of a GPU that is launched. Needs the GIL.
class MemoryEscapes {
 public:
  /// The one of the process, as torch is.
  static MemoryEscapes& get();

  /// Wraps torch's getters; once, as early as torch is there.
  void watch(const TensorBridge& bridge);

  /// Grows with every escape of that storage and is never the same for two; 0: none was seen.
  std::uint64_t count(const void* storage) const;
  /// True while what escaped may still be there: the memory may change without notice.
  bool is_open(const void* storage);

  /// `lent`: what was given away keeps the tensor object alive, not the storage's count.
  void note(PyObject* tensor, bool lent);
  /// The same for a list of tensors; nothing for what is none.
  void note_list(PyObject* list);
  /// All memory that there is may have been written.
  void note_all();
  /// This thread's next call of a fused optimizer's kernel is counted by whoever makes it.
  static void expect_counted_write();

 private:
  struct Escape {
    std::uint64_t count = 0;
    std::vector<python::PyRef> lenders;  ///< weak references
  };

  const TensorBridge* bridge_ = nullptr;
  python::PyRef use_count_;  ///< torch._C._storage_Use_Count
  std::unordered_map<const void*, Escape> escapes_;
  std::uint64_t last_ = 0;
  std::uint64_t of_all_ = 0;  ///< the last escape of all memory
};

}  // namespace penstock::torch
