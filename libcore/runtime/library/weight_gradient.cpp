// Convolutions whose kernel is an image.
//
// Problem. The gradient of a convolution's weight is a convolution, too: of the image, its channels
// taken for a batch and its batch for channels, with the result's gradient for a kernel as large as
// the image; it gives a few elements a channel. Kernels of the library for convolutions are made
// for the opposite, and take 3 to 20 times as long as for the same arithmetic forward.
//
// Idea. The library has a primitive for just this. The call is read backwards: what it calls a
// batch are channels, its stride is the dilation of the convolution that it belongs to. What comes
// out is the same sum for each element, in another order.
#include "runtime/library/onednn.h"
#include "runtime/library/operand_layouts.h"

namespace penstock::runtime {

using dnnl::memory;

namespace {

std::int64_t volume(const Operand& operand) {
  std::int64_t count = 1;
  for (std::size_t i = 2; i < operand.sizes.size(); ++i) count *= operand.sizes[i];
  return count;
}

/// The convolution whose weight's gradient is computed.
struct Geometry {
  memory::dims stride, dilation, padding, padding_behind;
  bool sees_image_only = true;  ///< no window of it holds nothing but padding
};

Geometry geometry_of(const LibraryCall& call, const LibraryOperands& operands) {
  Geometry g{int_list(call, "dilation"), int_list(call, "stride"), int_list(call, "padding"), {}};
  for (std::size_t i = 0; i < g.stride.size(); ++i) {
    const std::int64_t reach = g.dilation[i] * (operands.outputs[0].sizes[i + 2] - 1) + 1;
    const std::int64_t last = (operands.inputs[1].sizes[i + 2] - 1) * g.stride[i];
    g.padding_behind.push_back(last + reach - operands.inputs[0].sizes[i + 2] - g.padding[i]);
    g.sees_image_only = g.sees_image_only && g.padding[i] < reach && g.padding_behind[i] < reach;
    g.dilation[i] -= 1;  // oneDNN counts the gaps
  }
  return g;
}

/// [inner, groups * outer, …] as [outer, groups, inner, …].
Operand turned(const Operand& operand, std::int64_t groups) {
  Operand made = operand;
  const std::int64_t outer = operand.sizes[1] / groups;
  made.sizes[0] = outer;
  made.strides[0] = operand.strides[1];
  made.sizes[1] = groups;
  made.strides[1] = outer * operand.strides[1];
  made.sizes.insert(made.sizes.begin() + 2, operand.sizes[0]);
  made.strides.insert(made.strides.begin() + 2, operand.strides[0]);
  return made;
}

/// [outer, groups, inner, …] as [outer, groups * inner, …]: the sizes, in channels-last memory.
Operand joined(const Operand& operand) {
  Operand made = operand;
  made.sizes[1] *= made.sizes[2];
  made.sizes.erase(made.sizes.begin() + 2);
  made.strides.erase(made.strides.begin() + 2);
  return channels_last(made);
}

/// `joined` memory, its channels apart again.
Operand apart(const Operand& joined, const Operand& like) {
  Operand made = like;
  made.strides[0] = joined.strides[0];
  made.strides[1] = like.sizes[2];
  made.strides[2] = 1;
  for (std::size_t i = 3; i < made.sizes.size(); ++i) made.strides[i] = joined.strides[i - 1];
  return made;
}

/// The gradient as it is to be written: [inner, groups * outs, …] as [groups, outs, inner, …].
Operand written_weight(const Operand& out, std::int64_t groups) {
  Operand made = turned(out, groups);  // [outs, groups, inner, …]
  std::swap(made.sizes[0], made.sizes[1]);
  std::swap(made.strides[0], made.strides[1]);
  if (groups == 1) {
    made.sizes.erase(made.sizes.begin());
    made.strides.erase(made.strides.begin());
  }
  return made;
}

class WeightGradient : public LibraryKernel {
 public:
  WeightGradient(std::shared_ptr<OneDnn> library, const LibraryCall& call,
                 const LibraryOperands& operands)
      : library_(std::move(library)) {
    OneDnn& shared = *library_;
    const std::int64_t groups = integer(call, "groups", 1);
    const Operand image = turned(operands.inputs[0], groups), image_read = joined(image);
    const Operand tangent = turned(operands.inputs[1], 1), tangent_read = joined(tangent);
    const Operand weight = written_weight(operands.outputs[0], groups);
    choose(geometry_of(call, operands), describe(image_read), describe(tangent_read),
           memory::desc(weight.sizes, data_type(weight.dtype), memory::format_tag::any));
    // Where the primitive reads channels-last memory, one copy does both what the roles of batch
    // and channels ask for and that; nothing is copied that lies so.
    bring(copy_image_, image, image_read, source_);
    bring(copy_tangent_, tangent, tangent_read, result_);
    const memory::desc target = describe(weight);
    if (target != weights_) copy_out_ = Relayout(shared, weights_, target);
    arguments_.add(shared, DNNL_ARG_SRC, source_);
    arguments_.add(shared, DNNL_ARG_DIFF_DST, result_);
    arguments_.add(shared, DNNL_ARG_DIFF_WEIGHTS, weights_);
    arguments_.add(shared, DNNL_ARG_SCRATCHPAD, scratchpad_);
  }

