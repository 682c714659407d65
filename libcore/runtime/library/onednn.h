#pragma once

#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/library/onednn_versions.h"
#include "runtime/library/packed_weights.h"
#include "runtime/library_kernel.h"

namespace penstock::runtime {

/// What kernels of the library share.
struct OneDnn {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  PackedWeights packed;
  std::shared_ptr<PackedStore> store;  ///< may be null
  bool deterministic = false;          ///< the same bits for any number of threads
};

/// One argument of a primitive whose memory is given at every run, or stays.
class Arguments {
 public:
  /// `data` may be null: set() gives it before the first run.
  std::size_t add(OneDnn& library, int kind, const dnnl::memory::desc& desc, void* data = nullptr);
  void set(std::size_t place, void* data);
  void execute(const dnnl::primitive& primitive, const dnnl::stream& stream) const;

 private:
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// A primitive whose code is generated when it runs first: for a graph of many kernels that takes
/// as long as its other preparations. That there is one, and what it needs, is known before.
class Primitive {
 public:
  Primitive() = default;
  template <class Chosen>
  explicit Primitive(std::type_identity<Chosen>, const typename Chosen::primitive_desc& description)
      : make_([description] { return Chosen(description); }) {}
  /// PS0708 when the code cannot be generated; nothing is written then.
  Result<void> run(const OneDnn& library, const Arguments& arguments);

 private:
  std::function<dnnl::primitive()> make_;  ///< empty once it is made
  dnnl::primitive made_;
};

/// The dtype as oneDNN names it; `undef` for those that its kernels here do not take.
dnnl::memory::data_type data_type(DType dtype);
/// A strided window.
dnnl::memory::desc describe(const Operand& operand);
/// One whose dims were chosen by the caller.
dnnl::memory::desc describe(DType dtype, const std::vector<std::int64_t>& sizes,
                            const std::vector<std::int64_t>& strides);

/// The post-ops of a call. `operands` describes those that have one, in order, in the dims of the
/// result; arguments for them are to be added by attach_post_ops.
struct PostOps {
  dnnl::post_ops ops;
  std::vector<int> argument_kinds;  ///< of each operand
};
/// PS0708 for a kind that the library does not have.
Result<PostOps> make_post_ops(const LibraryCall& call,
                              const std::vector<dnnl::memory::desc>& operands);

/// An int list attribute ("stride"), and a single one.
std::vector<std::int64_t> int_list(const LibraryCall& call, std::string_view name);
bool flag(const LibraryCall& call, std::string_view name);
std::int64_t integer(const LibraryCall& call, std::string_view name, std::int64_t missing);

/// A tensor that the primitive wants in another layout than the program has it: copied before, or
/// after.
class Relayout {
 public:
  Relayout() = default;
  Relayout(OneDnn& library, dnnl::memory::desc from, dnnl::memory::desc to);
  bool needed() const { return needed_; }
  /// Bytes of the copy that is not the program's.
  static std::size_t bytes(const dnnl::memory::desc& desc) {
    return (desc.get_size() + 63) / 64 * 64;
  }
  void run(OneDnn& library, void* from, void* to);

 private:
  bool needed_ = false;
  dnnl::reorder reorder_;
  Arguments arguments_;
};

/// The operands of a call's post-ops, in the rank of the result: a whole one is read as the result
/// is written, so one that lies otherwise is copied first.
class PostOpOperands {
 public:
  PostOpOperands() = default;
  PostOpOperands(OneDnn& library, const std::vector<Operand>& operands, const Operand& written);
  const std::vector<dnnl::memory::desc>& descriptions() const { return descriptions_; }
  std::size_t scratch_bytes() const;
  /// `kinds` are those of make_post_ops.
  void add_arguments(OneDnn& library, const std::vector<int>& kinds, Arguments& arguments);
  /// Behind `scratch` lie the copies.
  void set(OneDnn& library, std::span<void* const> given, char* scratch, Arguments& arguments);

