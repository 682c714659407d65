// Convolutions on images that are padded in memory.
//
// Where a window can lie in the padding altogether, or the kernel is larger than the image,
// oneDNN's kernels do not get to the places of the result whose windows hold nothing of the image
// in the way that they get to the others, and post-ops there come out wrong, or fault. The same for
// transposed ones, and where more is cut from a transposed one's end than its padding has, there is
// no kernel. So such an image is copied into one that has its padding around it in memory. The
// transposed convolution is a plain one there: of the image with strides - 1 zeros between its
// elements, by the kernel turned round. Images that are smaller than a kernel are small: the copies
// cost little.
#include <algorithm>
#include <cstring>

#include "runtime/library/onednn.h"
#include "runtime/library/operand_layouts.h"
#include "runtime/library/thread_limit.h"

namespace penstock::runtime {

namespace {

using Lists = std::vector<std::int64_t>;

struct Geometry {
  Lists stride, padding, dilation, more;
  bool transposed;
  explicit Geometry(const LibraryCall& call)
      : stride(int_list(call, "stride")),
        padding(int_list(call, "padding")),
        dilation(int_list(call, "dilation")),
        more(int_list(call, "output_padding")),
        transposed(flag(call, "transposed")) {}
};

NamedArgument ints(std::string name, const Lists& values) {
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  for (const std::int64_t value : values) list.items.push_back(value);
  return {std::move(name), std::move(list)};
}

/// The plain convolution of a padded image that gives the same.
LibraryCall plain_call(const LibraryCall& call, const Geometry& g) {
  LibraryCall plain = call;
  const Lists zeros(g.padding.size(), 0), ones(g.padding.size(), 1);
  plain.attributes = {ints("stride", g.transposed ? ones : g.stride),
                      ints("padding", zeros),
                      ints("dilation", g.dilation),
                      {"transposed", false},
                      ints("output_padding", zeros),
                      {"groups", integer(call, "groups", 1)}};
  return plain;
}

/// The part of an image that stays, and where it lies in the padded one.
struct Placement {
  Operand from, to;
  std::int64_t from_start = 0, to_start = 0;  ///< elements
  bool is_empty = false;
};

class PaddedConvolution : public LibraryKernel {
 public:
  PaddedConvolution(const LibraryCall& call, const LibraryOperands& operands)
      : operands_(operands) {
    const Geometry g(call);
    const Operand &input = operands.inputs[0], &weight = operands.inputs[1],
                  &out = operands.outputs[0];
    padded_ = input;
    Lists before;
    for (std::size_t i = 0; i < g.stride.size(); ++i) {
      const std::int64_t reach = g.dilation[i] * (weight.sizes[i + 2] - 1),
                         steps = out.sizes[i + 2] - 1;
      padded_.sizes[i + 2] = (g.transposed ? steps : steps * g.stride[i]) + reach + 1;
      before.push_back(g.transposed ? reach - g.padding[i] : g.padding[i]);
    }
    padded_ = channels_last(padded_);
    place(g, before);
    if (g.transposed) turn(weight, integer(call, "groups", 1));
  }
  LibraryOperands operands() const {
    LibraryOperands plain = operands_;
    plain.inputs[0] = padded_;
    if (turns_) plain.inputs[1] = turned_;
    return plain;
  }
  void set_kernel(std::unique_ptr<LibraryKernel> kernel) { kernel_ = std::move(kernel); }

  std::size_t scratch_bytes() const override {
    return own_bytes() + bytes(padded_) + (turns_ ? bytes(turned_) : 0);
  }
  std::string_view implementation() const override { return kernel_->implementation(); }
  bool is_alone() const override { return kernel_->is_alone(); }

  Result<void> run(const LibraryMemory& memory) override {
    const ThreadLimit limit(is_alone());
    char* image = static_cast<char*>(memory.scratch) + own_bytes();
    std::vector<void*> inputs(memory.inputs.begin(), memory.inputs.end());
    std::vector<std::uint64_t> versions(memory.versions.begin(), memory.versions.end());
    std::vector<StoredWindow> stored(memory.stored.begin(), memory.stored.end());
    const std::int64_t size = facts(padded_.dtype).size;
    std::memset(image, 0, bytes(padded_));
    if (!placed_.is_empty) {
      copy_elements(placed_.from, static_cast<const char*>(inputs[0]) + placed_.from_start * size,
                    placed_.to, image + placed_.to_start * size);
    }
    inputs[0] = image;
    versions[0] = kUnversioned;
    if (!stored.empty()) stored[0] = {};
    if (turns_) {
      if (!stored.empty() && stored[1].tensor != nullptr) {
        if (auto checked = stored[1].tensor->check(); !checked) return checked;
        stored[1] = {};
      }
      char* weight = image + bytes(padded_);
      copy_elements(weight_read_, static_cast<const char*>(inputs[1]) + weight_start_ * size,
                    weight_written_, weight);
      inputs[1] = weight;
      versions[1] = kUnversioned;
    }
    LibraryMemory plain = memory;
    plain.inputs = inputs;
    plain.versions = versions;
    plain.stored = stored;
    return kernel_->run(plain);
  }

