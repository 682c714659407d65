#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/library_kernel.h"

// Tensors and calls for tests of library kernels.

namespace penstock::runtime {

using Sizes = std::vector<std::int64_t>;

inline Sizes dense_strides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  std::int64_t next = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    next *= sizes[i];
  }
  return strides;
}

/// A tensor with memory of its own.
struct Tensor {
  Operand operand;
  std::vector<float> memory;

  Tensor(Sizes sizes, Sizes strides) : operand{DType::float32, sizes, strides} {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
    memory.resize(static_cast<std::size_t>(last + 1));
    for (std::size_t i = 0; i < memory.size(); ++i) {
      memory[i] = static_cast<float>((i * 2654435761u % 1000) / 500.0 - 1.0);
    }
  }
  explicit Tensor(const Sizes& sizes) : Tensor(sizes, dense_strides(sizes)) {}
  /// Indices of more dims than there are are cut in front; dims of size 1 repeat.
  float& at(Sizes index) {
    index.erase(index.begin(),
                index.begin() + static_cast<std::ptrdiff_t>(index.size() - operand.sizes.size()));
    std::int64_t place = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      place += (operand.sizes[i] == 1 ? 0 : index[i]) * operand.strides[i];
    }
    return memory[static_cast<std::size_t>(place)];
  }
};

inline void for_each_index(const Sizes& sizes, const std::function<void(const Sizes&)>& visit) {
  Sizes index(sizes.size(), 0);
  while (true) {
    visit(index);
    std::size_t i = sizes.size();
    while (i > 0 && ++index[i - 1] == sizes[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

/// A call's tensors.
struct Given {
  std::vector<Tensor*> inputs;  ///< null: absent
  Tensor* out;
  std::vector<Tensor*> post_ops;
};

/// A kernel that is made.
struct Ready {
  std::unique_ptr<LibraryKernel> kernel;
  StoredWindow weight = {};  ///< what the second input is in a store
  Result<void> ran = {};
  void run(const Given& given, std::uint64_t version = kUnversioned) {
    std::vector<void*> inputs, post_ops;
    for (Tensor* tensor : given.inputs) inputs.push_back(tensor ? tensor->memory.data() : nullptr);
    for (Tensor* tensor : given.post_ops) post_ops.push_back(tensor->memory.data());
    void* outputs[] = {given.out->memory.data()};
    std::vector<std::uint64_t> versions(inputs.size(), version);
    void* scratch = std::aligned_alloc(64, (kernel->scratch_bytes() + 127) / 64 * 64);
    std::vector<StoredWindow> stored(inputs.size());
    if (stored.size() > 1) stored[1] = weight;
    LibraryMemory memory{inputs, outputs, post_ops, versions, scratch, stored};
    ran = kernel->run(memory);
    std::free(scratch);
  }
};

inline std::shared_ptr<Library> open(bool deterministic) {
  auto result = open_library(deterministic);
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  return *result;
}

inline Library& library() {
  static std::shared_ptr<Library> opened = open(false);
  return *opened;
}

inline Ready make(const LibraryCall& call, const Given& given, Library& of = library(),
                  bool varying = false) {
  LibraryOperands operands;
  operands.varying = varying;
  for (Tensor* tensor : given.inputs) {
    operands.inputs.push_back(tensor ? tensor->operand : Operand{});
    operands.present.push_back(tensor != nullptr);
  }
  operands.outputs.push_back(given.out->operand);
  for (Tensor* tensor : given.post_ops) operands.post_ops.push_back(tensor->operand);
  auto kernel = of.make(call, operands);
  REQUIRE_MESSAGE(kernel.has_value(), kernel.error().message);
  return {std::move(*kernel)};
}

/// An element of a matrix product, summed in double.
inline double matmul_element(Tensor& a, Tensor& b, Tensor* bias, const Sizes& index) {
  Sizes ia = index, ib = index;
  std::size_t rank = index.size();
  double sum = bias ? bias->at({index.back()}) : 0;
  for (std::int64_t k = 0; k < a.operand.sizes.back(); ++k) {
    ia[rank - 1] = k;
    ib[rank - 2] = k;
    sum += static_cast<double>(a.at(ia)) * b.at(ib);
  }
  return sum;
}

inline NamedArgument ints(std::string name, std::vector<std::int64_t> values) {
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  for (std::int64_t value : values) list.items.push_back(value);
  return {std::move(name), list};
}

}  // namespace penstock::runtime