 private:
  std::vector<dnnl::memory::desc> descriptions_;
  std::vector<Relayout> copies_;
  std::vector<std::size_t> places_;
};

using MakeKernel = std::function<Result<std::unique_ptr<LibraryKernel>>()>;
/// What `make` gives, or a kernel that computes the same in one thread, whichever has the same bits
/// for any number of threads.
Result<std::unique_ptr<LibraryKernel>> make_deterministic(const LibraryOperands& operands,
                                                          const MakeKernel& make);

using MakeCall = std::function<Result<std::unique_ptr<LibraryKernel>>(const LibraryCall&,
                                                                      const LibraryOperands&)>;
/// What `make` gives for operands that oneDNN's kernels can read, working on copies of those that
/// they cannot.
Result<std::unique_ptr<LibraryKernel>> make_readable(const LibraryCall& call,
                                                     const LibraryOperands& operands,
                                                     const MakeCall& make);

/// Whether a window of the convolution may hold nothing but padding.
bool must_pad(const LibraryCall& call, const LibraryOperands& operands);
/// What `make` gives for a convolution without padding, of an image that is padded in memory.
Result<std::unique_ptr<LibraryKernel>> make_padded(const LibraryCall& call,
                                                   const LibraryOperands& operands,
                                                   const MakeCall& make);

/// What `make` gives for the post-ops that it gets right, the others behind it.
Result<std::unique_ptr<LibraryKernel>> make_tailed(const LibraryCall& call,
                                                   const LibraryOperands& operands,
                                                   const MakeCall& make);

/// What `make_any_size` gives for a product of varying sizes, until what `make` gives for these
/// sizes pays; at once, where there is none for any size.
Result<std::unique_ptr<LibraryKernel>> make_varying(const LibraryCall& call,
                                                    const LibraryOperands& operands,
                                                    const MakeCall& make_any_size,
                                                    const MakeCall& make);

/// Whether there are bfloat16 operands, for which oneDNN has no kernels on this CPU.
bool must_widen(const LibraryOperands& operands);
/// What `make` gives for float32, working on copies of the bfloat16 operands.
Result<std::unique_ptr<LibraryKernel>> make_widened(const LibraryCall& call,
                                                    const LibraryOperands& operands,
                                                    const MakeCall& make);

/// Whether one of the post-ops gives a number for NaN where ATen gives NaN.
bool loses_nan(const LibraryCall& call);
/// What `kernel`, made for `call`, gives where no NaN is lost; else what the kernel without
/// post-ops gives, which `make_plain` makes, followed by the post-ops one element at a time.
std::unique_ptr<LibraryKernel> keep_nan(std::unique_ptr<LibraryKernel> kernel,
                                        const LibraryCall& call, const LibraryOperands& operands,
                                        MakeKernel make_plain);

/// Bytes from the first element to behind the last.
std::size_t bytes_of(const Operand& operand);

/// The kernels, one file each; all may throw dnnl::error.
Result<std::unique_ptr<LibraryKernel>> make_matmul(std::shared_ptr<OneDnn> library,
                                                   const LibraryCall& call,
                                                   const LibraryOperands& operands);
Result<std::unique_ptr<LibraryKernel>> make_double_matmul(const LibraryCall& call,
                                                          const LibraryOperands& operands);
/// Whether make_row_matmul has a kernel for it.
bool is_row_product(const LibraryCall& call, const LibraryOperands& operands);
Result<std::unique_ptr<LibraryKernel>> make_row_matmul(const LibraryCall& call,
                                                       const LibraryOperands& operands);
/// `sort` and `topk`.
Result<std::unique_ptr<LibraryKernel>> make_sorting(const LibraryCall& call,
                                                    const LibraryOperands& operands);
Result<std::unique_ptr<LibraryKernel>> make_convolution(std::shared_ptr<OneDnn> library,
                                                        const LibraryCall& call,
                                                        const LibraryOperands& operands);
/// Whether the kernel of a convolution is an image, as in the gradient of another one's weight, and
/// make_weight_gradient may have a kernel for it.
bool is_weight_gradient(const LibraryCall& call, const LibraryOperands& operands);
Result<std::unique_ptr<LibraryKernel>> make_weight_gradient(std::shared_ptr<OneDnn> library,
                                                            const LibraryCall& call,
                                                            const LibraryOperands& operands);
Result<std::unique_ptr<LibraryKernel>> make_pooling(std::shared_ptr<OneDnn> library,
                                                    const LibraryCall& call,
                                                    const LibraryOperands& operands);

}  // namespace penstock::runtime
