#include "codegen/function_table.h"

#include <unordered_map>

#include "fusion/tile.h"

namespace penstock::codegen {

FunctionTable tabulate(const LoopProgram& program) {
  FunctionTable table;
  for (const Symbol& symbol : program.interface.symbols) table.symbols.push_back(symbol.name);
  std::unordered_map<std::string, std::string> known;
  for (const ProgramStep& step : program.steps) {
    auto* scheduled = std::get_if<LoopKernel>(&step);
    if (scheduled == nullptr) continue;
    table.kernels.push_back(std::make_unique<LoopKernel>(fusion::tile_loops(*scheduled)));
    const LoopKernel& kernel = *table.kernels.back();
    table.signatures.push_back(std::make_unique<Signature>(signature_of(kernel, program.buffers)));
    const Signature& signature = *table.signatures.back();
    std::string key = structure_key(kernel, signature, program.buffers, table.symbols);
    auto [entry, fresh] = known.try_emplace(std::move(key), "");
    if (fresh) {
      entry->second = "f" + std::to_string(table.jobs.size());
      table.key += entry->first;
      table.jobs.push_back({&kernel, &signature, entry->second});
    }
    table.functions.push_back(entry->second);
  }
  return table;
}

}  // namespace penstock::codegen
