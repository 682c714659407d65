// Kernels of operands that oneDNN cannot read where they lie: these work on copies.
//
// oneDNN's descriptions of memory know strides of which each steps over all that the smaller ones
// reach: no repeated, reversed or overlapping elements. And its generated kernels look at fewer
// strides than they are given. They read a bias as if it were dense, and the operand of a binary
// post-op as one number, as one number for each channel side by side, or as if it lay as the result
// does; for what broadcasts otherwise there are only reference kernels, hundreds of times slower.
// So what is none of these becomes one of them here. (That a whole operand lies as the result is
// written is up to the kernels, who know how they write it.)
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "ir/strides.h"
#include "runtime/library/onednn.h"
#include "runtime/library/operand_layouts.h"
#include "runtime/library/thread_limit.h"

namespace penstock::runtime {

namespace {

/// Dims of more than one element, the one with the smallest stride first.
std::vector<std::size_t> dims_by_stride(const Operand& operand) {
  std::vector<std::size_t> dims;
  for (std::size_t i = 0; i < operand.sizes.size(); ++i) {
    if (operand.sizes[i] != 1) dims.push_back(i);
  }
  std::ranges::stable_sort(dims, {}, [&](std::size_t dim) { return operand.strides[dim]; });
  return dims;
}

/// Whether oneDNN has a description for it.
bool is_describable(const Operand& operand) {
  std::int64_t reach = 1;
  for (const std::size_t dim : dims_by_stride(operand)) {
    if (operand.strides[dim] < reach) return false;
    reach = operand.strides[dim] * std::max<std::int64_t>(operand.sizes[dim], 1);
  }
  return true;
}

/// Dims of one element get a stride that fits the others: what stands there may be anything.
Operand with_sensible_strides(Operand operand) {
  std::int64_t next = 1;
  for (std::size_t i = operand.sizes.size(); i-- > 0;) {
    if (operand.sizes[i] == 1) operand.strides[i] = next;
    next = std::max(next, operand.strides[i] * operand.sizes[i]);
  }
  return operand;
}

/// How a kernel reads an input of a call.
Operand readable_input(const LibraryCall& call, std::size_t position, const Operand& given) {
  if (position > 1) return dense(given);  // a bias, or factors of channels
  if (is_describable(given)) return with_sensible_strides(given);
  return call.name == "matmul" || position == 1 ? dense(given) : channels_last(given);
}

/// How a kernel reads the operand of a post-op: in the result's rank.
Operand readable_addend(const LibraryCall& call, const Operand& given, const Operand& out) {
  const std::size_t rank = out.sizes.size(), channels = call.name == "convolution" ? 1 : rank - 1;
  Operand operand = aligned(given, rank);
  bool whole = true, one_per_channel = true;
  for (std::size_t i = 0; i < rank; ++i) {
    if (operand.strides[i] == 0) operand.sizes[i] = 1;
    whole = whole && operand.sizes[i] == out.sizes[i];
    one_per_channel = one_per_channel && (operand.sizes[i] == 1 || i == channels);
  }
  if (one_per_channel) return dense(operand);
  if (whole && is_describable(operand)) return with_sensible_strides(operand);
  operand.sizes = out.sizes;
  operand.strides = out.strides;
  return is_describable(operand) ? with_sensible_strides(operand) : dense(operand);
}

template <class Element>
void copy(const Operand& from, const void* source, const Operand& to, void* target) {
  // Row by row along the dim that is densest in the copy; `from` repeats what it has one element
  // of.
  const std::size_t rank = to.sizes.size();
  std::vector<std::size_t> order = dims_by_stride(to);
  if (order.empty()) {
    std::memcpy(target, source, sizeof(Element));
    return;
  }
  std::ranges::reverse(order);
  std::vector<std::int64_t> sizes, read, written;
  const std::size_t missing = rank - from.sizes.size();
  for (const std::size_t dim : order) {
    sizes.push_back(to.sizes[dim]);
    const bool repeats = dim < missing || from.sizes[dim - missing] == 1;
    read.push_back(repeats ? 0 : from.strides[dim - missing]);
    written.push_back(to.strides[dim]);
  }
  const std::int64_t count = sizes.back(), step = read.back(), stride = written.back();
  sizes.pop_back();
  const std::int64_t rows =
      std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
#pragma omp parallel for if (static_cast <double>(rows * count) > kAlone)
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto* in = static_cast<const Element*>(source) + offset_at(row, sizes, read);
    auto* out = static_cast<Element*>(target) + offset_at(row, sizes, written);
    for (std::int64_t i = 0; i < count; ++i) out[i * stride] = in[i * step];
  }
}

/// An operand of the call, and how the kernel reads it.
struct Copied {
  Operand given, read;
  bool is_copy = false;

