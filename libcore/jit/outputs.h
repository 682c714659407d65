#pragma once

#include <vector>

#include "ir/interface.h"
#include "jit/executor.h"
#include "jit/output_pool.h"
#include "jit/size_program.h"
#include "python/tensor_bridge.h"

namespace penstock::jit {

/// Makes the output tensors of an entry's calls: new ones over recycled memory, and views of inputs
/// or of other outputs through torch.as_strided.
class OutputMaker {
 public:
  /// Fails when an output is not a tensor that can stand in our memory (not on the CPU).
  static Result<OutputMaker> compile(const Interface& interface);

  /// Makes tensors for the outputs that alias nothing, memory and all. False with a Python error
  /// set.
  bool allocate(const python::TensorBridge& bridge, OutputPool& pool, const std::int64_t* symbols,
                std::span<python::PyRef> outputs, std::span<void*> memory) const;
  /// Makes the outputs that are views, when the graph has run. False with a Python error set.
  bool make_views(std::span<const InputValue> inputs, const std::int64_t* symbols,
                  std::span<python::PyRef> outputs) const;

  std::size_t size() const { return outputs_.size(); }
  bool has_views() const { return has_views_; }

 private:
  struct Facts {
    OutputAlias alias;
    std::int32_t dtype = 0;
    std::int64_t element = 4;
    bool fixed = false;             // sizes, strides and bytes are the numbers below
    std::vector<SizeProgram> sizes, strides;
    SizeProgram offset;
    std::vector<std::int64_t> fixed_sizes, fixed_strides;
    std::int64_t fixed_bytes = 0;
  };
  std::vector<Facts> outputs_;
  bool has_views_ = false;
};

}  // namespace penstock::jit
