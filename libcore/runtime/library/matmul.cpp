// Matrix products. What oneDNN reads badly (neither of the last two dims has stride 1, or the same
// element several times) is copied first.
#include <algorithm>

#include "runtime/library/onednn.h"
#include "runtime/library/operand_layouts.h"
#include "runtime/library/product.h"
#include "runtime/library/thread_limit.h"
#include "runtime/library/weight.h"

namespace penstock::runtime {

using dnnl::memory;

namespace {

/// How it lies in memory, to a kernel that is told the sizes and steps when it runs: `rows` alone,
/// or all but those of batches.
memory::desc of_any_size(const Operand& operand, bool rows) {
  const std::size_t rank = operand.sizes.size();
  std::vector<std::int64_t> sizes = operand.sizes, strides = operand.strides;
  sizes[rank - 2] = DNNL_RUNTIME_DIM_VAL;
  if (!rows) sizes[rank - 1] = DNNL_RUNTIME_DIM_VAL;
  const std::size_t dense = strides[rank - 1] == 1 ? rank - 1 : rank - 2;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != dense) strides[i] = DNNL_RUNTIME_DIM_VAL;
  }
  return {sizes, data_type(operand.dtype), strides};
}

/// Whether it is faster to pack `b` in every call than to read it as it lies. Rows that are some
/// multiple of 4096 bytes apart fall on the same lines of the first cache: Intel's processors lose
/// half of their speed by that for 3072 columns (bench: 512 x 768 times 768 x 3072, AVX-512, 168
/// against 290 GFLOP/s), gain some percent from packing for other long rows, and lose by it for
/// short ones or few rows of `a`. AMD's Zen 4 reads both at the same speed.
bool pays_to_pack(const Product& product) {
  constexpr std::int64_t kRows = 256, kColumns = 1024;
  return product.b.sizes.size() == 2 && product.b.strides[1] == 1 &&
         product.out.sizes[0] >= kRows && product.out.sizes[1] >= kColumns &&
         product.b.dtype == DType::float32 && __builtin_cpu_is("intel");
}

class Matmul : public LibraryKernel {
 public:
  Matmul(std::shared_ptr<OneDnn> library, const LibraryCall& call, const Product& product,
         const Operand* bias, bool any_size)
      : library_(std::move(library)), alone_(operations(product) <= kAlone) {
    const ThreadLimit limit(alone_);
    OneDnn& shared = *library_;
    // A repeated element or a far step: copied into rows first.
    memory::desc a = describe(product.a), out = describe(product.out);
    const Operand a_place = readable(product.a) ? product.a : dense(product.a);
    const Operand b_place = readable(product.b) ? product.b : dense(product.b);
    memory::desc a_read = describe(a_place);
    // Post-ops find the elements of their operands by counting those of a dense result.
    const bool counted = !product.post_ops.empty() && !lies_so(product.out, dense(product.out));
    const Operand written = writable(product.out) && !counted ? product.out : dense(product.out);
    memory::desc out_written = describe(written);
    copy_a_ = Relayout(shared, a, a_read);
    copy_out_ = Relayout(shared, out_written, out);
    const bool sums = std::ranges::any_of(
        call.post_ops, [](const PostOp& op) { return op.kind == PostOp::Kind::sum; });
    if (sums) fetch_out_ = Relayout(shared, out, out_written);
    a_bytes_ = copy_a_.needed() ? Relayout::bytes(a_read) : 0;
    out_bytes_ = copy_out_.needed() ? Relayout::bytes(out_written) : 0;
    const bool ahead = !call.prepack.empty() && product.b.sizes.size() == 2;
    const bool pack = ahead || pays_to_pack(product);
    memory::desc b = describe(product.b), b_read = describe(b_place);
    addends_ = PostOpOperands(shared, product.post_ops, written);
    bias_ = bias == nullptr ? memory::desc() : describe_bias(*bias, written.sizes.size());
    has_bias_ = bias != nullptr;
    if (any_size) {
      make_primitive(call, of_any_size(a_place, has_bias_),
                     has_bias_ ? b_read : of_any_size(b_place, false),
                     of_any_size(written, has_bias_));
    } else {
      const memory::desc b_any(product.b.sizes, data_type(product.b.dtype),
                               memory::format_tag::any);
      make_primitive(call, a_read, pack ? b_any : b_read, out_written);
      b_read = chosen_.weights_desc();
    }
    weight_ = Weight(shared, b, b_read);
    version_counts_ = ahead;
    add_arguments(a_read, b_read, out_written);
  }

  std::size_t scratch_bytes() const override {
    return a_bytes_ + out_bytes_ + addends_.scratch_bytes() + weight_.scratch_bytes() + own_bytes_;
  }
  std::string_view implementation() const override { return name_; }
  bool is_alone() const override { return alone_; }

