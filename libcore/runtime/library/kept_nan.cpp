// Kernels whose post-ops keep NaN.
//
// ATen's relu, clamp and hardsigmoid of NaN are NaN. oneDNN computes them behind a product with the CPU's
// maximum, which gives the other operand when one of them is NaN: 0 for relu. But the same instruction raises
// "invalid operation" in the thread's MXCSR when an operand is NaN, quiet or not (Intel SDM, MAXPS, SIMD
// floating-point exceptions), and the flag stays raised until someone clears it. So the fused kernel runs as it
// is, for nothing but the clearing and the look at the flag of each thread that it worked in. Where one is
// raised, its result is not taken: the product is computed again without post-ops, and these follow one element
// at a time. A flag that was raised by something else costs that time and changes nothing.
//
// A residual in place (PostOp::Kind::sum) is overwritten by then. Copying it before every call would take as
// long as the sum itself, so the caller runs the whole bundle again with copies; only where it cannot is the
// copy made at once.
#include <omp.h>
#include <xmmintrin.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ir/float_format.h"
#include "runtime/library/onednn.h"

namespace penstock::runtime {

namespace {

/// The flag "invalid operation" of the threads that a kernel works in.
class InvalidOperation {
 public:
  explicit InvalidOperation(bool alone) : threads_(alone || omp_in_parallel() ? 1 : omp_get_max_threads()) {}

  void clear() const {
    if (threads_ == 1) return clear_own();
#pragma omp parallel num_threads(threads_)
    clear_own();
  }
  bool is_raised() const {
    if (threads_ == 1) return own();
    bool raised = false;
#pragma omp parallel num_threads(threads_) reduction(|| : raised)
    raised = own();
    return raised;
  }

 private:
  static void clear_own() { _mm_setcsr(_mm_getcsr() & ~static_cast<unsigned>(_MM_EXCEPT_INVALID)); }
  static bool own() { return (_mm_getcsr() & _MM_EXCEPT_INVALID) != 0; }

  int threads_;
};

/// Elements of an operand as numbers, by an index of the result's rank.
class Elements {
 public:
  Elements(const Operand& operand, void* data, std::size_t rank)
      : dtype_(operand.dtype), data_(static_cast<char*>(data)), strides_(rank, 0) {
    const std::size_t missing = rank - operand.sizes.size();
    for (std::size_t i = missing; i < rank; ++i) {
      strides_[i] = operand.sizes[i - missing] == 1 ? 0 : operand.strides[i - missing];
    }
  }

  std::int64_t place(const std::vector<std::int64_t>& index) const {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < index.size(); ++i) place += index[i] * strides_[i];
    return place;
  }
  std::int64_t step() const { return strides_.back(); }
  double get(std::int64_t place) const {
    if (dtype_ == DType::bfloat16) return from_bfloat16(reinterpret_cast<const std::uint16_t*>(data_)[place]);
    return reinterpret_cast<const float*>(data_)[place];
  }
  void set(std::int64_t place, double value) const {
    if (dtype_ == DType::bfloat16) {
      reinterpret_cast<std::uint16_t*>(data_)[place] = to_bfloat16(value);
    } else {
      reinterpret_cast<float*>(data_)[place] = static_cast<float>(value);
    }
  }

 private:
  DType dtype_;
  char* data_;
  std::vector<std::int64_t> strides_;
};

using Memory = std::unique_ptr<void, decltype(&std::free)>;

Memory allocate(std::size_t bytes) { return {std::aligned_alloc(64, bytes / 64 * 64 + 64), std::free}; }

class NanKeepingKernel : public LibraryKernel {
 public:
  NanKeepingKernel(std::unique_ptr<LibraryKernel> kernel, const LibraryCall& call, const LibraryOperands& operands,
                   MakeKernel make_plain)
      : kernel_(std::move(kernel)), post_ops_(call.post_ops), out_(operands.outputs.front()),
        operands_(operands.post_ops), make_plain_(std::move(make_plain)) {
    for (const PostOp& op : post_ops_) sums_ |= op.kind == PostOp::Kind::sum;
  }