  Copied(const Operand& operand, const Operand& wanted) : given(operand), read(wanted) {
    const Operand same_rank = aligned(given, read.sizes.size());
    for (std::size_t i = 0; i < read.sizes.size(); ++i) {
      const bool repeats = same_rank.sizes[i] != read.sizes[i] && read.sizes[i] != 1;
      is_copy =
          is_copy || repeats || (read.sizes[i] != 1 && same_rank.strides[i] != read.strides[i]);
    }
  }
  std::size_t bytes() const { return is_copy ? (bytes_of(read) + 63) / 64 * 64 : 0; }
};

/// The operands as oneDNN's kernels can read them; where one differs from what is given, it has to
/// be a copy.
LibraryOperands readable_operands(const LibraryCall& call, const LibraryOperands& operands) {
  LibraryOperands read = operands;
  for (std::size_t i = 0; i < read.inputs.size(); ++i) {
    if (read.present[i]) read.inputs[i] = readable_input(call, i, read.inputs[i]);
  }
  for (Operand& operand : read.outputs) operand = with_sensible_strides(operand);
  for (Operand& operand : read.post_ops)
    operand = readable_addend(call, operand, read.outputs.front());
  return read;
}

class CopyingKernel : public LibraryKernel {
 public:
  CopyingKernel(const LibraryCall& call, const LibraryOperands& operands)
      : present_(operands.present) {
    const LibraryOperands read = readable_operands(call, operands);
    for (std::size_t i = 0; i < read.inputs.size(); ++i)
      inputs_.emplace_back(operands.inputs[i], read.inputs[i]);
    for (std::size_t i = 0; i < read.post_ops.size(); ++i)
      post_ops_.emplace_back(operands.post_ops[i], read.post_ops[i]);
  }
  void set_kernel(std::unique_ptr<LibraryKernel> kernel) { kernel_ = std::move(kernel); }
  bool copies() const {
    const auto is_copy = [](const Copied& one) { return one.is_copy; };
    return std::ranges::any_of(inputs_, is_copy) || std::ranges::any_of(post_ops_, is_copy);
  }

  std::size_t scratch_bytes() const override {
    std::size_t bytes = own_bytes();
    for (const auto* list : {&inputs_, &post_ops_}) {
      for (const Copied& one : *list) bytes += one.bytes();
    }
    return bytes;
  }
  std::string_view implementation() const override { return kernel_->implementation(); }
  bool is_alone() const override { return kernel_->is_alone(); }

  Result<void> run(const LibraryMemory& memory) override {
    const ThreadLimit limit(is_alone());
    char* scratch = static_cast<char*>(memory.scratch) + own_bytes();
    const auto copy_of = [&scratch](const Copied& one, void* given) -> void* {
      char* copy = std::exchange(scratch, scratch + one.bytes());
      copy_elements(one.given, given, one.read, copy);
      return copy;
    };
    LibraryMemory read = memory;
    std::vector<std::uint64_t> versions(memory.versions.begin(), memory.versions.end());
    std::vector<StoredWindow> stored(memory.stored.begin(), memory.stored.end());
    std::vector<void*> inputs(memory.inputs.begin(), memory.inputs.end());
    std::vector<void*> post_ops(memory.post_ops.begin(), memory.post_ops.end());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!present_[i] || !inputs_[i].is_copy) continue;
      if (!stored.empty() && stored[i].tensor != nullptr) {
        if (auto checked = stored[i].tensor->check(); !checked) return checked;
        stored[i] = {};
      }
      inputs[i] = copy_of(inputs_[i], inputs[i]);
      versions[i] = kUnversioned;  // the next run has other contents there
    }
    for (std::size_t i = 0; i < post_ops_.size(); ++i) {
      if (post_ops_[i].is_copy) post_ops[i] = copy_of(post_ops_[i], post_ops[i]);
    }
    read.inputs = inputs;
    read.post_ops = post_ops;
    read.versions = versions;
    read.stored = stored;
    return kernel_->run(read);
  }

 private:
  std::size_t own_bytes() const { return (kernel_->scratch_bytes() + 63) / 64 * 64; }

  std::vector<Copied> inputs_, post_ops_;
  std::vector<bool> present_;
  std::unique_ptr<LibraryKernel> kernel_;
};

}  // namespace

void copy_elements(const Operand& from, const void* source, const Operand& to, void* target) {
  if (facts(to.dtype).size == 2)
    copy<std::uint16_t>(from, source, to, target);
  else
    copy<std::uint32_t>(from, source, to, target);
}

Result<std::unique_ptr<LibraryKernel>> make_readable(const LibraryCall& call,
                                                     const LibraryOperands& operands,
                                                     const MakeCall& make) {
  auto kernel = make(call, readable_operands(call, operands));
  auto copying = std::make_unique<CopyingKernel>(call, operands);
  if (!kernel || !copying->copies()) return kernel;
  copying->set_kernel(std::move(*kernel));
  return copying;
}

}  // namespace penstock::runtime
