// Pooling, of row-major and of channels-last images; what lies otherwise is copied before and
// after: for other layouts oneDNN has reference kernels alone.
#include "runtime/library/onednn.h"
#include "runtime/library/operand_layouts.h"

namespace penstock::runtime {

using dnnl::memory;

namespace {

/// Padding behind that makes the windows come out as many as the result has places: with ceil_mode
/// the last window may reach past the padded end.
memory::dims padding_behind(const LibraryOperands& operands, const memory::dims& kernel,
                            const memory::dims& stride, const memory::dims& dilation,
                            const memory::dims& padding) {
  memory::dims behind;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    std::int64_t window = (kernel[i] - 1) * (dilation[i] + 1) + 1;
    std::int64_t reach = (operands.outputs[0].sizes[i + 2] - 1) * stride[i] + window;
    behind.push_back(reach - operands.inputs[0].sizes[i + 2] - padding[i]);
  }
  return behind;
}

class Pooling : public LibraryKernel {
 public:
  Pooling(std::shared_ptr<OneDnn> library, const LibraryCall& call, const LibraryOperands& operands,
          dnnl::algorithm kind, const memory::dims& kernel, const memory::dims& dilation)
      : library_(std::move(library)) {
    memory::dims stride = int_list(call, "stride"), padding = int_list(call, "padding");
    memory::dims behind = padding_behind(operands, kernel, stride, dilation, padding);
    const Operand &input = operands.inputs[0], &out = operands.outputs[0];
    const bool row_major = lies_so(input, dense(input)) && lies_so(out, dense(out));
    memory::desc source = describe(row_major ? dense(input) : channels_last(input));
    memory::desc result = describe(row_major ? dense(out) : channels_last(out));
    if (!row_major && !lies_so(input, channels_last(input)))
      copy_input_ = Relayout(*library_, describe(input), source);
    if (!row_major && !lies_so(out, channels_last(out)))
      copy_out_ = Relayout(*library_, result, describe(out));
    input_bytes_ = copy_input_.needed() ? Relayout::bytes(source) : 0;
    out_bytes_ = copy_out_.needed() ? Relayout::bytes(result) : 0;
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto chosen =
        chosen_for<PoolingForward>(library_->engine, attributes, dnnl::prop_kind::forward_inference,
                                   kind, source, result, stride, kernel, dilation, padding, behind);
    primitive_ = PoolingForward(chosen);
    name_ = chosen.impl_info_str();
    scratchpad_ = chosen.scratchpad_desc();
    arguments_.add(*library_, DNNL_ARG_SRC, source);
    arguments_.add(*library_, DNNL_ARG_DST, result);
    arguments_.add(*library_, DNNL_ARG_SCRATCHPAD, scratchpad_);
  }

  std::size_t scratch_bytes() const override {
    return Relayout::bytes(scratchpad_) + input_bytes_ + out_bytes_;
  }
  std::string_view implementation() const override { return name_; }
  Result<void> run(const LibraryMemory& given) override {
    char* scratch = static_cast<char*>(given.scratch) + Relayout::bytes(scratchpad_);
    void *input = given.inputs[0], *out = given.outputs[0];
    if (copy_input_.needed()) copy_input_.run(*library_, input, scratch);
    arguments_.set(0, copy_input_.needed() ? scratch : input);
    arguments_.set(1, copy_out_.needed() ? scratch + input_bytes_ : out);
    arguments_.set(2, given.scratch);
    arguments_.execute(primitive_, library_->stream);
    if (copy_out_.needed()) copy_out_.run(*library_, scratch + input_bytes_, out);
    return {};
  }

 private:
  std::shared_ptr<OneDnn> library_;
  memory::desc scratchpad_;
  dnnl::primitive primitive_;
  Relayout copy_input_, copy_out_;
  std::size_t input_bytes_ = 0, out_bytes_ = 0;
  Arguments arguments_;
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<LibraryKernel>> make_pooling(std::shared_ptr<OneDnn> library,
                                                    const LibraryCall& call,
                                                    const LibraryOperands& operands) {
  memory::dims kernel = int_list(call, "kernel_size"), dilation = int_list(call, "dilation");
  if (dilation.empty()) dilation.assign(kernel.size(), 1);
  for (std::int64_t& value : dilation) value -= 1;  // oneDNN counts the gaps
  dnnl::algorithm kind = dnnl::algorithm::pooling_max;
  if (call.name == "pool_avg") {
    if (integer(call, "divisor_override", 0) != 0) {
      return failure(Code::PS0708, "pool_avg with a divisor of its own");
    }
    // torch counts padding in the divisor, but never what ceil_mode reaches beyond it.
    bool whole = flag(call, "count_include_pad") && !flag(call, "ceil_mode");
    kind = whole ? dnnl::algorithm::pooling_avg_include_padding
                 : dnnl::algorithm::pooling_avg_exclude_padding;
    bool padded = false;
    for (std::int64_t value : int_list(call, "padding")) padded |= value != 0;
    if (flag(call, "count_include_pad") && flag(call, "ceil_mode") && padded) {
      return failure(Code::PS0708, "pool_avg with ceil_mode that counts its padding");
    }
  }
  return std::make_unique<Pooling>(std::move(library), call, operands, kind, kernel, dilation);
}

}  // namespace penstock::runtime
