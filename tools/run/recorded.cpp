#include "tools/run/recorded.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <unordered_map>
#include <unordered_set>

#include "embedding/tensor_copy.h"
#include "formats/safetensors.h"

namespace penstock::tools {
namespace {

using Compared = formats::ResultDocument::Compared;
using ops::HostTensor;

/// The values of symbols: those at capture, and those of the tensors at hand.
class SymbolValues {
 public:
  explicit SymbolValues(const Interface& interface) {
    for (const Symbol& symbol : interface.symbols) {
      if (symbol.hint) values_[symbol.name] = *symbol.hint;
      if (symbol.hint && symbol.source != kNoSource) by_source_[symbol.source] = *symbol.hint;
    }
  }
  std::optional<std::int64_t> operator()(const SymExpr& expression) const {
    return expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
      auto found = values_.find(std::string(name));
      return found == values_.end() ? std::nullopt : std::optional(found->second);
    });
  }
  std::optional<std::int64_t> at(SourceId source) const {
    auto found = by_source_.find(source);
    return found == by_source_.end() ? std::nullopt : std::optional(found->second);
  }
  /// PS0806 unless the sizes are those at capture.
  Result<void> check_recorded(const Interface& interface) const {
    for (const Symbol& symbol : interface.symbols) {
      auto found = values_.find(symbol.name);
      if (!symbol.hint || found == values_.end() || found->second == *symbol.hint) continue;
      return failure(Code::PS0806,
                     fmt::format("the recorded inputs have {} = {}, the graph was captured with {}",
                                 symbol.name, found->second, *symbol.hint));
    }
    return {};
  }
  /// The sizes of `inputs` that are symbols, and the numbers that symbols are read from.
  template <class Tensors, class TensorOf>
  void take(const Interface& interface, const Tensors& inputs, const TensorOf& tensor_of) {
    std::unordered_set<std::string> taken;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      take(interface, interface.inputs[i], tensor_of(inputs[i]), taken);
  }

 private:
  void take(const Interface& interface, const Input& input, const HostTensor& tensor,
            std::unordered_set<std::string>& taken) {
    auto set = [&](std::string_view name, std::int64_t value) {
      if (!name.empty() && taken.emplace(name).second) values_[std::string(name)] = value;
    };
    if (input.kind == InputKind::size && tensor.dtype == DType::int64 && tensor.sizes.empty()) {
      for (const Symbol& symbol : interface.symbols) {
        if (symbol.source == input.source) set(symbol.name, tensor.integer_at(tensor.offset));
      }
    }
    for (std::size_t d = 0; d < std::min(input.type.rank(), tensor.sizes.size()); ++d) {
      set(input.type.sizes[d].symbol_name(), tensor.sizes[d]);
    }
  }

  std::unordered_map<std::string, std::int64_t> values_;
  std::unordered_map<SourceId, std::int64_t> by_source_;
};

/// How a tensor of these sizes lies by `type`, if that can be told and is not row-major.
std::optional<TensorType> other_layout(const std::vector<std::int64_t>& sizes,
                                       const TensorType& type, const SymbolValues& values) {
  TensorType concrete = type;
  concrete.storage_offset = 0;
  bool known = type.strides.size() == sizes.size() && type.sizes.size() == sizes.size();
  for (std::size_t i = 0; known && i < sizes.size(); ++i) {
    auto stride = values(type.strides[i]);
    known = stride.has_value();
    concrete.sizes[i] = sizes[i];
    if (known) concrete.strides[i] = *stride;
  }
  if (!known || is_contiguous(concrete)) return std::nullopt;
  return concrete;
}

HostTensor laid_out(HostTensor tensor, const TensorType& type) {
  HostTensor out = HostTensor::allocate(type);
  const std::size_t size = facts(tensor.dtype).size;
  const std::vector<std::int64_t> from = tensor.places(), to = out.places();
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::memcpy(out.memory->data() + static_cast<std::size_t>(to[i]) * size,
                tensor.memory->data() + static_cast<std::size_t>(from[i]) * size, size);
  }
  return out;
}

/// A tangent that nobody recorded: numbers between -1 and 1, the same in every run.
Result<HostTensor> seeded(const Input& input, const SymbolValues& values) {
  std::vector<std::int64_t> sizes;
  for (const SymExpr& size : input.type.sizes) {
    const std::optional<std::int64_t> known = values(size);
    if (!known)
      return failure(Code::PS0805, fmt::format("nobody knows the sizes of {}", input.name));
    sizes.push_back(*known);
  }
  HostTensor out = HostTensor::contiguous(input.type.dtype, sizes);
  std::seed_seq seed(input.name.begin(), input.name.end());
  std::mt19937 bits(seed);
  std::vector<double> numbers(static_cast<std::size_t>(out.count()));
  for (double& number : numbers) number = static_cast<double>(bits()) / 0x1p31 - 1;
  out.assign(numbers);
  return out;
}

