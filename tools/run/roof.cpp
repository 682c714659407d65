#include "tools/run/roof.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "pipeline/codegen_library.h"

namespace penstock::tools {

double Roof::percent(std::int64_t flops, std::int64_t bytes, std::int64_t nanoseconds) const {
  // A copy touches two buffers of its size: the memory that is as near as these bytes are.
  double bandwidth = 0;
  for (const codegen::Roofs::Copy& copy : copies) {
    bandwidth = copy.gigabytes_per_second;
    if (2 * copy.bytes >= bytes) break;
  }
  const double compute = gflops > 0 ? static_cast<double>(flops) / gflops : 0;
  const double memory = bandwidth > 0 ? static_cast<double>(bytes) / bandwidth : 0;
  return 100 * std::max(compute, memory) /
         static_cast<double>(std::max<std::int64_t>(nanoseconds, 1));
}

Result<Roof> measure_roof(int threads) {
  auto library = pipeline::open_codegen();
  if (!library) return tl::unexpected(library.error());
  std::vector<std::optional<Result<codegen::Roofs>>> measured(static_cast<std::size_t>(threads));
  std::vector<std::thread> team;
  for (auto& one : measured) {
    team.emplace_back([&one, library] { one.emplace((*library)->probe({})); });
  }
  for (std::thread& thread : team) thread.join();
  Roof roof;
  roof.threads = threads;
  for (auto& one : measured) {
    if (!*one) return tl::unexpected((*one).error());
    const codegen::Roofs& roofs = **one;
    roof.gflops += roofs.fma_gflops;
    roof.copies.resize(roofs.copies.size());
    for (std::size_t i = 0; i < roofs.copies.size(); ++i) {
      roof.copies[i].bytes += roofs.copies[i].bytes;
      roof.copies[i].gigabytes_per_second += roofs.copies[i].gigabytes_per_second;
    }
  }
  return roof;
}

}  // namespace penstock::tools
