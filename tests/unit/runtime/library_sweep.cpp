#include "library_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "ir/float_format.h"

namespace penstock::runtime::sweep {

double Tensor::get(std::int64_t place) const {
  const char* at = memory.data() + place * element_size();
  if (operand.dtype == DType::bfloat16) {
    std::uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return from_bfloat16(bits);
  }
  if (operand.dtype == DType::float64) return *reinterpret_cast<const double*>(at);
  return *reinterpret_cast<const float*>(at);
}

void Tensor::set(std::int64_t place, double value) {
  char* at = memory.data() + place * element_size();
  if (operand.dtype == DType::bfloat16) {
    const std::uint16_t bits = to_bfloat16(value);
    std::memcpy(at, &bits, sizeof bits);
  } else if (operand.dtype == DType::float64) {
    *reinterpret_cast<double*>(at) = value;
  } else {
    *reinterpret_cast<float*>(at) = static_cast<float>(value);
  }
}

std::int64_t Tensor::place(const Sizes& index) const {
  std::int64_t at = first;
  const std::size_t skip = index.size() - operand.sizes.size();
  for (std::size_t i = 0; i < operand.sizes.size(); ++i) {
    at += (operand.sizes[i] == 1 ? 0 : index[i + skip]) * operand.strides[i];
  }
  return at;
}

namespace {

Sizes dense_strides(const Sizes& sizes, const std::vector<std::size_t>& order) {
  Sizes strides(sizes.size(), 1);
  std::int64_t next = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= std::max<std::int64_t>(sizes[order[i]], 1);
  }
  return strides;
}

std::vector<std::size_t> arbitrary_order(Choice& choice, std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  const std::int64_t kind = choice.below(4);
  if (kind == 1 && rank > 2)
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());  // channels last
  if (kind == 2 && rank > 1) std::swap(order[rank - 1], order[rank - 2]);
  if (kind == 3) {
    for (std::size_t i = rank; i-- > 1;)
      std::swap(order[i],
                order[static_cast<std::size_t>(choice.below(static_cast<std::int64_t>(i) + 1))]);
  }
  return order;
}

template <class Visit>
void for_each_index(const Sizes& sizes, const Visit& visit) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  Sizes index(sizes.size(), 0);
  while (true) {
    visit(index);
    std::size_t i = sizes.size();
    while (i > 0 && ++index[i - 1] == sizes[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

double arbitrary_number(std::size_t i) {
  return static_cast<double>(i * 2654435761U % 1000U) / 500.0 - 1.0;
}

}  // namespace

Tensor make_tensor(Choice& choice, DType dtype, const Sizes& sizes, bool output) {
  Tensor made;
  made.operand = {dtype, sizes, dense_strides(sizes, arbitrary_order(choice, sizes.size()))};
  Sizes& strides = made.operand.strides;
  if (!sizes.empty()) {
    const auto dim =
        static_cast<std::size_t>(choice.below(static_cast<std::int64_t>(sizes.size())));
    switch (choice.below(output ? 6 : 10)) {
      case 0:  // every other element
        for (std::int64_t& stride : strides) stride *= 2;
        break;
      case 1: {  // rows that end early
        const std::int64_t least = strides[dim] * sizes[dim];
        for (std::size_t i = 0; i < sizes.size(); ++i) {
          if (strides[i] >= least && i != dim)
            strides[i] += 3 * (strides[i] / std::max<std::int64_t>(least, 1));
        }
        break;
      }
      case 6:
        strides[dim] = 0;
        break;
      case 7:
        strides[dim] = -strides[dim];
        break;
      case 8:
        strides[dim] = std::max<std::int64_t>(strides[dim] / 2, 1);
        break;  // overlaps
      case 9:
        std::fill(strides.begin(), strides.end(), 0);
        break;
      default:
        break;
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 1 && choice.one_in(2)) strides[i] = choice.of<std::int64_t>({0, 1, 7, 1000});
    }
  }
  std::int64_t low = 0, high = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t reach = std::max<std::int64_t>(sizes[i] - 1, 0) * strides[i];
    (reach < 0 ? low : high) += reach;
  }
  const std::int64_t margin = choice.below(3) * 5;
  made.first = margin - low;
  made.memory.resize(static_cast<std::size_t>((high - low + 1 + 2 * margin) * made.element_size()));
  const std::size_t start = choice.next() % 1000;
  for (std::int64_t i = 0; i < high - low + 1 + 2 * margin; ++i)
    made.set(i, arbitrary_number(static_cast<std::size_t>(i) + start));
  return made;
}