  std::size_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  std::string_view implementation() const override { return kernel_->implementation(); }
  bool is_alone() const override { return kernel_->is_alone(); }

  Result<void> run(const LibraryMemory& memory) override {
    Memory before(nullptr, std::free);
    if (sums_ && memory.start_again == nullptr) {
      before = allocate(bytes_of(out_));
      if (before == nullptr) return failure(Code::PS0803, "no memory for a copy of a residual");
      std::memcpy(before.get(), memory.outputs[0], bytes_of(out_));
    }
    const InvalidOperation invalid(is_alone());
    invalid.clear();
    if (auto ran = kernel_->run(memory); !ran || !invalid.is_raised()) return ran;
    if (sums_ && memory.start_again != nullptr) {
      *memory.start_again = true;
      return {};
    }
    return run_plain(memory, before.get());
  }

 private:
  Result<void> run_plain(LibraryMemory memory, void* before) {
    if (plain_ == nullptr) {
      auto made = make_plain_();
      if (!made) return tl::unexpected(std::move(made.error()));
      plain_ = std::move(*made);
    }
    const Memory scratch = allocate(plain_->scratch_bytes());
    if (scratch == nullptr) return failure(Code::PS0803, "no memory for a product without its post-ops");
    const std::span<void* const> operands = memory.post_ops;
    memory.post_ops = {};
    memory.scratch = scratch.get();
    if (auto ran = plain_->run(memory); !ran) return ran;
    apply_post_ops(memory.outputs[0], operands, before);
    return {};
  }

  void apply_post_ops(void* out, std::span<void* const> operands, void* before) const {
    const std::size_t rank = out_.sizes.size();
    std::vector<Elements> elements;  // the result, what it held, then the operands
    elements.emplace_back(out_, out, rank);
    elements.emplace_back(out_, before, rank);
    for (std::size_t i = 0; i < operands.size(); ++i) elements.emplace_back(operands_[i], operands[i], rank);
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < rank; ++i) rows *= out_.sizes[i];
#pragma omp parallel for
    for (std::int64_t row = 0; row < rows; ++row) apply_to_row(elements, row);
  }

  /// One run of the last dim; `row` counts those of the dims in front of it.
  void apply_to_row(const std::vector<Elements>& elements, std::int64_t row) const {
    std::vector<std::int64_t> index(out_.sizes.size(), 0), places;
    for (std::size_t i = index.size() - 1; i-- > 0;) {
      index[i] = row % out_.sizes[i];
      row /= out_.sizes[i];
    }
    for (const Elements& each : elements) places.push_back(each.place(index));
    for (std::int64_t column = 0; column < out_.sizes.back(); ++column) {
      const double before = sums_ ? elements[1].get(places[1]) : 0;
      double x = elements[0].get(places[0]);
      std::size_t next = 2;
      for (const PostOp& op : post_ops_) {
        const bool binary = op.kind == PostOp::Kind::add || op.kind == PostOp::Kind::mul;
        x = apply(op, x, binary ? elements[next].get(places[next]) : 0, before);
        next += binary;
      }
      elements[0].set(places[0], x);
      for (std::size_t i = 0; i < places.size(); ++i) places[i] += elements[i].step();
    }
  }

  std::unique_ptr<LibraryKernel> kernel_, plain_;
  std::vector<PostOp> post_ops_;
  Operand out_;
  std::vector<Operand> operands_;
  MakeKernel make_plain_;
  bool sums_ = false;
};

}  // namespace

bool loses_nan(const LibraryCall& call) {
  return std::any_of(call.post_ops.begin(), call.post_ops.end(), [](const PostOp& op) {
    return op.kind == PostOp::Kind::relu || op.kind == PostOp::Kind::clamp || op.kind == PostOp::Kind::hardsigmoid;
  });
}

std::unique_ptr<LibraryKernel> keep_nan(std::unique_ptr<LibraryKernel> kernel, const LibraryCall& call,
                                        const LibraryOperands& operands, MakeKernel make_plain) {
  return std::make_unique<NanKeepingKernel>(std::move(kernel), call, operands, std::move(make_plain));
}

}  // namespace penstock::runtime