/// An input without a blob.
Result<HostTensor> recorded_number(const Input& input, const SymbolValues& values) {
  if (input.kind == InputKind::tangent) return seeded(input, values);
  auto value = input.kind == InputKind::size ? values.at(input.source) : std::nullopt;
  if (!value)
    return failure(Code::PS0805, fmt::format("nothing was recorded for input {}", input.name));
  HostTensor out = HostTensor::contiguous(DType::int64, {});
  out.set_integer(0, *value);
  return out;
}

Result<HostTensor> recorded_input(const Input& input, const SymbolValues& values,
                                  const store::Store& store) {
  if (input.blob.empty()) return recorded_number(input, values);
  Result<formats::TensorBlob> blob = formats::get_tensor(store, input.blob);
  if (!blob) return tl::unexpected(blob.error());
  return row_major_copy(blob->tensor);
}

/// PS0806 unless the graph is called with such tensors.
Result<void> check_type(const HostTensor& tensor, const Input& input, const SymbolValues& values) {
  const TensorType& type = input.type;
  bool fits = tensor.dtype == type.dtype && tensor.sizes.size() == type.rank();
  for (std::size_t d = 0; fits && d < type.rank(); ++d) {
    fits = values(type.sizes[d]).value_or(tensor.sizes[d]) == tensor.sizes[d];
  }
  if (fits) return {};
  return failure(Code::PS0806,
                 fmt::format("input {} is {}{}, the graph is called with {}", input.name,
                             facts(tensor.dtype).name, tensor.sizes, to_string(type)));
}

/// Numbers are copied, as the values of symbols are read from them.
Result<ExecutorInput> mapped_input(const Input& input, const SymbolValues& values,
                                   const store::Store& store) {
  if (input.blob.empty() || input.kind == InputKind::size) {
    auto tensor = recorded_input(input, values, store);
    if (!tensor) return tl::unexpected(std::move(tensor.error()));
    return ExecutorInput{std::move(*tensor), nullptr, false};
  }
  Result<formats::TensorBlob> blob = formats::get_tensor(store, input.blob, false);
  if (!blob) return tl::unexpected(blob.error());
  ExecutorInput made;
  made.stored = std::make_shared<embedding::StoredInput>(input.blob, std::move(*blob));
  const formats::TensorBytes& bytes = made.stored->tensor();
  made.tensor.dtype = bytes.dtype;
  made.tensor.sizes = bytes.sizes;
  made.tensor.strides = embedding::row_major_strides(bytes.sizes);
  return made;
}

/// Gives an input memory of its own where the mapped one does not do.
Result<void> settle(ExecutorInput& input, const std::optional<TensorType>& layout) {
  if (input.stored != nullptr && (layout || input.written)) {
    if (auto whole = input.stored->check(); !whole) return whole;
    input.tensor = row_major_copy(input.stored->tensor());
    if (layout) input.stored->set_strides(HostTensor::allocate(*layout).strides);
    if (input.written) input.stored = nullptr;
  }
  if (layout) input.tensor = laid_out(std::move(input.tensor), *layout);
  return {};
}

void mark_written(const Interface& interface, std::vector<ExecutorInput>& inputs) {
  for (const Mutation& mutation : interface.mutations)
    inputs[static_cast<std::size_t>(mutation.input)].written = true;
}

/// Error of floating-point results, or the reason why they differ beyond any error.
void compare_reals(const HostTensor& actual, const HostTensor& expected, double tolerance,
                   Compared& out) {
  const std::vector<double> a = actual.reals(), b = expected.reals();
  const std::size_t parts = is_complex(actual.dtype) ? 2 : 1;
  double difference = 0, magnitude = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    bool same_special = std::isnan(b[i]) ? std::isnan(a[i]) : std::isinf(b[i]) && a[i] == b[i];
    if (std::isfinite(a[i]) && std::isfinite(b[i])) {
      difference = std::max(difference, std::abs(a[i] - b[i]));
      magnitude = std::max(magnitude, std::abs(b[i]));
    } else if (!same_special) {
      out.reason = fmt::format("element {} is {}, was {}", i / parts, a[i], b[i]);
      return;
    }
  }
  out.error = difference / (magnitude + 1e-6);
  out.same = out.error <= tolerance;
}

/// What rounding alone may add to the error. ATen's own kernels of bfloat16, which it takes on CPUs
/// without such instructions, round parts of a sum: two of them differ by a unit in the last place.
double rounding_of(DType dtype) {
  return dtype == DType::bfloat16 ? 0x1p-7 : 0;
}

