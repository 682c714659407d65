// Kernels of bfloat16 on CPUs for which oneDNN has none (it wants AVX-512): they work in float32,
// on copies.
//
// Operands keep their strides, so that the kernel is chosen as it would be. A copy of a weight
// stays, as long as its contents do; the others are made in every run. Sums are rounded once, when
// the result is stored, as oneDNN's own kernels do.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ir/float_format.h"
#include "ir/strides.h"
#include "runtime/library/onednn.h"
#include "runtime/library/thread_limit.h"

namespace penstock::runtime {

namespace {

std::int64_t span_of(const Operand& operand) {
  return static_cast<std::int64_t>(bytes_of(operand)) / facts(operand.dtype).size;
}

/// An operand of the call and its copy.
struct Widened {
  Operand operand;
  bool is_narrow = false;
  std::int64_t elements = 0;  ///< from the first to behind the last, gaps too

  explicit Widened(const Operand& given)
      : operand(given), is_narrow(given.dtype == DType::bfloat16) {
    if (!is_narrow) return;
    elements = span_of(given);
    operand.dtype = DType::float32;
  }
  std::size_t bytes() const {
    return is_narrow ? (static_cast<std::size_t>(elements) * sizeof(float) + 63) / 64 * 64 : 0;
  }

  void read(const void* from, float* copy) const {
    const auto* narrow_elements = static_cast<const std::uint16_t*>(from);
#pragma omp parallel for if (elements > kShared)
    for (std::int64_t i = 0; i < elements; ++i) copy[i] = float_of_bfloat16(narrow_elements[i]);
  }
  /// Elements only: what lies in gaps belongs to others.
  void write(const float* copy, void* to) const {
    auto* narrow_elements = static_cast<std::uint16_t*>(to);
    const std::size_t rank = operand.sizes.size();
    const std::int64_t columns = rank == 0 ? 1 : operand.sizes.back(),
                       step = rank == 0 ? 1 : operand.strides.back();
    std::int64_t rows = 1;
    const std::span<const std::int64_t> before_last =
        std::span(operand.sizes).first(rank == 0 ? 0 : rank - 1);
    for (const std::int64_t size : before_last) rows *= size;
#pragma omp parallel for if (rows * columns > kShared)
    for (std::int64_t row = 0; row < rows; ++row) {
      std::int64_t place = offset_at(row, before_last, operand.strides);
      for (std::int64_t k = 0; k < columns; ++k, place += step)
        narrow_elements[place] = float_to_bfloat16(copy[place]);
    }
  }

 private:
  static constexpr std::int64_t kShared = 1
                                          << 16;  ///< elements from which on threads share the work
};

/// A weight in float32, and what it was made of.
struct KeptCopy {
  std::unique_ptr<void, decltype(&std::free)> memory{nullptr, std::free};
  const void* data = nullptr;
  std::uint64_t version = kUnversioned;
};

class WidenedKernel : public LibraryKernel {
 public:
  WidenedKernel(const LibraryCall& call, const LibraryOperands& operands)
      : present_(operands.present) {
    for (const Operand& operand : operands.inputs) inputs_.emplace_back(operand);
    for (const Operand& operand : operands.outputs) outputs_.emplace_back(operand);
    for (const Operand& operand : operands.post_ops) post_ops_.emplace_back(operand);
    weights_.resize(inputs_.size());
    is_weight_.resize(inputs_.size());
    for (const std::int32_t position : call.prepack)
      is_weight_[static_cast<std::size_t>(position)] = true;
    sums_ = std::ranges::any_of(call.post_ops,
                                [](const PostOp& op) { return op.kind == PostOp::Kind::sum; });
  }

  LibraryOperands operands() const {
    LibraryOperands wide;
    for (const Widened& one : inputs_) wide.inputs.push_back(one.operand);
    for (const Widened& one : outputs_) wide.outputs.push_back(one.operand);
    for (const Widened& one : post_ops_) wide.post_ops.push_back(one.operand);
    wide.present = present_;
    return wide;
  }
  void set_kernel(std::unique_ptr<LibraryKernel> kernel) {
    kernel_ = std::move(kernel);
    name_ = std::string(kernel_->implementation()) + ", widened";
  }

  std::size_t scratch_bytes() const override {
    std::size_t bytes = (kernel_->scratch_bytes() + 63) / 64 * 64;
    for (const auto* list : {&inputs_, &outputs_, &post_ops_}) {
      for (const Widened& one : *list) bytes += one.bytes();
    }
    return bytes;
  }
  std::string_view implementation() const override { return name_; }
  bool is_alone() const override { return kernel_->is_alone(); }

