// Convolutions. Activations are read and written channels-last: plain NCHW is 2 to 60 times slower,
// so tensors that lie so are copied before and after.
#include "runtime/library/onednn.h"
#include "runtime/library/operand_layouts.h"
#include "runtime/library/weight.h"

namespace penstock::runtime {

using dnnl::memory;

namespace {

/// [O, I/g, …] as [g, O/g, I/g, …], or for transposed ones [I, O/g, …] as [g, O/g, I/g, …].
Operand grouped(const Operand& weight, std::int64_t groups, bool transposed) {
  Operand made = weight;
  if (transposed) {
    std::int64_t inputs = weight.sizes[0] / groups;
    made.sizes = {groups, weight.sizes[1], inputs};
    made.strides = {inputs * weight.strides[0], weight.strides[1], weight.strides[0]};
  } else {
    std::int64_t outputs = weight.sizes[0] / groups;
    made.sizes = {groups, outputs, weight.sizes[1]};
    made.strides = {outputs * weight.strides[0], weight.strides[0], weight.strides[1]};
  }
  made.sizes.insert(made.sizes.end(), weight.sizes.begin() + 2, weight.sizes.end());
  made.strides.insert(made.strides.end(), weight.strides.begin() + 2, weight.strides.end());
  if (groups == 1) {
    made.sizes.erase(made.sizes.begin());
    made.strides.erase(made.strides.begin());
  }
  return made;
}

struct Geometry {
  memory::dims stride, dilation, padding, padding_behind;
};

Geometry geometry_of(const LibraryCall& call) {
  Geometry g{int_list(call, "stride"), int_list(call, "dilation"), int_list(call, "padding"), {}};
  g.padding_behind = g.padding;
  for (std::int64_t& value : g.dilation) value -= 1;  // oneDNN counts the gaps
  return g;
}

class Convolution : public LibraryKernel {
 public:
  Convolution(std::shared_ptr<OneDnn> library, const LibraryCall& call,
              const LibraryOperands& operands)
      : library_(std::move(library)) {
    OneDnn& shared = *library_;
    const Operand &input = operands.inputs[0], &out = operands.outputs[0];
    Operand input_read = channels_last(input), out_written = channels_last(out);
    bool read_in_place = lies_so(input, input_read), write_in_place = lies_so(out, out_written);
    memory::desc source = describe(input_read), result = describe(out_written);
    if (!read_in_place) copy_input_ = Relayout(shared, describe(input), source);
    if (!write_in_place) copy_out_ = Relayout(shared, result, describe(out));
    // `sum` adds what the result held before.
    for (const PostOp& op : call.post_ops) reads_out_ |= op.kind == PostOp::Kind::sum;
    if (reads_out_ && !write_in_place) fetch_out_ = Relayout(shared, describe(out), result);
    input_bytes_ = copy_input_.needed() ? Relayout::bytes(source) : 0;
    out_bytes_ = copy_out_.needed() ? Relayout::bytes(result) : 0;
    std::int64_t groups = integer(call, "groups", 1);
    bool transposed = flag(call, "transposed");
    Operand weight = grouped(operands.inputs[1], groups, transposed);
    memory::desc any(weight.sizes, data_type(weight.dtype), memory::format_tag::any);
    bool bias = operands.present.size() > 2 && operands.present[2];
    memory::desc bias_desc = bias ? describe(operands.inputs[2]) : memory::desc();
    addends_ = PostOpOperands(shared, operands.post_ops, out_written);
    choose(call, transposed, source, any, bias_desc, result);
    scaled_ = operands.present.size() > 3 && operands.present[3];
    weight_ = Weight(shared, describe(weight), weights_, scaled_ ? (groups == 1 ? 1 : 2) : 0);
    version_counts_ = !call.prepack.empty();
    arguments_.add(shared, DNNL_ARG_SRC, source);
    arguments_.add(shared, DNNL_ARG_WEIGHTS, weights_);
    arguments_.add(shared, DNNL_ARG_DST, result);
    scratch_place_ = arguments_.add(shared, DNNL_ARG_SCRATCHPAD, scratchpad_);
    if (bias) bias_place_ = arguments_.add(shared, DNNL_ARG_BIAS, bias_desc);
    addends_.add_arguments(shared, post_op_kinds_, arguments_);
  }

