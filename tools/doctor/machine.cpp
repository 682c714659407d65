#include "tools/doctor/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "codegen/compiler.h"
#include "store/store.h"
#include "tools/common/build_facts.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;
using Verdict = Finding::Verdict;

/// Bytes as people read them: 512 bytes, 3.4 MiB, 20 GiB.
std::string readable(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = double(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 1 : 0, kUnits[unit]);
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

/// The folder, or the nearest one above it that is there.
fs::path existing(fs::path folder) {
  std::error_code error;
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

}  // namespace

Finding find_build() {
  return {"penstock", fmt::format("{}, LLVM {}, oneDNN {}; compiles programs of Python {}",
                                  kVersion, kLlvmVersion, kOneDnnVersion, kPythonVersions)};
}

Finding find_processor() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  Finding out{"processor", fmt::format("{}, {} of {} cores", processor_name(),
                                       known ? CPU_COUNT(&allowed) : cores, cores)};
  if (const auto target = codegen::level_target("host", 0)) {
    out.text += target->avx512 ? ", AVX-512" : ", AVX2";
  } else {
    out.verdict = Verdict::hindered;
    out.text += ", without AVX2";
    out.way_out = "Code is made for processors with AVX2 and FMA (x86-64-v3).";
  }
  return out;
}

Finding find_store(const std::string& option) {
  const Result<store::Store> opened = store::Store::open(option);
  if (!opened)
    return {"store", opened.error().message, Verdict::hindered,
            "Set HOME, or name a folder by --store."};
  const fs::path folder = opened->directory();
  const auto entries = opened->list();
  if (!entries) return {"store", entries.error().message, Verdict::hindered, entries.error().hint};
  std::uint64_t bytes = 0;
  for (const store::Store::Entry& entry : *entries) bytes += entry.bytes;
  const fs::path there = existing(folder);
  std::error_code error;
  const fs::space_info space = fs::space(there, error);
  Finding out{"store",
              fmt::format("{}: {} files, {} of at most {}; {} free", folder.string(),
                          entries->size(), readable(bytes), readable(store::Store::kDefaultLimit),
                          readable(error ? 0 : space.available))};
  if (access(there.c_str(), W_OK | X_OK) != 0) {
    out.verdict = Verdict::hindered;
    out.text = fmt::format("{}: nothing can be written in {}", folder.string(), there.string());
    out.way_out = "Name a folder of yours by --store or PENSTOCK_STORE.";
  } else if (!error && space.available < (std::uint64_t{256} << 20)) {
    out.verdict = Verdict::slower;
    out.way_out =
        "Make room, or let `penstock cache prune` do it: what cannot be kept is compiled again.";
  }
  return out;
}

std::vector<Finding> find_variables() {
  std::vector<Finding> out;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    const bool ours = name.starts_with("PENSTOCK_") && name != "PENSTOCK_PYTHON";
    const bool of_threads = name == "OMP_NUM_THREADS" || name == "MKL_NUM_THREADS";
    if (ours || of_threads || name == "LD_PRELOAD") out.push_back({"variable", std::string(text)});
  }
  return out;
}

}  // namespace penstock::tools