 private:
  static std::size_t bytes(const Operand& operand) { return (bytes_of(operand) + 63) / 64 * 64; }
  std::size_t own_bytes() const { return (kernel_->scratch_bytes() + 63) / 64 * 64; }

  /// Element i of the image lies at i * step + before of the padded one, if that is inside.
  void place(const Geometry& g, const Lists& before) {
    placed_.from = operands_.inputs[0];
    placed_.to = padded_;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::size_t dim = i + 2;
      const std::int64_t step = g.transposed ? g.stride[i] : 1, end = padded_.sizes[dim];
      const std::int64_t first = before[i] >= 0 ? 0 : (-before[i] + step - 1) / step;
      const std::int64_t behind = end <= before[i] ? 0 : (end - before[i] + step - 1) / step;
      const std::int64_t count = std::min(behind, placed_.from.sizes[dim]) - first;
      placed_.is_empty = placed_.is_empty || count <= 0;
      placed_.from_start += first * placed_.from.strides[dim];
      placed_.to_start += (first * step + before[i]) * padded_.strides[dim];
      placed_.from.sizes[dim] = placed_.to.sizes[dim] = count;
      placed_.to.strides[dim] *= step;
    }
  }

  /// [I, O/g, …] as [O, I/g, …], from the last tap to the first.
  void turn(const Operand& weight, std::int64_t groups) {
    turns_ = true;
    const std::int64_t inputs = weight.sizes[0] / groups, outputs = weight.sizes[1];
    turned_ = weight;
    turned_.sizes[0] = groups * outputs;
    turned_.sizes[1] = inputs;
    turned_ = dense(turned_);
    const auto split = [&](Operand whole, std::int64_t group, std::int64_t output,
                           std::int64_t input) {
      whole.sizes.insert(whole.sizes.begin(), groups);
      whole.strides.insert(whole.strides.begin(), group);
      whole.sizes[1] = outputs;
      whole.strides[1] = output;
      whole.sizes[2] = inputs;
      whole.strides[2] = input;
      return whole;
    };
    weight_read_ = split(weight, inputs * weight.strides[0], weight.strides[1], weight.strides[0]);
    weight_written_ =
        split(turned_, outputs * turned_.strides[0], turned_.strides[0], turned_.strides[1]);
    for (std::size_t i = 3; i < weight_read_.sizes.size(); ++i) {
      weight_start_ += (weight_read_.sizes[i] - 1) * weight_read_.strides[i];
      weight_read_.strides[i] = -weight_read_.strides[i];
    }
  }

  LibraryOperands operands_;
  Operand padded_, turned_, weight_read_, weight_written_;
  Placement placed_;
  std::int64_t weight_start_ = 0;
  bool turns_ = false;
  std::unique_ptr<LibraryKernel> kernel_;
};

}  // namespace

bool must_pad(const LibraryCall& call, const LibraryOperands& operands) {
  if (call.name != "convolution") return false;
  const Geometry g(call);
  for (std::size_t i = 0; i < g.stride.size(); ++i) {
    const std::int64_t reach = g.dilation[i] * (operands.inputs[1].sizes[i + 2] - 1) + 1,
                       size = operands.inputs[0].sizes[i + 2];
    if (g.transposed && g.padding[i] < g.more[i]) return true;
    if (reach > size || g.padding[i] >= reach) return true;
  }
  return false;
}

Result<std::unique_ptr<LibraryKernel>> make_padded(const LibraryCall& call,
                                                   const LibraryOperands& operands,
                                                   const MakeCall& make) {
  auto padded = std::make_unique<PaddedConvolution>(call, operands);
  auto kernel = make(plain_call(call, Geometry(call)), padded->operands());
  if (!kernel) return kernel;
  padded->set_kernel(std::move(*kernel));
  return padded;
}

}  // namespace penstock::runtime