namespace {

NamedArgument ints(std::string name, const Sizes& values) {
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  for (const std::int64_t value : values) list.items.push_back(value);
  return {std::move(name), std::move(list)};
}

PostOp arbitrary_post_op(Choice& choice) {
  PostOp op{
      static_cast<PostOp::Kind>(choice.below(static_cast<std::int64_t>(PostOp::Kind::sum) + 1))};
  if (choice.one_in(4)) op.kind = PostOp::Kind::sum;
  if (choice.one_in(4)) op.kind = PostOp::Kind::add;
  if (op.kind == PostOp::Kind::clamp) op.alpha = -0.5, op.beta = choice.of({0.3, 0.7});
  if (op.kind == PostOp::Kind::scale) op.alpha = choice.of({0.25, -0.5, 0.75});
  return op;
}

/// Post-ops with operands of all shapes that broadcast to the result.
void add_post_ops(Choice& choice, Call& made, DType dtype, std::size_t channels) {
  const Sizes& sizes = made.out.operand.sizes;
  bool summed = false;
  for (std::int64_t count = choice.of<std::int64_t>({0, 1, 1, 2, 2, 3, 5}); count > 0; --count) {
    PostOp op = arbitrary_post_op(choice);
    if (op.kind == PostOp::Kind::sum && std::exchange(summed, true)) continue;
    if (op.kind == PostOp::Kind::add || op.kind == PostOp::Kind::mul) {
      Sizes own = sizes;
      switch (choice.below(7)) {
        case 0:
          own.assign(sizes.size(), 1);
          break;
        case 1:
          own.assign(sizes.size(), 1);
          own[channels] = sizes[channels];
          break;
        case 2:
          own.front() = 1;
          break;
        case 3:
          own.back() = 1;
          break;
        case 4:
          own.assign(sizes.begin() + static_cast<std::ptrdiff_t>(channels), sizes.end());
          break;
        default:
          break;
      }
      made.post_ops.push_back(make_tensor(choice, dtype, own, false));
      if (choice.one_in(2) && own == sizes) {  // in the layout of the result, as most are
        made.post_ops.back().operand.strides = made.out.operand.strides;
        made.post_ops.back().memory = made.out.memory;
        made.post_ops.back().first = made.out.first;
      }
    }
    made.call.post_ops.push_back(op);
  }
}

void add_bias(Choice& choice, Call& made, DType dtype, std::int64_t count) {
  if (choice.one_in(2))
    made.inputs.emplace_back(make_tensor(choice, dtype, {count}, false));
  else
    made.inputs.emplace_back();
}

void weigh(Choice& choice, Call& made) {
  if (choice.one_in(2)) return;
  made.call.prepack = {1};
  if (choice.one_in(2)) made.version = 1;
}

DType arbitrary_dtype(Choice& choice) {
  return choice.one_in(4) ? DType::bfloat16 : DType::float32;
}

}  // namespace

