#include "embedding/call_check.h"

#include "ir/interface_verify.h"
#include "ir/library_verify.h"

namespace penstock::embedding {

CallSizes::CallSizes(const KernelBundle& bundle, std::span<const runtime::SymbolBinding> bindings,
                     std::span<const runtime::TensorArgument> arguments) {
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    values_.push_back(runtime::bound_value(bindings[i], arguments));
    if (bindings[i].kind != runtime::SymbolBinding::Kind::decided)
      by_name_.emplace(bundle.symbols[i], values_.back());
  }
}

std::optional<std::int64_t> CallSizes::operator()(const SymExpr& expression) const {
  return expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
  });
}

Result<void> check_call(const KernelBundle& bundle, const CallSizes& sizes) {
  const SizeValue value = [&](const SymExpr& expression) { return sizes(expression); };
  if (auto holds = check_conditions(bundle.interface, value); !holds) return holds;
  for (const BundleStep& step : bundle.steps) {
    const auto* call = std::get_if<LibraryCall>(&step);
    if (call == nullptr) continue;
    auto fits = verify_library_call(*call, bundle.buffers, value, "library call of " + call->op);
    if (!fits) return fits;
  }
  const DecidedSizes decided(bundle.steps);
  return verify_memory(bundle.interface, bundle.buffers, {bundle.arena_bytes, &decided}, value,
                       true);
}

}  // namespace penstock::embedding
