// Where a run reads the symbols of a bundle.
#include <algorithm>

#include "runtime/plan.h"

namespace penstock::runtime {

namespace {

std::optional<SymbolBinding> find_symbol(const KernelBundle& bundle, const std::string& name) {
  const auto& inputs = bundle.interface.inputs;
  auto places = [&](auto member, SymbolBinding::Kind kind) -> std::optional<SymbolBinding> {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::vector<SymExpr>& list = inputs[i].type.*member;
      for (std::size_t d = 0; d < list.size(); ++d) {
        if (list[d].symbol_name() != name) continue;
        return SymbolBinding{kind, static_cast<std::int32_t>(i), static_cast<std::int32_t>(d)};
      }
    }
    return std::nullopt;
  };
  if (auto size = places(&TensorType::sizes, SymbolBinding::Kind::size)) return size;
  if (auto stride = places(&TensorType::strides, SymbolBinding::Kind::stride)) return stride;
  for (const Symbol& symbol : bundle.interface.symbols) {
    if (symbol.name != name || symbol.source == kNoSource) continue;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].kind == InputKind::size && inputs[i].source == symbol.source) {
        return SymbolBinding{SymbolBinding::Kind::number, static_cast<std::int32_t>(i), 0};
      }
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == InputKind::size && inputs[i].name == name) {
      return SymbolBinding{SymbolBinding::Kind::number, static_cast<std::int32_t>(i), 0};
    }
  }
  return std::nullopt;
}

}  // namespace

std::int64_t bound_value(const SymbolBinding& binding, std::span<const TensorArgument> inputs) {
  if (binding.kind == SymbolBinding::Kind::decided) return 0;
  const TensorArgument& input = inputs[static_cast<std::size_t>(binding.input)];
  const auto dimension = static_cast<std::size_t>(binding.dimension);
  switch (binding.kind) {
    case SymbolBinding::Kind::size:
      return input.sizes[dimension];
    case SymbolBinding::Kind::stride:
      return input.strides[dimension];
    case SymbolBinding::Kind::decided:
    case SymbolBinding::Kind::number:
      break;
  }
  return *static_cast<const std::int64_t*>(input.data);
}

Result<std::vector<SymbolBinding>> bind_symbols(const KernelBundle& bundle) {
  std::vector<SymbolBinding> bindings;
  const DecidedSizes decided(bundle.steps);
  for (const std::string& name : bundle.symbols) {
    if (decided.contains(name)) {
      bindings.push_back({SymbolBinding::Kind::decided, 0, 0});
      continue;
    }
    auto binding = find_symbol(bundle, name);
    const auto symbol = std::ranges::find(bundle.interface.symbols, name, &Symbol::name);
    const bool sourced = symbol == bundle.interface.symbols.end() || symbol->source != kNoSource;
    // Of a part of a graph that does not need what elements decide in another (fusion's contract).
    if (!binding && !sourced) binding = SymbolBinding{SymbolBinding::Kind::decided, 0, 0};
    if (!binding) {
      return failure(Code::PS0802, "symbol '" + name + "' is the size of no input");
    }
    bindings.push_back(*binding);
  }
  return bindings;
}

}  // namespace penstock::runtime
