#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "python/object.h"
#include "torch/memory_escapes.h"
#include "torch/tensor_bridge.h"

namespace penstock::jit {

/// Numbers that stand for what a tensor holds, for memory that is prepared of it: as long as a
/// number is the same, so are the elements, and no two tensors share one, though one may come to
/// lie where another was. The elements of small tensors of the host are looked at, against a copy
/// or by their hash: torch itself writes statistics of batch normalisation without counting. Those
/// of others follow the tensor object, its address and version and the ways by which the program
/// got at its memory.
class ContentVersions {
 public:
  /// What is remembered of one tensor.
  struct Record {
    PyObject* tensor = nullptr;  ///< compared only
    python::PyRef weak;
    const void* data = nullptr;
    std::uint32_t counted = 0;    ///< torch's version
    std::uint64_t escaped = 0;    ///< MemoryEscapes::count()
    bool open = false;            ///< what escaped was there when last asked
    std::vector<std::byte> copy;  ///< of the smallest: their elements
    std::uint64_t version = 0;
  };

  /// What one who asks again and again keeps of a tensor.
  struct Known {
    std::shared_ptr<Record> record;
    const void* data = nullptr;
    std::vector<std::byte> copy;  ///< of the smallest: their elements when last asked for
    /// For one that is the same tensor, where it was: its elements are those of the last number.
    /// False where it has to be asked for again.
    bool holds() const { return !copy.empty() && std::memcmp(data, copy.data(), copy.size()) == 0; }
  };

  /// The number, or runtime::kUnversioned if the elements may change without notice. `known` is
  /// what is kept of the call before, if there was one.
  std::uint64_t of(const torch::TensorBridge& bridge, PyObject* tensor,
                   const torch::TensorView& view, Known& known);

 private:
  std::uint64_t of_small(PyObject* tensor, const void* data, std::size_t bytes, Known& known);
  std::uint64_t of_elements(Record& record, const void* data, std::size_t bytes);
  std::shared_ptr<Record> find(PyObject* tensor);

  torch::MemoryEscapes& escapes_ = torch::MemoryEscapes::get();
  std::unordered_map<PyObject*, std::shared_ptr<Record>> records_;
  std::size_t prune_at_ = 1024;  ///< records of tensors that are gone are dropped at that size
  std::uint64_t last_ = 0;
};

}  // namespace penstock::jit
