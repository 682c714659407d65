#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bundle/kernel_bundle.h"
#include "ir/memory_verify.h"
#include "runtime/executor.h"
#include "runtime/plan.h"

namespace penstock::embedding {

/// The values of a bundle's symbols in one call.
class CallSizes {
 public:
  /// Read from the tensors that the bundle is called with, by runtime::bind_symbols.
  CallSizes(const KernelBundle& bundle, std::span<const runtime::SymbolBinding> bindings,
            std::span<const runtime::TensorArgument> arguments);
  /// By the bundle's symbols, in their order.
  const std::vector<std::int64_t>& values() const { return values_; }
  /// The number that an expression comes to; nothing where it has a symbol that no input binds.
  std::optional<std::int64_t> operator()(const SymExpr& expression) const;

 private:
  std::vector<std::int64_t> values_;
  std::unordered_map<std::string_view, std::int64_t> by_name_;  ///< views of the bundle's names
};

/// Whether conditions, buffers and library calls of the bundle hold with these sizes: its kernels
/// take them for granted. PS0806 where a condition does not, PS0205 where the document is wrong.
Result<void> check_call(const KernelBundle& bundle, const CallSizes& sizes);

}  // namespace penstock::embedding