Compared compare(const HostTensor& actual, const HostTensor& expected, double tolerance) {
  Compared out;
  if (actual.dtype != expected.dtype) {
    out.reason =
        fmt::format("dtype {}, was {}", facts(actual.dtype).name, facts(expected.dtype).name);
  } else if (actual.sizes != expected.sizes) {
    out.reason = fmt::format("sizes {}, were {}", actual.sizes, expected.sizes);
  } else if (is_floating(actual.dtype) || is_complex(actual.dtype)) {
    compare_reals(actual, expected, tolerance + rounding_of(actual.dtype), out);
  } else {
    const std::vector<std::int64_t> a = actual.integers(), b = expected.integers();
    auto at = std::mismatch(a.begin(), a.end(), b.begin());
    out.same = at.first == a.end();
    if (!out.same) {
      out.reason =
          fmt::format("element {} is {}, was {}", at.first - a.begin(), *at.first, *at.second);
    }
  }
  return out;
}

/// What is given for an input, taken out of `given`.
std::optional<HostTensor> taken(GivenInputs& given, const Input& input) {
  auto node = given.extract(input.name);
  return node.empty() ? std::nullopt : std::optional(std::move(node.mapped()));
}

}  // namespace

Result<std::vector<HostTensor>> recorded_inputs(const Interface& interface,
                                                const store::Store& store, GivenInputs given) {
  SymbolValues values(interface);
  std::vector<HostTensor> out;
  for (const Input& input : interface.inputs) {
    if (auto tensor = taken(given, input)) {
      out.push_back(std::move(*tensor));
      continue;
    }
    Result<HostTensor> tensor = recorded_input(input, values, store);
    if (!tensor) return tl::unexpected(tensor.error());
    out.push_back(std::move(*tensor));
  }
  return out;
}

Result<std::vector<HostTensor>> laid_out(const Interface& interface,
                                         std::vector<HostTensor> inputs) {
  SymbolValues values(interface);
  values.take(interface, inputs,
              [](const HostTensor& tensor) -> const HostTensor& { return tensor; });
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = interface.inputs[i];
    if (auto fits = check_type(inputs[i], input, values); !fits)
      return tl::unexpected(std::move(fits.error()));
    auto layout = other_layout(inputs[i].sizes, input.type, values);
    if (layout) inputs[i] = laid_out(std::move(inputs[i]), *layout);
  }
  return inputs;
}

HostTensor row_major_copy(const formats::TensorBytes& tensor) {
  HostTensor out = HostTensor::contiguous(tensor.dtype, tensor.sizes);
  std::memcpy(out.memory->data(), tensor.bytes.data(),
              std::min(tensor.bytes.size(), out.memory->size()));
  return out;
}

void* ExecutorInput::data() const {
  if (tensor.memory == nullptr) return const_cast<char*>(stored->tensor().bytes.data());
  return tensor.memory->data() +
         tensor.offset * static_cast<std::int64_t>(facts(tensor.dtype).size);
}

Result<std::vector<ExecutorInput>> mapped_inputs(const Interface& interface,
                                                 const store::Store& store, GivenInputs given) {
  SymbolValues values(interface);
  std::vector<ExecutorInput> out;
  const bool recorded = given.empty();
  for (const Input& input : interface.inputs) {
    if (auto tensor = taken(given, input)) {
      out.push_back({std::move(*tensor), nullptr, false});
      continue;
    }
    auto mapped = mapped_input(input, values, store);
    if (!mapped) return tl::unexpected(std::move(mapped.error()));
    out.push_back(std::move(*mapped));
  }
  mark_written(interface, out);
  values.take(interface, out,
              [](const ExecutorInput& input) -> const HostTensor& { return input.tensor; });
  if (recorded) {
    if (auto same = values.check_recorded(interface); !same)
      return tl::unexpected(std::move(same.error()));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Input& input = interface.inputs[i];
    if (auto fits = check_type(out[i].tensor, input, values); !fits)
      return tl::unexpected(std::move(fits.error()));
    auto settled = settle(out[i], other_layout(out[i].tensor.sizes, input.type, values));
    if (!settled) return tl::unexpected(std::move(settled.error()));
  }
  return out;
}

std::vector<ExecutorInput> executor_inputs(const Interface& interface,
                                           std::vector<HostTensor> inputs) {
  std::vector<ExecutorInput> out;
  for (HostTensor& input : inputs) out.push_back({std::move(input), nullptr, false});
  mark_written(interface, out);
  return out;
}

Result<std::vector<Compared>> compare_outputs(const Interface& interface,
                                              const std::vector<HostTensor>& outputs,
                                              double tolerance, const store::Store& store) {
  std::vector<Compared> out;
  for (std::size_t i = 0; i < interface.outputs.size() && i < outputs.size(); ++i) {
    const std::string& hash = interface.outputs[i].blob;
    if (hash.empty()) continue;
    Result<formats::TensorBlob> blob = formats::get_tensor(store, hash);
    if (!blob) return tl::unexpected(blob.error());
    Compared row = compare(outputs[i], row_major_copy(blob->tensor), tolerance);
    row.index = static_cast<std::int32_t>(i);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace penstock::tools
