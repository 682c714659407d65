#include <initializer_list>

#include "codegen/compiler.h"

namespace penstock::codegen {

namespace {

/// Those of bundle/cpu_features.def that the levels have, in its order.
constexpr std::initializer_list<const char*> kV3 = {"popcnt", "sse4.2", "avx",   "f16c",  "fma",
                                                    "bmi",    "bmi2",   "lzcnt", "movbe", "avx2"};
constexpr std::initializer_list<const char*> kV4 = {"avx512f", "avx512cd", "avx512bw", "avx512dq",
                                                    "avx512vl"};

std::string_view level_of(std::string_view cpu) {
  if (cpu != "host") return cpu;
  if (__builtin_cpu_supports("x86-64-v4")) return "x86-64-v4";
  return __builtin_cpu_supports("x86-64-v3") ? "x86-64-v3" : "";
}

}  // namespace

std::optional<Target> level_target(std::string_view cpu, int lanes) {
  if (cpu.starts_with("sm_")) {
    Target target;
    target.cpu = cpu;
    target.lanes = 1;
    target.device = true;
    return target;
  }
  const std::string_view level = level_of(cpu);
  if (level != "x86-64-v3" && level != "x86-64-v4") return std::nullopt;
  if (lanes != 0 && lanes != 8 && lanes != 16) return std::nullopt;
  Target target;
  target.cpu = level;
  target.avx512 = level == "x86-64-v4";
  target.features.assign(kV3.begin(), kV3.end());
  if (target.avx512) target.features.insert(target.features.end(), kV4.begin(), kV4.end());
  target.lanes = lanes != 0 ? lanes : target.avx512 ? 16 : 8;
  return target;
}

}  // namespace penstock::codegen
