// Products whose sizes change from call to call: text that grows by a token, batches of any length.
// oneDNN's best kernels are generated for sizes, which takes a tenth of a millisecond: a hundred
// times what a small product takes. Others are told the sizes when they run, and are slower by a
// third or so. So the first calls go to one of those, and a kernel for the sizes is generated once
// they have come back so often that it would have paid.
#include <cstdlib>

#include "runtime/library/onednn.h"

namespace penstock::runtime {

namespace {

/// What is lost in so many operations is what generating a kernel takes, about.
constexpr double kWorkPerKernel = 16 << 20;

double operations(const LibraryOperands& operands) {
  double count = 2 * static_cast<double>(operands.inputs.front().sizes.back());
  for (const std::int64_t size : operands.outputs.front().sizes) count *= static_cast<double>(size);
  return count;
}

class VaryingKernel : public LibraryKernel {
 public:
  VaryingKernel(std::unique_ptr<LibraryKernel> any_size, double operations, MakeKernel make)
      : kernel_(std::move(any_size)),
        scratch_bytes_(kernel_->scratch_bytes()),
        operations_(operations),
        make_(std::move(make)) {}

  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  std::string_view implementation() const override { return kernel_->implementation(); }
  bool is_alone() const override { return kernel_->is_alone(); }

  Result<void> run(const LibraryMemory& memory) override {
    work_ += operations_;
    if (make_ != nullptr && work_ >= kWorkPerKernel) {
      auto own = std::exchange(make_, nullptr)();
      if (own) replace_by(std::move(*own));
    }
    LibraryMemory given = memory;
    if (scratch_ != nullptr) given.scratch = scratch_.get();
    return kernel_->run(given);
  }

 private:
  /// The caller's scratch is that of the first kernel.
  void replace_by(std::unique_ptr<LibraryKernel> own) {
    Scratch scratch(std::aligned_alloc(64, own->scratch_bytes() / 64 * 64 + 64), std::free);
    if (scratch == nullptr) return;
    kernel_ = std::move(own);
    scratch_ = std::move(scratch);
  }

  using Scratch = std::unique_ptr<void, decltype(&std::free)>;
  std::unique_ptr<LibraryKernel> kernel_;
  std::size_t scratch_bytes_;
  double operations_, work_ = 0;
  MakeKernel make_;  ///< empty once it was asked
  Scratch scratch_{nullptr, std::free};
};

}  // namespace

Result<std::unique_ptr<LibraryKernel>> make_varying(const LibraryCall& call,
                                                    const LibraryOperands& operands,
                                                    const MakeCall& make_any_size,
                                                    const MakeCall& make) {
  LibraryOperands fixed = operands;
  fixed.varying = false;
  const auto make_fixed = [call, fixed, make] { return make(call, fixed); };
  const double work = operations(operands);
  if (work >= kWorkPerKernel) return make_fixed();
  try {
    auto kernel = make_any_size(call, operands);
    const bool fast = kernel && (*kernel)->implementation().find("ref") == std::string_view::npos;
    if (fast) return std::make_unique<VaryingKernel>(std::move(*kernel), work, make_fixed);
  } catch (const dnnl::error&) {  // there is none for any size
  }
  return make_fixed();
}

}  // namespace penstock::runtime