Call arbitrary_convolution(std::uint64_t seed) {
  Choice choice(seed);
  Call made;
  const DType dtype = arbitrary_dtype(choice);
  const auto rank = static_cast<std::size_t>(choice.of<std::int64_t>({1, 1, 2, 2, 2, 3}));
  const bool transposed = choice.one_in(4);
  std::int64_t groups = choice.of<std::int64_t>({1, 1, 1, 2, 3, 4}),
               in = choice.of<std::int64_t>({1, 2, 3, 4, 8, 16, 17}),
               out = choice.of<std::int64_t>({1, 2, 3, 4, 8, 16, 17});
  if (choice.one_in(4)) {  // depthwise
    groups = choice.of<std::int64_t>({3, 8, 16, 20});
    in = 1;
    out = choice.of<std::int64_t>({1, 1, 1, 2});
  }
  const bool plain = choice.one_in(3);
  Sizes kernel, stride, padding, dilation, more, size, result;
  for (std::size_t i = 0; i < rank; ++i) {
    while (true) {
      const std::int64_t k = choice.of<std::int64_t>({1, 1, 2, 3, 3, 4, 5, 7}),
                         s = plain ? 1 : choice.of<std::int64_t>({1, 1, 2, 3});
      const std::int64_t d = plain ? 1 : choice.of<std::int64_t>({1, 1, 2, 3}),
                         p = plain ? k / 2 : choice.below(k + 1);
      const std::int64_t n = choice.of<std::int64_t>({1, 1, 2, 3, 4, 5, 7, 8, 11, 16}),
                         m = transposed ? choice.below(std::max(s, d)) : 0;
      const std::int64_t r =
          transposed ? (n - 1) * s - 2 * p + d * (k - 1) + m + 1
                     : (n + 2 * p < d * (k - 1) + 1 ? 0 : (n + 2 * p - d * (k - 1) - 1) / s + 1);
      if (r < 1 || (rank == 3 && n > 5)) continue;
      kernel.push_back(k), stride.push_back(s), padding.push_back(p), dilation.push_back(d),
          more.push_back(m), size.push_back(n), result.push_back(r);
      break;
    }
  }
  const std::int64_t batch = choice.of<std::int64_t>({0, 1, 1, 1, 2, 2, 3, 5});
  Sizes input = size, weight = kernel, output = result;
  input.insert(input.begin(), {batch, in * groups});
  weight.insert(weight.begin(), {transposed ? in * groups : out * groups, transposed ? out : in});
  output.insert(output.begin(), {batch, out * groups});
  made.call.name = "convolution";
  made.call.op = "aten.convolution.default";
  made.call.attributes = {ints("stride", stride),       ints("padding", padding),
                          ints("dilation", dilation),   {"transposed", transposed},
                          ints("output_padding", more), {"groups", groups}};
  made.inputs.emplace_back(make_tensor(choice, dtype, input, false));
  made.inputs.emplace_back(make_tensor(choice, dtype, weight, false));
  add_bias(choice, made, dtype, out * groups);
  if (dtype == DType::float32 && !transposed && choice.one_in(6))
    made.inputs.emplace_back(make_tensor(choice, dtype, {out * groups}, false));
  weigh(choice, made);
  made.out = make_tensor(choice, dtype, output, true);
  add_post_ops(choice, made, dtype, 1);
  return made;
}

Call arbitrary_product(std::uint64_t seed) {
  Choice choice(seed);
  Call made;
  const DType dtype = choice.one_in(6) ? DType::float64 : arbitrary_dtype(choice);
  const auto size = [&] { return choice.of<std::int64_t>({1, 1, 2, 3, 5, 8, 16, 17, 31, 64}); };
  const std::int64_t m = choice.one_in(20) ? 0 : size(), n = size(),
                     k = choice.one_in(20) ? 0 : size();
  Sizes batch(static_cast<std::size_t>(choice.of<std::int64_t>({0, 0, 1, 1, 2})));
  for (std::int64_t& one : batch) one = choice.of<std::int64_t>({1, 2, 3, 4});
  const auto operand = [&](std::int64_t rows, std::int64_t columns) {
    Sizes sizes = batch;
    for (std::int64_t& one : sizes) one = choice.one_in(4) ? 1 : one;
    sizes.insert(sizes.end(), {rows, columns});
    return make_tensor(choice, dtype, sizes, false);
  };
  made.call.name = "matmul";
  made.call.op = "aten.mm.default";
  made.inputs.emplace_back(operand(m, k));
  made.inputs.emplace_back(operand(k, n));
  add_bias(choice, made, dtype, n);
  weigh(choice, made);
  Sizes output = batch;
  output.insert(output.end(), {m, n});
  made.out = make_tensor(choice, dtype, output, true);
  if (dtype != DType::float64) add_post_ops(choice, made, dtype, output.size() - 1);
  return made;
}

