#include "tools/run/recorded.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "formats/safetensors.h"

namespace penstock::tools {
namespace {

using Compared = formats::ResultDocument::Compared;
using ops::HostTensor;

HostTensor contiguous_copy(const formats::TensorBytes& tensor) {
  HostTensor out = HostTensor::contiguous(tensor.dtype, tensor.sizes);
  std::memcpy(out.memory->data(), tensor.bytes.data(),
              std::min(tensor.bytes.size(), out.memory->size()));
  return out;
}

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
  /// The sizes of `inputs` that are symbols, and the numbers that symbols are read from.
  void take(const Interface& interface, const std::vector<HostTensor>& inputs) {
    std::unordered_set<std::string> taken;
    auto set = [&](std::string_view name, std::int64_t value) {
      if (!name.empty() && taken.emplace(name).second) values_[std::string(name)] = value;
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Input& input = interface.inputs[i];
      if (input.kind == InputKind::size && inputs[i].dtype == DType::int64 && inputs[i].sizes.empty()) {
        for (const Symbol& symbol : interface.symbols) {
          if (symbol.source == input.source) set(symbol.name, inputs[i].integer_at(inputs[i].offset));
        }
      }
      for (std::size_t d = 0; d < std::min(input.type.rank(), inputs[i].sizes.size()); ++d) {
        set(input.type.sizes[d].symbol_name(), inputs[i].sizes[d]);
      }
    }
  }

 private:
  std::unordered_map<std::string, std::int64_t> values_;
  std::unordered_map<SourceId, std::int64_t> by_source_;
};

/// `tensor` with the strides of `type`, if they can be told and are not the row-major ones.
HostTensor laid_out(HostTensor tensor, const TensorType& type, const SymbolValues& values) {
  TensorType concrete = type;
  concrete.storage_offset = 0;
  bool known =
      type.strides.size() == tensor.sizes.size() && type.sizes.size() == tensor.sizes.size();
  for (std::size_t i = 0; known && i < tensor.sizes.size(); ++i) {
    auto stride = values(type.strides[i]);
    known = stride.has_value();
    concrete.sizes[i] = tensor.sizes[i];
    if (known) concrete.strides[i] = *stride;
  }
  if (!known || is_contiguous(concrete)) return tensor;
  HostTensor out = HostTensor::allocate(concrete);
  const std::size_t size = facts(tensor.dtype).size;
  const std::vector<std::int64_t> from = tensor.places(), to = out.places();
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::memcpy(out.memory->data() + static_cast<std::size_t>(to[i]) * size,
                tensor.memory->data() + static_cast<std::size_t>(from[i]) * size, size);
  }
  return out;
}

Result<HostTensor> recorded_input(const Input& input, const SymbolValues& values,
                                  const store::Store& store) {
  if (input.blob.empty()) {
    if (auto value = input.kind == InputKind::size ? values.at(input.source) : std::nullopt) {
      HostTensor out = HostTensor::contiguous(DType::int64, {});
      out.set_integer(0, *value);
      return out;
    }
    return failure(Code::PS0805, fmt::format("nothing was recorded for input {}", input.name));
  }
  Result<formats::TensorBlob> blob = formats::get_tensor(store, input.blob);
  if (!blob) return tl::unexpected(blob.error());
  return contiguous_copy(blob->tensor);
}

bool has_type(const HostTensor& tensor, const TensorType& type, const SymbolValues& values) {
  if (tensor.dtype != type.dtype || tensor.sizes.size() != type.rank()) return false;
  for (std::size_t d = 0; d < type.rank(); ++d) {
    if (values(type.sizes[d]).value_or(tensor.sizes[d]) != tensor.sizes[d]) return false;
  }
  return true;
}

/// Error of floating-point results, or the reason why they differ beyond any error.
void compare_reals(const std::vector<double>& a, const std::vector<double>& b, double tolerance,
                   Compared& out) {
  double difference = 0, magnitude = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    bool same_special = std::isnan(b[i]) ? std::isnan(a[i]) : std::isinf(b[i]) && a[i] == b[i];
    if (std::isfinite(a[i]) && std::isfinite(b[i])) {
      difference = std::max(difference, std::abs(a[i] - b[i]));
      magnitude = std::max(magnitude, std::abs(b[i]));
    } else if (!same_special) {
      out.reason = fmt::format("element {} is {}, was {}", i, a[i], b[i]);
      return;
    }
  }
  out.error = difference / (magnitude + 1e-6);
  out.same = out.error <= tolerance;
}

Compared compare(const HostTensor& actual, const HostTensor& expected, double tolerance) {
  Compared out;
  if (actual.dtype != expected.dtype) {
    out.reason =
        fmt::format("dtype {}, was {}", facts(actual.dtype).name, facts(expected.dtype).name);
  } else if (actual.sizes != expected.sizes) {
    out.reason = fmt::format("sizes {}, were {}", actual.sizes, expected.sizes);
  } else if (is_floating(actual.dtype)) {
    compare_reals(actual.reals(), expected.reals(), tolerance, out);
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

}  // namespace

Result<std::vector<HostTensor>> recorded_inputs(const Interface& interface,
                                                const store::Store& store) {
  SymbolValues values(interface);
  std::vector<HostTensor> out;
  for (const Input& input : interface.inputs) {
    Result<HostTensor> tensor = recorded_input(input, values, store);
    if (!tensor) return tl::unexpected(tensor.error());
    out.push_back(std::move(*tensor));
  }
  return out;
}

Result<std::vector<HostTensor>> laid_out(const Interface& interface, std::vector<HostTensor> inputs) {
  SymbolValues values(interface);
  values.take(interface, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = interface.inputs[i];
    if (!has_type(inputs[i], input.type, values)) {
      return failure(Code::PS0806, fmt::format("input {} is {}{}, the graph is called with {}", input.name,
                                               facts(inputs[i].dtype).name, inputs[i].sizes,
                                               to_string(input.type)));
    }
    inputs[i] = laid_out(std::move(inputs[i]), input.type, values);
  }
  return inputs;
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
    Compared row = compare(outputs[i], contiguous_copy(blob->tensor), tolerance);
    row.index = static_cast<std::int32_t>(i);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace penstock::tools
