#pragma once

#include <string>

#include "jit/gate/gate.h"
#include "store/store.h"

namespace penstock::jit {

/// Name and signature of the CPU.
std::string cpu_name();

/// Keeps the gate's verdicts in the store, by all that they depend on: the graph (ops, arguments
/// and types), the CPU, the number of threads, the GPU and its driver where the graph runs there,
/// and the build of penstock.
class StoredVerdicts final : public VerdictMemory {
 public:
  /// `conditions`: what else was measured under. PS0210 where there is no place for the store.
  static Result<std::unique_ptr<StoredVerdicts>> open(const std::string& store,
                                                      std::string_view conditions);

  std::string key_of(const Graph& graph) const override;
  std::optional<GateReport> find(const std::string& key) const override;
  void keep(const std::string& key, const GateReport& report) override;

 private:
  StoredVerdicts(store::Store store, std::string_view conditions);

  store::Store store_;
  std::string machine_;  ///< CPU, build, conditions
};

}  // namespace penstock::jit
