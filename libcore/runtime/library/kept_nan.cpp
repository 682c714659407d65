// Kernels whose post-ops keep NaN.
//
// ATen's relu, clamp and hardsigmoid of NaN are NaN. oneDNN computes them behind a product with the
// CPU's maximum, which gives the other operand when one of them is NaN: 0 for relu. But the same
// instruction raises "invalid operation" in the thread's MXCSR when an operand is NaN, quiet or not
// (Intel SDM, MAXPS, SIMD floating-point exceptions), and the flag stays raised until someone
// clears it. So the fused kernel runs as it is, for nothing but the clearing and the look at the
// flag of each thread that it worked in. Where one is raised, its result is not taken: the product
// is computed again without post-ops, and these follow one element at a time. A flag that was
// raised by something else costs that time and changes nothing.
//
// A residual in place (PostOp::Kind::sum) is overwritten by then. Copying it before every call
// would take as long as the sum itself, so the caller runs the whole bundle again with copies; only
// where it cannot is the copy made at once.
#include <omp.h>
#include <xmmintrin.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/library/onednn.h"
#include "runtime/library/post_op_rows.h"

namespace penstock::runtime {

namespace {

/// The flag "invalid operation" of the threads that a kernel works in.
class InvalidOperation {
 public:
  explicit InvalidOperation(bool alone)
      : threads_(alone || omp_in_parallel() ? 1 : omp_get_max_threads()) {}

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
  static void clear_own() {
    _mm_setcsr(_mm_getcsr() & ~static_cast<unsigned>(_MM_EXCEPT_INVALID));
  }
  static bool own() {
    return (_mm_getcsr() & _MM_EXCEPT_INVALID) != 0;
  }

  int threads_;
};

using Memory = std::unique_ptr<void, decltype(&std::free)>;

Memory allocate(std::size_t bytes) {
  return {std::aligned_alloc(64, bytes / 64 * 64 + 64), std::free};
}

class NanKeepingKernel : public LibraryKernel {
 public:
  NanKeepingKernel(std::unique_ptr<LibraryKernel> kernel, const LibraryCall& call,
                   const LibraryOperands& operands, MakeKernel make_plain)
      : kernel_(std::move(kernel)),
        out_bytes_(bytes_of(operands.outputs.front())),
        post_ops_(call.post_ops, operands.outputs.front(), operands.post_ops),
        make_plain_(std::move(make_plain)) {}

  std::size_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  std::string_view implementation() const override { return kernel_->implementation(); }
  bool is_alone() const override { return kernel_->is_alone(); }

  Result<void> run(const LibraryMemory& memory) override {
    Memory before(nullptr, std::free);
    if (post_ops_.sums() && memory.start_again == nullptr) {
      before = allocate(out_bytes_);
      if (before == nullptr) return failure(Code::PS0803, "no memory for a copy of a residual");
      std::memcpy(before.get(), memory.outputs[0], out_bytes_);
    }
    const InvalidOperation invalid(is_alone());
    invalid.clear();
    if (auto ran = kernel_->run(memory); !ran || !invalid.is_raised()) return ran;
    if (post_ops_.sums() && memory.start_again != nullptr) {
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
    if (scratch == nullptr)
      return failure(Code::PS0803, "no memory for a product without its post-ops");
    const std::span<void* const> operands = memory.post_ops;
    memory.post_ops = {};
    memory.scratch = scratch.get();
    if (auto ran = plain_->run(memory); !ran) return ran;
    post_ops_.run(memory.outputs[0], operands, before);
    return {};
  }

  std::unique_ptr<LibraryKernel> kernel_, plain_;
  std::size_t out_bytes_;
  PostOpRows post_ops_;
  MakeKernel make_plain_;
};

}  // namespace

bool loses_nan(const LibraryCall& call) {
  return std::any_of(call.post_ops.begin(), call.post_ops.end(), [](const PostOp& op) {
    return op.kind == PostOp::Kind::relu || op.kind == PostOp::Kind::clamp ||
           op.kind == PostOp::Kind::hardsigmoid;
  });
}

std::unique_ptr<LibraryKernel> keep_nan(std::unique_ptr<LibraryKernel> kernel,
                                        const LibraryCall& call, const LibraryOperands& operands,
                                        MakeKernel make_plain) {
  return std::make_unique<NanKeepingKernel>(std::move(kernel), call, operands,
                                            std::move(make_plain));
}

}  // namespace penstock::runtime