  std::size_t scratch_bytes() const override {
    return Relayout::bytes(scratchpad_) + input_bytes_ + out_bytes_ + addends_.scratch_bytes() +
           weight_.scratch_bytes();
  }
  std::string_view implementation() const override { return name_; }

  Result<void> run(const LibraryMemory& given) override {
    OneDnn& shared = *library_;
    char* scratch = static_cast<char*>(given.scratch);
    void* input = given.inputs[0];
    void* out = given.outputs[0];
    arguments_.set(scratch_place_, scratch);
    scratch += Relayout::bytes(scratchpad_);
    if (copy_input_.needed()) {
      copy_input_.run(shared, input, scratch);
      input = scratch;
      scratch += input_bytes_;
    }
    void* target = copy_out_.needed() ? scratch : out;
    scratch += out_bytes_;
    addends_.set(shared, given.post_ops, scratch, arguments_);
    scratch += addends_.scratch_bytes();
    arguments_.set(0, input);
    Weight::Contents scale;
    if (scaled_) scale = {given.inputs[3], given.versions[3]};
    auto weight = weight_.prepare(shared, weight_contents(given, version_counts_), scale, scratch);
    if (!weight) return tl::unexpected(std::move(weight.error()));
    arguments_.set(1, *weight);
    arguments_.set(2, target);
    if (bias_place_ != 0) arguments_.set(bias_place_, given.inputs[2]);
    if (fetch_out_.needed()) fetch_out_.run(shared, out, target);
    if (auto ran = primitive_.run(shared, arguments_); !ran) return ran;
    if (copy_out_.needed()) copy_out_.run(shared, target, out);
    return {};
  }

 private:
  void choose(const LibraryCall& call, bool transposed, const memory::desc& source,
              const memory::desc& weights, const memory::desc& bias, const memory::desc& result) {
    auto post_ops = make_post_ops(call, addends_.descriptions());
    post_op_kinds_ = post_ops->argument_kinds;
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(post_ops->ops);
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    Geometry g = geometry_of(call);
    if (transposed) {
      // The result may be longer than the strides say: less is padded behind.
      auto more = int_list(call, "output_padding");
      for (std::size_t i = 0; i < more.size(); ++i) g.padding_behind[i] -= more[i];
      keep<dnnl::deconvolution_forward>(chosen_for<dnnl::deconvolution_forward>(
          library_->engine, attributes, dnnl::prop_kind::forward_inference,
          dnnl::algorithm::deconvolution_direct, source, weights, bias, result, g.stride,
          g.dilation, g.padding, g.padding_behind));
    } else {
      keep<dnnl::convolution_forward>(chosen_for<dnnl::convolution_forward>(
          library_->engine, attributes, dnnl::prop_kind::forward_inference,
          dnnl::algorithm::convolution_direct, source, weights, bias, result, g.stride, g.dilation,
          g.padding, g.padding_behind));
    }
  }

  template <class Chosen>
  void keep(const typename Chosen::primitive_desc& chosen) {
    weights_ = chosen.weights_desc();
    scratchpad_ = chosen.scratchpad_desc();
    name_ = chosen.impl_info_str();
    primitive_ = Primitive(std::type_identity<Chosen>(), chosen);
  }

  std::shared_ptr<OneDnn> library_;
  Relayout copy_input_, copy_out_, fetch_out_;
  bool reads_out_ = false, version_counts_ = false, scaled_ = false;
  std::size_t input_bytes_ = 0, out_bytes_ = 0, scratch_place_ = 0, bias_place_ = 0;
  memory::desc weights_, scratchpad_;
  Primitive primitive_;
  Weight weight_;
  PostOpOperands addends_;
  std::vector<int> post_op_kinds_;
  Arguments arguments_;
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<LibraryKernel>> make_convolution(std::shared_ptr<OneDnn> library,
                                                        const LibraryCall& call,
                                                        const LibraryOperands& operands) {
  return std::make_unique<Convolution>(std::move(library), call, operands);
}

}  // namespace penstock::runtime