  Result<void> run(const LibraryMemory& memory) override {
    const ThreadLimit limit(is_alone());
    char* scratch = static_cast<char*>(memory.scratch) + (kernel_->scratch_bytes() + 63) / 64 * 64;
    const auto take = [&scratch](const Widened& one) {
      return reinterpret_cast<float*>(std::exchange(scratch, scratch + one.bytes()));
    };
    LibraryMemory wide = memory;
    std::vector<std::uint64_t> versions(memory.versions.begin(), memory.versions.end());
    std::vector<StoredWindow> stored(memory.stored.begin(), memory.stored.end());
    std::vector<void*> inputs(memory.inputs.begin(), memory.inputs.end());
    std::vector<void*> outputs(memory.outputs.begin(), memory.outputs.end());
    std::vector<void*> post_ops(memory.post_ops.begin(), memory.post_ops.end());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!present_[i] || !inputs_[i].is_narrow) continue;
      if (!stored.empty() && stored[i].tensor != nullptr) {
        if (auto checked = stored[i].tensor->check(); !checked) return checked;
        stored[i] = {};
      }
      if (is_weight_[i] && versions[i] != kUnversioned) {
        auto kept = keep(i, memory.inputs[i], versions[i]);
        if (!kept) return tl::unexpected(kept.error());
        inputs[i] = *kept;
      } else {
        float* copy = take(inputs_[i]);
        inputs_[i].read(memory.inputs[i], copy);
        inputs[i] = copy;
        versions[i] = kUnversioned;  // the next run has other contents there
      }
    }
    for (std::size_t i = 0; i < post_ops_.size(); ++i) {
      if (!post_ops_[i].is_narrow) continue;
      float* copy = take(post_ops_[i]);
      post_ops_[i].read(memory.post_ops[i], copy);
      post_ops[i] = copy;
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs_[i].is_narrow) continue;
      float* copy = take(outputs_[i]);
      if (sums_) outputs_[i].read(memory.outputs[i], copy);
      outputs[i] = copy;
    }
    wide.inputs = inputs;
    wide.outputs = outputs;
    wide.post_ops = post_ops;
    wide.versions = versions;
    wide.stored = stored;
    if (auto ran = kernel_->run(wide); !ran) return ran;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].is_narrow)
        outputs_[i].write(static_cast<float*>(outputs[i]), memory.outputs[i]);
    }
    return {};
  }

 private:
  /// The weight's copy, which is made when its contents are new.
  Result<void*> keep(std::size_t input, const void* data, std::uint64_t version) {
    KeptCopy& kept = weights_[input];
    if (kept.memory == nullptr)
      kept.memory.reset(std::aligned_alloc(64, std::max<std::size_t>(inputs_[input].bytes(), 64)));
    if (kept.memory == nullptr) return failure(Code::PS0803, "no memory for a weight in float32");
    if (kept.data != data || kept.version != version) {
      // The kernel knows contents by where they lie and their version: another tensor must not lie
      // in the same place.
      if (kept.data != nullptr && kept.data != data) {
        KeptCopy other;
        other.memory.reset(
            std::aligned_alloc(64, std::max<std::size_t>(inputs_[input].bytes(), 64)));
        if (other.memory == nullptr)
          return failure(Code::PS0803, "no memory for a weight in float32");
        std::swap(kept, other);
      }
      inputs_[input].read(data, static_cast<float*>(kept.memory.get()));
      kept.data = data;
      kept.version = version;
    }
    return kept.memory.get();
  }

  std::vector<Widened> inputs_, outputs_, post_ops_;
  std::vector<bool> present_, is_weight_;
  std::vector<KeptCopy> weights_;
  bool sums_ = false;
  std::unique_ptr<LibraryKernel> kernel_;
  std::string name_;
};

}  // namespace

bool must_widen(const LibraryOperands& operands) {
  constexpr auto kWanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  static const bool has_kernels =
      (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kWanted) == kWanted;
  if (has_kernels) return false;
  const auto is_narrow = [](const Operand& operand) { return operand.dtype == DType::bfloat16; };
  return std::ranges::any_of(operands.inputs, is_narrow) ||
         std::ranges::any_of(operands.outputs, is_narrow) ||
         std::ranges::any_of(operands.post_ops, is_narrow);
}

Result<std::unique_ptr<LibraryKernel>> make_widened(const LibraryCall& call,
                                                    const LibraryOperands& operands,
                                                    const MakeCall& make) {
  auto widened = std::make_unique<WidenedKernel>(call, operands);
  auto kernel = make(call, widened->operands());
  if (!kernel) return kernel;
  widened->set_kernel(std::move(*kernel));
  return widened;
}

}  // namespace penstock::runtime
