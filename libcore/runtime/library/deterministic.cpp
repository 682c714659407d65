// Kernels whose results have the same bits for any number of threads.
//
// oneDNN chooses how it cuts a sum into blocks by the number of threads, and other blocks round
// otherwise. Which kernels do so for which sizes is written nowhere. But the order of a kernel's
// additions depends on sizes alone and not on what is added, so one run tells: a kernel made for
// all threads is taken if it gives, on arbitrary numbers, the bits of the one made for a single
// thread; else that one is.
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "runtime/library/onednn.h"
#include "runtime/library/thread_limit.h"

namespace penstock::runtime {

namespace {

/// Made and run in one thread.
class AloneKernel : public LibraryKernel {
 public:
  explicit AloneKernel(std::unique_ptr<LibraryKernel> kernel)
      : kernel_(std::move(kernel)),
        name_(std::string(kernel_->implementation()) + ", one thread") {}

  std::size_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  std::string_view implementation() const override { return name_; }
  bool is_alone() const override { return true; }
  Result<void> run(const LibraryMemory& memory) override {
    const ThreadLimit limit(true);
    return kernel_->run(memory);
  }

 private:
  std::unique_ptr<LibraryKernel> kernel_;
  std::string name_;
};

/// A number of [-1, 1) that stands for its index: arbitrary, the same every time, and cheap for
/// millions.
float arbitrary(std::uint32_t index) {
  std::uint32_t bits = index * 0x9E3779B9U;
  bits = (bits ^ bits >> 16) * 0x85EBCA6BU;
  bits = (bits ^ bits >> 13) * 0xC2B2AE35U;
  return static_cast<float>(static_cast<std::int32_t>(bits ^ bits >> 16)) * 0x1p-31F;
}

/// Memory for operands, filled with the same numbers every time.
class Trial {
 public:
  explicit Trial(const LibraryOperands& operands) {
    for (std::size_t i = 0; i < operands.inputs.size(); ++i) {
      inputs_.push_back(operands.present[i] ? add(operands.inputs[i]) : nullptr);
    }
    for (const Operand& operand : operands.outputs) outputs_.push_back(add(operand));
    for (const Operand& operand : operands.post_ops) post_ops_.push_back(add(operand));
  }

  Result<void> run(LibraryKernel& kernel) {
    const std::vector<std::uint64_t> versions(inputs_.size(), kUnversioned);
    const std::shared_ptr<void> scratch(
        std::aligned_alloc(64, kernel.scratch_bytes() / 64 * 64 + 64), std::free);
    return kernel.run({inputs_, outputs_, post_ops_, versions, scratch.get()});
  }
  bool same_outputs(const Trial& other) const {
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      if (std::memcmp(memories_[i].get(), other.memories_[i].get(), sizes_[i]) != 0) return false;
    }
    return true;
  }

 private:
  void* add(const Operand& operand) {
    const std::size_t bytes = bytes_of(operand);
    std::shared_ptr<void> memory(std::aligned_alloc(64, bytes / 64 * 64 + 64), std::free);
    const std::size_t count = bytes / static_cast<std::size_t>(facts(operand.dtype).size);
    for (std::size_t i = 0; i < count; ++i) {
      const float number = arbitrary(filled_ + static_cast<std::uint32_t>(i));
      if (operand.dtype == DType::bfloat16) {
        static_cast<std::uint16_t*>(memory.get())[i] =
            static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16);
      } else if (operand.dtype == DType::float64) {
        static_cast<double*>(memory.get())[i] = number;
      } else {
        static_cast<float*>(memory.get())[i] = number;
      }
    }
    filled_ += static_cast<std::uint32_t>(count);
    memories_.push_back(memory);
    sizes_.push_back(bytes);
    return memory.get();
  }

  std::uint32_t filled_ = 0;
  std::vector<std::shared_ptr<void>> memories_;
  std::vector<std::size_t> sizes_;
  std::vector<void*> inputs_, outputs_, post_ops_;
};

}  // namespace

Result<std::unique_ptr<LibraryKernel>> make_deterministic(const LibraryOperands& operands,
                                                          const MakeKernel& make) {
  auto parallel = make();
  if (!parallel) return parallel;
  Result<std::unique_ptr<LibraryKernel>> alone;
  Trial one(operands), all(operands);
  {
    const ThreadLimit limit(true);
    alone = make();
    if (!alone) return alone;
    if (auto ran = one.run(**alone); !ran) return tl::unexpected(std::move(ran.error()));
  }
  if (auto ran = all.run(**parallel); !ran) return tl::unexpected(std::move(ran.error()));
  if (one.same_outputs(all)) return parallel;
  return std::make_unique<AloneKernel>(std::move(*alone));
}

}  // namespace penstock::runtime