  std::size_t scratch_bytes() const override {
    return Relayout::bytes(scratchpad_) + copy_image_.bytes() + copy_tangent_.bytes() +
           (copy_out_.needed() ? Relayout::bytes(weights_) : 0);
  }
  std::string_view implementation() const override { return name_; }

  Result<void> run(const LibraryMemory& given) override {
    OneDnn& shared = *library_;
    char* scratch = static_cast<char*>(given.scratch);
    arguments_.set(3, scratch);
    scratch += Relayout::bytes(scratchpad_);
    arguments_.set(0, copy_image_.run(shared, given.inputs[0], scratch));
    arguments_.set(1, copy_tangent_.run(shared, given.inputs[1], scratch));
    void* target = copy_out_.needed() ? scratch : given.outputs[0];
    arguments_.set(2, target);
    if (auto ran = primitive_.run(shared, arguments_); !ran) return ran;
    if (copy_out_.needed()) copy_out_.run(shared, target, given.outputs[0]);
    return {};
  }

 private:
  /// What lies otherwise than the primitive reads it: through channels-last memory where that
  /// changes more than the order of dims.
  class Brought {
   public:
    void first(Relayout step, std::size_t bytes) { steps_.emplace_back(std::move(step), bytes); }
    std::size_t bytes() const {
      std::size_t all = 0;
      for (const auto& [step, bytes] : steps_) all += bytes;
      return all;
    }
    /// Takes memory from `scratch`; gives where the tensor lies then.
    void* run(OneDnn& library, void* from, char*& scratch) {
      for (auto& [step, bytes] : steps_) {
        step.run(library, from, scratch);
        from = scratch;
        scratch += bytes;
      }
      return from;
    }

   private:
    std::vector<std::pair<Relayout, std::size_t>> steps_;
  };

  void bring(Brought& copy, const Operand& given, const Operand& channels_last,
             const memory::desc& wanted) {
    const Operand split = apart(channels_last, given);
    const memory::desc last = describe(channels_last);
    if (!lies_so(given, split))
      copy.first(Relayout(*library_, describe(given), describe(split)), Relayout::bytes(last));
    if (wanted != last) copy.first(Relayout(*library_, last, wanted), Relayout::bytes(wanted));
  }

  void choose(const Geometry& g, const memory::desc& image, const memory::desc& tangent,
              const memory::desc& any_weight) {
    auto chosen = describe_primitive(g, image, tangent, any_weight);
    // A kernel for the memory that it likes best beats one without code for this CPU.
    if (std::string_view(chosen.impl_info_str()).find("ref") != std::string_view::npos) {
      chosen = describe_primitive(g, in_any_layout(image), in_any_layout(tangent), any_weight);
    }
    source_ = chosen.src_desc();
    result_ = chosen.diff_dst_desc();
    weights_ = chosen.diff_weights_desc();
    scratchpad_ = chosen.scratchpad_desc();
    name_ = chosen.impl_info_str();
    primitive_ = Primitive(std::type_identity<dnnl::convolution_backward_weights>(), chosen);
  }

  dnnl::convolution_backward_weights::primitive_desc describe_primitive(
      const Geometry& g, const memory::desc& image, const memory::desc& tangent,
      const memory::desc& weight) const {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto forward = chosen_for<dnnl::convolution_forward>(
        library_->engine, dnnl::primitive_attr(), dnnl::prop_kind::forward_training,
        dnnl::algorithm::convolution_direct, image, weight, tangent, g.stride, g.dilation,
        g.padding, g.padding_behind);
    return chosen_beside<dnnl::convolution_backward_weights>(
        forward, library_->engine, attributes, dnnl::algorithm::convolution_direct, image, weight,
        tangent, g.stride, g.dilation, g.padding, g.padding_behind);
  }

  std::shared_ptr<OneDnn> library_;
  memory::desc source_, result_, weights_, scratchpad_;
  Brought copy_image_, copy_tangent_;
  Relayout copy_out_;
  Primitive primitive_;
  Arguments arguments_;
  std::string name_;
};

}  // namespace

bool is_weight_gradient(const LibraryCall& call, const LibraryOperands& operands) {
  if (call.name != "convolution" || flag(call, "transposed")) return false;
  const bool more = operands.present.size() > 2 &&
                    (operands.present[2] || (operands.present.size() > 3 && operands.present[3]));
  if (more || !call.post_ops.empty() || !call.prepack.empty()) return false;
  const Geometry g = geometry_of(call, operands);
  return volume(operands.inputs[1]) > volume(operands.outputs[0]) && g.sees_image_only;
}

Result<std::unique_ptr<LibraryKernel>> make_weight_gradient(std::shared_ptr<OneDnn> library,
                                                            const LibraryCall& call,
                                                            const LibraryOperands& operands) {
  return std::make_unique<WeightGradient>(std::move(library), call, operands);
}

}  // namespace penstock::runtime