  Result<void> run(const LibraryMemory& given) override {
    const ThreadLimit limit(alone_);
    OneDnn& shared = *library_;
    char* scratch = static_cast<char*>(given.scratch);
    void* a = given.inputs[0];
    void* out = given.outputs[0];
    arguments_.set(scratch_place_, scratch);
    scratch += own_bytes_;
    if (copy_a_.needed()) {
      copy_a_.run(shared, a, scratch);
      a = scratch;
      scratch += a_bytes_;
    }
    void* target = copy_out_.needed() ? scratch : out;
    scratch += out_bytes_;
    addends_.set(shared, given.post_ops, scratch, arguments_);
    scratch += addends_.scratch_bytes();
    arguments_.set(0, a);
    auto weight = weight_.prepare(shared, weight_contents(given, version_counts_), {}, scratch);
    if (!weight) return tl::unexpected(std::move(weight.error()));
    arguments_.set(1, *weight);
    arguments_.set(2, target);
    if (has_bias_) arguments_.set(3, given.inputs[2]);
    if (fetch_out_.needed()) fetch_out_.run(shared, out, target);
    if (auto ran = primitive_.run(shared, arguments_); !ran) return ran;
    if (copy_out_.needed()) copy_out_.run(shared, target, out);
    return {};
  }

 private:
  static memory::desc describe_bias(const Operand& bias, std::size_t rank) {
    std::vector<std::int64_t> sizes(rank, 1), strides(rank, bias.sizes.back());
    sizes.back() = bias.sizes.back();
    strides.back() = 1;
    return describe(bias.dtype, sizes, strides);
  }

  void make_primitive(const LibraryCall& call, const memory::desc& a, const memory::desc& b,
                      const memory::desc& out) {
    auto post_ops = make_post_ops(call, addends_.descriptions());
    post_op_kinds_ = post_ops->argument_kinds;
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(post_ops->ops);
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    chosen_ = has_bias_ ? chosen_for<dnnl::matmul>(library_->engine, attributes, a, b, bias_, out)
                        : chosen_for<dnnl::matmul>(library_->engine, attributes, a, b, out);
    primitive_ = Primitive(std::type_identity<dnnl::matmul>(), chosen_);
    own_bytes_ = Relayout::bytes(chosen_.scratchpad_desc());
    name_ = chosen_.impl_info_str();
  }

  void add_arguments(const memory::desc& a, const memory::desc& b, const memory::desc& out) {
    OneDnn& shared = *library_;
    arguments_.add(shared, DNNL_ARG_SRC, a);
    arguments_.add(shared, DNNL_ARG_WEIGHTS, b);
    arguments_.add(shared, DNNL_ARG_DST, out);
    if (has_bias_) arguments_.add(shared, DNNL_ARG_BIAS, bias_);
    scratch_place_ = arguments_.add(shared, DNNL_ARG_SCRATCHPAD, chosen_.scratchpad_desc());
    addends_.add_arguments(shared, post_op_kinds_, arguments_);
  }

  std::shared_ptr<OneDnn> library_;
  bool alone_;  ///< small enough for one thread
  Relayout copy_a_, copy_out_, fetch_out_;
  std::size_t own_bytes_ = 0, a_bytes_ = 0, out_bytes_ = 0, scratch_place_ = 0;
  memory::desc bias_;
  dnnl::matmul::primitive_desc chosen_;
  Primitive primitive_;
  Weight weight_;
  bool version_counts_ = false, has_bias_ = false;
  PostOpOperands addends_;
  std::vector<int> post_op_kinds_;
  Arguments arguments_;
  std::string name_;
};

/// A sum over nothing: zeros, or the bias. oneDNN refuses it.
class EmptySum : public LibraryKernel {
 public:
  EmptySum(const LibraryOperands& operands, bool has_bias)
      : bias_(has_bias ? operands.inputs[2] : Operand{operands.outputs[0].dtype, {}, {}}),
        out_(operands.outputs[0]),
        has_bias_(has_bias) {}

  std::size_t scratch_bytes() const override { return 0; }
  std::string_view implementation() const override { return "empty sum"; }
  Result<void> run(const LibraryMemory& memory) override {
    const float zero = 0;
    copy_elements(bias_, has_bias_ ? memory.inputs[2] : &zero, out_, memory.outputs[0]);
    return {};
  }

 private:
  Operand bias_, out_;
  bool has_bias_;
};

}  // namespace

Result<std::unique_ptr<LibraryKernel>> make_matmul(std::shared_ptr<OneDnn> library,
                                                   const LibraryCall& call,
                                                   const LibraryOperands& operands) {
  Product product{operands.inputs[0], operands.inputs[1], operands.outputs[0], operands.post_ops};
  bool bias = operands.present.size() > 2 && operands.present[2];
  if (product.a.sizes.back() == 0) return std::make_unique<EmptySum>(operands, bias);
  product = simplify(std::move(product));
  if (!bias && !library->deterministic) {
    if (auto kernel = make_blas_matmul(call, product)) return kernel;
  }
  return std::make_unique<Matmul>(std::move(library), call, product,
                                  bias ? &operands.inputs[2] : nullptr, operands.varying);
}

}  // namespace penstock::runtime