Call arbitrary_pool(std::uint64_t seed) {
  Choice choice(seed);
  Call made;
  const DType dtype = arbitrary_dtype(choice);
  const auto rank = static_cast<std::size_t>(choice.of<std::int64_t>({1, 2, 2, 3}));
  const bool maximum = choice.one_in(2), ceil = choice.one_in(3), counts = choice.one_in(2);
  Sizes kernel, stride, padding, dilation, size, result;
  for (std::size_t i = 0; i < rank; ++i) {
    while (true) {
      const std::int64_t k = choice.of<std::int64_t>({1, 2, 3, 5}),
                         s = choice.of<std::int64_t>({1, 2, 3}),
                         p = ceil && counts ? 0 : choice.below(k / 2 + 1);
      const std::int64_t n = choice.of<std::int64_t>({1, 2, 3, 4, 7, 8, 11}),
                         d = maximum ? choice.of<std::int64_t>({1, 1, 2}) : 1;
      const std::int64_t reach = d * (k - 1) + 1;
      if (n + 2 * p < reach || (maximum && d > 1 && p > 0))
        continue;  // so that a window holds an element of the image
      std::int64_t r = (n + 2 * p - reach + (ceil ? s - 1 : 0)) / s + 1;
      if (ceil && (r - 1) * s >= n + p) --r;
      kernel.push_back(k), stride.push_back(s), padding.push_back(p), dilation.push_back(d),
          size.push_back(n), result.push_back(r);
      break;
    }
  }
  Sizes input = size, output = result;
  const std::int64_t batch = choice.of<std::int64_t>({0, 1, 2, 3}),
                     channels = choice.of<std::int64_t>({1, 3, 8, 16, 17});
  input.insert(input.begin(), {batch, channels});
  output.insert(output.begin(), {batch, channels});
  made.call.name = maximum ? "pool_max" : "pool_avg";
  made.call.op = "aten.pool";
  made.call.attributes = {ints("kernel_size", kernel),
                          ints("stride", stride),
                          ints("padding", padding),
                          {"ceil_mode", ceil}};
  if (maximum)
    made.call.attributes.push_back(ints("dilation", dilation));
  else
    made.call.attributes.insert(
        made.call.attributes.end(),
        {{"count_include_pad", counts}, {"divisor_override", Argument::None{}}});
  made.inputs.emplace_back(make_tensor(choice, dtype, input, false));
  made.out = make_tensor(choice, dtype, output, true);
  return made;
}

