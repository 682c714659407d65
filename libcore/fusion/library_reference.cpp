#include "fusion/library_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/index_range.h"
#include "ops/sorted_positions.h"

namespace penstock::fusion {

namespace {

using ops::HostTensor;
using Index = std::vector<std::int64_t>;

std::int64_t place(const HostTensor& tensor, const Index& index) {
  std::int64_t place = tensor.offset;
  for (std::size_t i = 0; i < index.size(); ++i) place += index[i] * tensor.strides[i];
  return place;
}

double number(const HostTensor& tensor, const Index& index) {
  return tensor.real_at(place(tensor, index));
}

/// `index` on a tensor that may have fewer dims, or size 1 where the index is larger.
double broadcast_number(const HostTensor& tensor, const Index& index) {
  Index own(tensor.sizes.size());
  std::size_t skip = index.size() - own.size();
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = tensor.sizes[i] == 1 ? 0 : index[i + skip];
  return number(tensor, own);
}

/// Calls visit(index) for every index below `sizes`, the last dim fastest.
template <class Visit>
void for_each_index(const Index& sizes, const Visit& visit) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  Index index(sizes.size(), 0);
  while (true) {
    visit(index);
    std::size_t i = sizes.size();
    while (i > 0 && ++index[i - 1] == sizes[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

/// Attributes of a call.
class Attributes {
 public:
  explicit Attributes(const LibraryCall& call) : call_(call) {}
  const Argument* find(std::string_view name) const {
    for (const NamedArgument& attribute : call_.attributes) {
      if (attribute.name == name) return &attribute.value;
    }
    return nullptr;
  }
  Index list(std::string_view name) const {
    Index result;
    const Argument* argument = find(name);
    const auto* sequence = argument != nullptr ? argument->as<Argument::Sequence>() : nullptr;
    if (sequence == nullptr) return result;
    for (const Argument& item : sequence->items) {
      const auto* integer = item.as<std::int64_t>();
      result.push_back(integer != nullptr ? *integer : 0);
    }
    return result;
  }
  std::int64_t integer(std::string_view name, std::int64_t missing) const {
    const Argument* argument = find(name);
    const auto* value = argument != nullptr ? argument->as<std::int64_t>() : nullptr;
    return value != nullptr ? *value : missing;
  }
  bool flag(std::string_view name) const {
    const Argument* argument = find(name);
    const auto* value = argument != nullptr ? argument->as<bool>() : nullptr;
    return value != nullptr && *value;
  }

 private:
  const LibraryCall& call_;
};

double matmul_element(const HostTensor& a, const HostTensor& b, const HostTensor* bias,
                      const Index& at) {
  Index left = at, right = at;
  std::size_t m = at.size() - 2, n = at.size() - 1;
  for (std::size_t i = 0; i < m; ++i) {
    if (a.sizes[i] == 1) left[i] = 0;
    if (b.sizes[i] == 1) right[i] = 0;
  }
  double sum = 0;
  for (std::int64_t k = 0; k < a.sizes[n]; ++k) {
    left[n] = k;
    right[m] = k;
    sum += number(a, left) * number(b, right);
  }
  return bias == nullptr ? sum : sum + broadcast_number(*bias, {at[n]});
}

/// Input positions that kernel element `tap` reads for output position `out` of one dim; -1: none.
std::int64_t source_position(const Attributes& attributes, std::size_t dim, std::int64_t out,
                             std::int64_t tap, std::int64_t size) {
  std::int64_t stride = attributes.list("stride")[dim], padding = attributes.list("padding")[dim];
  Index dilations = attributes.list("dilation");
  std::int64_t dilation = dilations.empty() ? 1 : dilations[dim];
  std::int64_t position;
  if (attributes.flag("transposed")) {
    position = out + padding - tap * dilation;
    if (position % stride != 0) return -1;
    position /= stride;
  } else {
    position = out * stride - padding + tap * dilation;
  }
  return position >= 0 && position < size ? position : -1;
}

double convolution_element(const Attributes& attributes, const HostTensor& input,
                           const HostTensor& weight, const HostTensor* bias,
                           const HostTensor* scale, const Index& at, std::int64_t out_channels) {
  std::int64_t groups = attributes.integer("groups", 1);
  bool transposed = attributes.flag("transposed");
  std::int64_t in_per_group = input.sizes[1] / groups, out_per_group = out_channels / groups;
  std::int64_t group = at[1] / out_per_group;
  Index taps(weight.sizes.begin() + 2, weight.sizes.end());
  double sum = 0;
  for_each_index(taps, [&](const Index& tap) {
    Index source = at;
    for (std::size_t d = 0; d < tap.size(); ++d) {
      source[d + 2] = source_position(attributes, d, at[d + 2], tap[d], input.sizes[d + 2]);
      if (source[d + 2] < 0) return;
    }
    Index kernel(weight.sizes.size());
    std::copy(tap.begin(), tap.end(), kernel.begin() + 2);
    for (std::int64_t c = 0; c < in_per_group; ++c) {
      source[1] = group * in_per_group + c;
      kernel[0] = transposed ? source[1] : at[1];
      kernel[1] = transposed ? at[1] % out_per_group : c;
      sum += number(input, source) * number(weight, kernel);
    }
  });
  if (scale != nullptr) sum *= broadcast_number(*scale, {at[1]});
  return bias == nullptr ? sum : sum + broadcast_number(*bias, {at[1]});
}

double pool_element(const Attributes& attributes, const HostTensor& input, const Index& at,
                    bool maximum) {
  Index window = attributes.list("kernel_size");
  double best = -std::numeric_limits<double>::infinity(), sum = 0;
  std::int64_t inside = 0, padded = 1;
  for (std::size_t d = 0; d < window.size(); ++d) {
    // What counts as padding ends where the padded input does.
    std::int64_t stride = attributes.list("stride")[d], padding = attributes.list("padding")[d];
    std::int64_t start = at[d + 2] * stride - padding;
    std::int64_t end = std::min(start + window[d], input.sizes[d + 2] + padding);
    padded *= end - start;
  }
  for_each_index(window, [&](const Index& tap) {
    Index source = at;
    for (std::size_t d = 0; d < tap.size(); ++d) {
      source[d + 2] = source_position(attributes, d, at[d + 2], tap[d], input.sizes[d + 2]);
      if (source[d + 2] < 0) return;
    }
    double value = number(input, source);
    best = std::isnan(value) || std::isnan(best) ? std::nan("") : std::max(best, value);
    sum += value;
    ++inside;
  });
  if (maximum) return best;
  std::int64_t divisor = attributes.flag("count_include_pad") ? padded : inside;
  return sum / static_cast<double>(attributes.integer("divisor_override", divisor));
}

/// The first elements along a dim in their order, and their positions, as many as the results hold.
void put_in_order(const LibraryCall& call, const Attributes& attributes, const HostTensor& input,
                  HostTensor values, HostTensor positions) {
  const auto dim = static_cast<std::size_t>(attributes.integer("dim", 0));
  ops::SortOrder order =
      attributes.flag("sorted") ? ops::SortOrder::first : ops::SortOrder::first_unsorted;
  if (call.name == "sort")
    order = attributes.flag("stable") ? ops::SortOrder::stable : ops::SortOrder::unstable;
  const bool scalar = input.sizes.empty();
  Index strips = values.sizes;
  if (!scalar) strips[dim] = std::min<std::int64_t>(strips[dim], 1);
  for_each_index(strips, [&](Index at) {
    std::int64_t scalar_place = 0;
    std::int64_t& along = scalar ? scalar_place : at[dim];
    std::vector<double> elements;
    for (along = 0; along < (scalar ? 1 : input.sizes[dim]); ++along)
      elements.push_back(number(input, at));
    const std::int64_t count = scalar ? 1 : values.sizes[dim];
    const auto order_of_elements =
        ops::sorted_positions(elements, count, attributes.flag("descending"), order);
    for (along = 0; along < count; ++along) {
      const std::int64_t position = order_of_elements[static_cast<std::size_t>(along)];
      values.set_real(place(values, at), elements[static_cast<std::size_t>(position)]);
      positions.set_real(place(positions, at), static_cast<double>(position));
    }
  });
}

void copy(const HostTensor& from, const HostTensor& to) {
  const auto size = static_cast<std::size_t>(facts(to.dtype).size);
  for_each_index(to.sizes, [&](const Index& at) {
    std::memmove(to.memory->data() + place(to, at) * size,
                 from.memory->data() + place(from, at) * size, size);
  });
}

/// Where a row of bool is true.
Result<void> find_places(const HostTensor& marks, const HostTensor& places) {
  std::vector<std::int64_t> found;
  const std::vector<std::int64_t> all = marks.integers();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != 0) found.push_back(static_cast<std::int64_t>(i));
  }
  if (static_cast<std::int64_t>(found.size()) != places.sizes.front())
    return failure(Code::PS0808, fmt::format("nonzero finds {} places, not {}", found.size(),
                                             places.sizes.front()));
  HostTensor target = places;
  target.assign(found);
  return {};
}

Result<void> copy_row(const LibraryCall& call, HostTensor from, const HostTensor& turn,
                      HostTensor to) {
  HostTensor& rows = call.name == "take_row" ? from : to;
  const std::int64_t row = turn.integer_at(turn.offset);
  if (row < 0 || row >= rows.sizes.front())
    return failure(Code::PS0808,
                   fmt::format("{} of row {}, there are {}", call.name, row, rows.sizes.front()));
  rows.offset += row * rows.strides.front();
  rows.sizes.erase(rows.sizes.begin());
  rows.strides.erase(rows.strides.begin());
  copy(from, to);
  return {};
}

Result<void> check_index(const LibraryCall& call, const HostTensor& elements) {
  const IndexRange range = index_range(call.attributes);
  for (const std::int64_t element : elements.integers()) {
    if (!range.holds(element))
      return failure(Code::PS0808, beyond_message(call.op, element, range));
  }
  return {};
}

}  // namespace

Result<void> run_library_call(const LibraryCall& call,
                              const std::function<ops::HostTensor(BufferId)>& tensor) {
  if (find_library_call(call.name) == nullptr) {
    return failure(Code::PS0205, fmt::format("the library has no {}", call.name));
  }
  Attributes attributes(call);
  if (call.name == "bernoulli") return failure(Code::PS0602, "bernoulli draws random numbers");
  HostTensor first = tensor(call.inputs[0]);
  if (call.name == "check_index") return check_index(call, first);
  HostTensor out = tensor(call.outputs.front());
  if (call.name == "sort" || call.name == "topk") {
    put_in_order(call, attributes, first, out, tensor(call.outputs[1]));
    return {};
  }
  if (call.name == "copy") {
    copy(first, out);
    return {};
  }
  if (call.name == "nonzero") return find_places(first, out);
  if (call.name == "take_row" || call.name == "put_row")
    return copy_row(call, first, tensor(call.inputs[1]), out);
  bool takes_weight = call.inputs.size() > 1;
  HostTensor second = takes_weight ? tensor(call.inputs[1]) : first;
  bool biased = call.inputs.size() > 2 && call.inputs[2] != kNoBuffer;
  HostTensor bias = biased ? tensor(call.inputs[2]) : first;
  bool scaled = call.inputs.size() > 3 && call.inputs[3] != kNoBuffer;
  HostTensor scale = scaled ? tensor(call.inputs[3]) : first;
  std::vector<HostTensor> operands;
  for (const PostOp& op : call.post_ops) {
    operands.push_back(op.operand == kNoBuffer ? first : tensor(op.operand));
  }
  for_each_index(out.sizes, [&](const Index& at) {
    double before = number(out, at), x;
    const HostTensor* addend = biased ? &bias : nullptr;
    if (call.name == "matmul") {
      x = matmul_element(first, second, addend, at);
    } else if (call.name == "convolution") {
      x = convolution_element(attributes, first, second, addend, scaled ? &scale : nullptr, at,
                              out.sizes[1]);
    } else {
      x = pool_element(attributes, first, at, call.name == "pool_max");
    }
    for (std::size_t i = 0; i < call.post_ops.size(); ++i) {
      bool has_operand = call.post_ops[i].operand != kNoBuffer;
      x = apply(call.post_ops[i], x, has_operand ? broadcast_number(operands[i], at) : 0, before);
    }
    out.set_real(place(out, at), x);
  });
  return {};
}

}  // namespace penstock::fusion
