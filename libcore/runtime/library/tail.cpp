// Kernels of which some post-ops are computed behind them, in a pass of their own: those from the
// first on that the library would get wrong. Before them its kernels may have others fused.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/library/onednn.h"
#include "runtime/library/post_op_rows.h"
#include "runtime/library/thread_limit.h"

namespace penstock::runtime {

namespace {

bool takes_operand(const PostOp& op) {
  return op.kind == PostOp::Kind::add || op.kind == PostOp::Kind::mul;
}

/// The first `count` post-ops of the call alone.
LibraryCall head_of(const LibraryCall& call, std::size_t count) {
  LibraryCall head = call;
  head.post_ops.resize(count, PostOp{PostOp::Kind::relu});
  return head;
}

std::size_t operands_of(std::span<const PostOp> ops) {
  return static_cast<std::size_t>(std::ranges::count_if(ops, takes_operand));
}

class TailedKernel : public LibraryKernel {
 public:
  TailedKernel(std::unique_ptr<LibraryKernel> kernel, const LibraryCall& call,
               const LibraryOperands& operands, std::size_t fused)
      : kernel_(std::move(kernel)),
        fused_operands_(operands_of(std::span(call.post_ops).first(fused))),
        out_bytes_(bytes_of(operands.outputs.front())),
        tail_({call.post_ops.begin() + static_cast<std::ptrdiff_t>(fused), call.post_ops.end()},
              operands.outputs.front(),
              {operands.post_ops.begin() + static_cast<std::ptrdiff_t>(fused_operands_),
               operands.post_ops.end()}) {}

  std::size_t scratch_bytes() const override {
    return own_bytes() + (tail_.sums() ? out_bytes_ : 0);
  }
  std::string_view implementation() const override { return kernel_->implementation(); }
  bool is_alone() const override { return kernel_->is_alone(); }

  Result<void> run(const LibraryMemory& memory) override {
    char* before = tail_.sums() ? static_cast<char*>(memory.scratch) + own_bytes() : nullptr;
    if (before != nullptr) std::memcpy(before, memory.outputs[0], out_bytes_);
    LibraryMemory head = memory;
    head.post_ops = memory.post_ops.first(fused_operands_);
    if (auto ran = kernel_->run(head); !ran) return ran;
    const ThreadLimit limit(is_alone());
    tail_.run(memory.outputs[0], memory.post_ops.subspan(fused_operands_), before);
    return {};
  }

 private:
  std::size_t own_bytes() const { return (kernel_->scratch_bytes() + 63) / 64 * 64; }

  std::unique_ptr<LibraryKernel> kernel_;
  std::size_t fused_operands_, out_bytes_;
  PostOpRows tail_;
};

/// What the library makes of a post-op: algorithms and their numbers.
struct Elementwise {
  int algorithm;
  double alpha, beta;
};
std::vector<Elementwise> elementwise_of(const PostOp& op) {
  enum { kLinear, kClip };
  switch (op.kind) {
    case PostOp::Kind::scale:
      return {{kLinear, op.alpha, 0}};
    case PostOp::Kind::clamp:
      return {{kClip, op.alpha, op.beta}};
    case PostOp::Kind::hardsigmoid:
      return {{kLinear, 1.0 / 6, 0.5}, {kClip, 0, 1}};
    default:
      return {};
  }
}

/// How many post-ops from the first on may be fused. The library's generated code has one table of
/// constants for each algorithm: two of a kind with other numbers get the same. Code for any size
/// takes no operands in them.
std::size_t fusable_post_ops(const LibraryCall& call, const LibraryOperands& operands) {
  if (call.name == "matmul" && operands.inputs.front().sizes.back() == 0)
    return 0;  // a sum over nothing
  std::vector<Elementwise> before;
  for (std::size_t i = 0; i < call.post_ops.size(); ++i) {
    if (operands.varying && takes_operand(call.post_ops[i])) return i;
    for (const Elementwise& one : elementwise_of(call.post_ops[i])) {
      const bool other_numbers = std::ranges::any_of(before, [&](const Elementwise& earlier) {
        return earlier.algorithm == one.algorithm &&
               (earlier.alpha != one.alpha || earlier.beta != one.beta);
      });
      if (other_numbers) return i;
      before.push_back(one);
    }
  }
  return call.post_ops.size();
}

/// Convolutions by way of a product lose the places of operands.
bool misplaces_operands(const LibraryKernel& kernel, const LibraryCall& call) {
  const bool operand = std::ranges::any_of(call.post_ops, takes_operand);
  return operand && call.name == "convolution" &&
         kernel.implementation().find("gemm") != std::string_view::npos;
}

bool is_reference(const LibraryKernel& kernel) {
  return kernel.implementation().find("ref") != std::string_view::npos;
}

using MakeHead = std::function<Result<std::unique_ptr<LibraryKernel>>(std::size_t)>;

/// A kernel whose code is made when it runs first: where it then turns out to be too long, the
/// post-ops, which make it so, are computed behind it.
class ReplaceableKernel : public LibraryKernel {
 public:
  ReplaceableKernel(std::unique_ptr<LibraryKernel> kernel, MakeHead make)
      : kernel_(std::move(kernel)), make_(std::move(make)) {}