namespace {

Sizes list(const LibraryCall& call, std::string_view name) {
  Sizes values;
  for (const NamedArgument& attribute : call.attributes) {
    if (attribute.name != name) continue;
    for (const Argument& item : attribute.value.as<Argument::Sequence>()->items)
      values.push_back(*item.as<std::int64_t>());
  }
  return values;
}

const Argument& attribute(const LibraryCall& call, std::string_view name) {
  return std::find_if(call.attributes.begin(), call.attributes.end(),
                      [&](const NamedArgument& a) { return a.name == name; })
      ->value;
}

/// An element before post-ops, and the sum of what was added, all positive: what rounding is
/// measured by.
struct Sum {
  double value = 0, magnitude = 0;
  void add(double x) {
    value += x;
    magnitude += std::fabs(x);
  }
};

Sum product_element(const Call& call, const Sizes& at) {
  const Tensor &a = *call.inputs[0], &b = *call.inputs[1];
  Sizes left = at, right = at;
  Sum sum;
  for (std::int64_t k = 0; k < a.operand.sizes.back(); ++k) {
    left[at.size() - 1] = k;
    right[at.size() - 2] = k;
    sum.add(a.get(a.place(left)) * b.get(b.place(right)));
  }
  if (call.inputs[2]) sum.add(call.inputs[2]->get(call.inputs[2]->place({at.back()})));
  return sum;
}

Sum convolution_element(const Call& call, const Sizes& at) {
  const Tensor &x = *call.inputs[0], &w = *call.inputs[1];
  const Sizes stride = list(call.call, "stride"), padding = list(call.call, "padding"),
              dilation = list(call.call, "dilation");
  const bool transposed = *attribute(call.call, "transposed").as<bool>();
  const std::int64_t groups = *attribute(call.call, "groups").as<std::int64_t>(),
                     out = call.out.operand.sizes[1] / groups;
  const std::int64_t in = x.operand.sizes[1] / groups, group = at[1] / out;
  Sum sum;
  for_each_index(Sizes(w.operand.sizes.begin() + 2, w.operand.sizes.end()), [&](const Sizes& tap) {
    Sizes source = at, kernel(2);
    for (std::size_t d = 0; d < tap.size(); ++d) {
      std::int64_t position = at[d + 2] * stride[d] - padding[d] + tap[d] * dilation[d];
      if (transposed) {
        position = at[d + 2] + padding[d] - tap[d] * dilation[d];
        if (position % stride[d] != 0) return;
        position /= stride[d];
      }
      if (position < 0 || position >= x.operand.sizes[d + 2]) return;
      source[d + 2] = position;
    }
    kernel.insert(kernel.end(), tap.begin(), tap.end());
    for (std::int64_t c = 0; c < in; ++c) {
      source[1] = group * in + c;
      kernel[0] = transposed ? source[1] : at[1];
      kernel[1] = transposed ? at[1] % out : c;
      // Sizes of 1 are no repetition here: a dim of one element has index 0 alone.
      sum.add(x.get(x.place(source)) * w.get(w.place(kernel)));
    }
  });
  if (call.inputs.size() > 3 && call.inputs[3]) {
    const double scale = call.inputs[3]->get(call.inputs[3]->place({at[1]}));
    sum.value *= scale;
  }
  if (call.inputs[2]) sum.add(call.inputs[2]->get(call.inputs[2]->place({at[1]})));
  return sum;
}

Sum pool_element(const Call& call, const Sizes& at) {
  const Tensor& x = *call.inputs[0];
  const Sizes window = list(call.call, "kernel_size"), stride = list(call.call, "stride"),
              padding = list(call.call, "padding");
  Sizes dilation = list(call.call, "dilation");
  dilation.resize(window.size(), 1);
  const bool maximum = call.call.name == "pool_max";
  std::int64_t inside = 0, padded = 1;
  for (std::size_t d = 0; d < window.size(); ++d) {
    const std::int64_t start = at[d + 2] * stride[d] - padding[d];
    padded *= std::min(start + window[d], x.operand.sizes[d + 2] + padding[d]) - start;
  }
  Sum sum;
  double best = -INFINITY;
  for_each_index(window, [&](const Sizes& tap) {
    Sizes source = at;
    for (std::size_t d = 0; d < tap.size(); ++d) {
      source[d + 2] = at[d + 2] * stride[d] - padding[d] + tap[d] * dilation[d];
      if (source[d + 2] < 0 || source[d + 2] >= x.operand.sizes[d + 2]) return;
    }
    ++inside;
    sum.add(x.get(x.place(source)));
    best = std::max(best, x.get(x.place(source)));
  });
  if (maximum) return {best, 1};
  return {sum.value / static_cast<double>(
                          *attribute(call.call, "count_include_pad").as<bool>() ? padded : inside),
          1};
}

std::vector<std::pair<double, double>> expected_elements(const Call& call) {
  std::vector<std::pair<double, double>> expected;
  for_each_index(call.out.operand.sizes, [&](const Sizes& at) {
    Sum sum = call.call.name == "matmul"        ? product_element(call, at)
              : call.call.name == "convolution" ? convolution_element(call, at)
                                                : pool_element(call, at);
    const double before = call.out.get(call.out.place(at));
    std::size_t next = 0;
    double x = sum.value, magnitude = sum.magnitude;
    for (const PostOp& op : call.call.post_ops) {
      const bool binary = op.kind == PostOp::Kind::add || op.kind == PostOp::Kind::mul;
      const double other = binary ? call.post_ops[next].get(call.post_ops[next].place(at)) : 0;
      next += binary;
      x = apply(op, x, other, before);
      magnitude += std::fabs(x) + 1;
    }
    expected.emplace_back(x, magnitude);
  });
  return expected;
}

}  // namespace

std::string Call::text() const {
  auto describe = [](const Tensor& t) {
    return fmt::format("{} [{}] strides [{}]", facts(t.operand.dtype).name,
                       fmt::join(t.operand.sizes, ", "), fmt::join(t.operand.strides, ", "));
  };
  std::string text = call.name;
  for (const auto& input : inputs) text += "\n  input " + (input ? describe(*input) : "none");
  for (const NamedArgument& argument : call.attributes) {
    if (argument.value.as<Argument::Sequence>())
      text += fmt::format("\n  {} [{}]", argument.name, fmt::join(list(call, argument.name), ", "));
    if (const auto* integer = argument.value.as<std::int64_t>())
      text += fmt::format("\n  {} {}", argument.name, *integer);
    if (const auto* truth = argument.value.as<bool>())
      text += fmt::format("\n  {} {}", argument.name, *truth);
  }
  std::size_t next = 0;
  for (const PostOp& op : call.post_ops) {
    text += fmt::format("\n  post-op {}", to_string(op.kind));
    if (op.kind == PostOp::Kind::add || op.kind == PostOp::Kind::mul)
      text += " " + describe(post_ops[next++]);
  }
  return text + "\n  out " + describe(out) + (version == kUnversioned ? "" : "\n  packed");
}

std::string problem_of(Library& library, Call& call, std::string& implementation) {
  LibraryOperands operands;
  for (const auto& input : call.inputs) {
    operands.inputs.push_back(input ? input->operand : Operand{});
    operands.present.push_back(input.has_value());
  }
  operands.outputs.push_back(call.out.operand);
  for (const Tensor& tensor : call.post_ops) operands.post_ops.push_back(tensor.operand);
  operands.varying = call.varying;
  auto kernel = library.make(call.call, operands);
  if (!kernel) return "refused: " + kernel.error().message;
  implementation = std::string((*kernel)->implementation());
  for (const int turn : {0, 1}) {
    const std::vector<std::pair<double, double>> expected = expected_elements(call);
    Tensor before = call.out;
    std::vector<void*> inputs, post_ops, outputs{call.out.data()};
    for (auto& input : call.inputs) inputs.push_back(input ? input->data() : nullptr);
    for (Tensor& tensor : call.post_ops) post_ops.push_back(tensor.data());
    const std::vector<std::uint64_t> versions(inputs.size(), call.version);
    std::unique_ptr<void, decltype(&std::free)> scratch(
        std::aligned_alloc(64, ((*kernel)->scratch_bytes() + 127) / 64 * 64), std::free);
    if (auto ran = (*kernel)->run({inputs, outputs, post_ops, versions, scratch.get()}); !ran)
      return "failed: " + ran.error().message;
    const double tolerance = call.out.operand.dtype == DType::bfloat16 ? 0.01 : 1e-5;
    std::size_t at = 0;
    std::string problem;
    for_each_index(call.out.operand.sizes, [&](const Sizes& index) {
      const auto [want, magnitude] = expected[at++];
      const std::int64_t place = call.out.place(index);
      const double got = call.out.get(place);
      if (problem.empty() && !(std::fabs(got - want) <= tolerance * (1 + magnitude))) {
        problem =
            fmt::format("turn {}: [{}] is {} for {}", turn, fmt::join(index, ", "), got, want);
      }
      before.set(place, got);
    });
    if (!problem.empty()) return problem;
    if (before.memory != call.out.memory) return "wrote beside the result";
    // Other contents in the second run, and another version of them.
    for (auto& input : call.inputs) {
      if (input)
        for (std::int64_t i = 0;
             i < static_cast<std::int64_t>(input->memory.size()) / input->element_size(); ++i)
          input->set(i, -input->get(i) / 2);
    }
    if (call.version != kUnversioned) ++call.version;
  }
  return {};
}

}  // namespace penstock::runtime::sweep