  std::size_t scratch_bytes() const override { return replaced_ ? 0 : kernel_->scratch_bytes(); }
  std::string_view implementation() const override { return kernel_->implementation(); }
  bool is_alone() const override { return kernel_->is_alone(); }

  Result<void> run(const LibraryMemory& memory) override {
    if (!replaced_) {
      auto ran = kernel_->run(memory);
      if (ran || ran.error().code != Code::PS0708) return ran;
      auto other = make_(0);
      if (!other) return ran;
      kernel_ = std::move(*other);
      replaced_ = true;
    }
    // The caller's scratch is that of the first kernel.
    const std::unique_ptr<void, decltype(&std::free)> scratch(
        std::aligned_alloc(64, kernel_->scratch_bytes() / 64 * 64 + 64), std::free);
    if (scratch == nullptr)
      return failure(Code::PS0803, "no memory for a product without its post-ops");
    LibraryMemory own = memory;
    own.scratch = scratch.get();
    return kernel_->run(own);
  }

 private:
  std::unique_ptr<LibraryKernel> kernel_;
  MakeHead make_;
  bool replaced_ = false;
};

}  // namespace

Result<std::unique_ptr<LibraryKernel>> make_tailed(const LibraryCall& call,
                                                   const LibraryOperands& operands,
                                                   const MakeCall& make) {
  // With the first so many post-ops fused.
  const MakeHead make_with = [call, operands,
                              make](std::size_t fused) -> Result<std::unique_ptr<LibraryKernel>> {
    LibraryOperands own = operands;
    own.post_ops.resize(operands_of(std::span(call.post_ops).first(fused)));
    const LibraryCall head = head_of(call, fused);
    auto kernel = make(head, own);
    if (!kernel || fused == call.post_ops.size()) return kernel;
    return std::make_unique<TailedKernel>(std::move(*kernel), call, operands, fused);
  };
  std::size_t fused = fusable_post_ops(call, operands);
  auto kernel = make_with(fused);
  if (!kernel || call.post_ops.empty()) return kernel;
  // Fewer of them, if that spares what is wrong, or a thousand times slower.
  const auto is_late = [](const PostOp& op) {
    return takes_operand(op) || op.kind == PostOp::Kind::sum;
  };
  const auto late = std::ranges::find_if(call.post_ops.begin() +
                                             std::min<std::ptrdiff_t>(1, std::ssize(call.post_ops)),
                                         call.post_ops.end(), is_late) -
                    call.post_ops.begin();
  for (const std::size_t fewer : {static_cast<std::size_t>(late), std::size_t{0}}) {
    const bool wrong = misplaces_operands(**kernel, head_of(call, fused));
    if (fewer >= fused || !(wrong || is_reference(**kernel))) continue;
    auto other = make_with(fewer);
    if (!other) return other;
    if (!wrong && is_reference(**other)) continue;
    fused = fewer;
    kernel = std::move(other);
  }
  return std::make_unique<ReplaceableKernel>(std::move(*kernel), make_with);
}

}  // namespace penstock::runtime
