#include "jit/gate/stored_verdicts.h"

#include <cpuid.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <cstring>

#include "ir/argument_text.h"
#include "jit/gate/measured_device.h"
#include "runtime/threads.h"

namespace penstock::jit {
namespace {

using Verdict = GateReport::Verdict;

/// Changes with every build of this code: its file's time and size.
std::string build_name() {
  Dl_info info;
  struct stat facts {};
  const bool found = dladdr(reinterpret_cast<void*>(&cpu_name), &info) != 0 &&
                     info.dli_fname != nullptr && stat(info.dli_fname, &facts) == 0;
  return found ? fmt::format("{}.{} {}", facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, facts.st_size)
               : std::string();
}

/// The numbers of "2 120 340 3 100", as keep() writes them; none where there are others.
std::optional<GateReport> read(std::string_view text) {
  std::int64_t numbers[5] = {};
  const char *at = text.data(), *end = at + text.size();
  for (std::int64_t& number : numbers) {
    while (at != end && *at == ' ') ++at;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    at = rest;
  }
  const auto verdict = static_cast<Verdict>(numbers[0]);
  if (verdict != Verdict::accepted && verdict != Verdict::refused) return std::nullopt;
  return GateReport{verdict,    true,       static_cast<std::int32_t>(numbers[3]),
                    numbers[1], numbers[2], numbers[4]};
}

}  // namespace

std::string cpu_name() {
  unsigned words[13] = {};
  unsigned unused = 0;
  __get_cpuid(1, &words[12], &unused, &unused, &unused);
  for (unsigned part = 0; part < 3; ++part) {
    unsigned* to = words + part * 4;
    __get_cpuid(0x80000002 + part, to, to + 1, to + 2, to + 3);
  }
  return fmt::format("{} {:x}", std::string(reinterpret_cast<const char*>(words), 48).c_str(),
                     words[12]);
}

StoredVerdicts::StoredVerdicts(store::Store store, std::string_view conditions)
    : store_(std::move(store)),
      machine_(fmt::format("{}\n{}\n{}\n", cpu_name(), build_name(), conditions)) {}

Result<std::unique_ptr<StoredVerdicts>> StoredVerdicts::open(const std::string& store,
                                                             std::string_view conditions) {
  auto opened = store::Store::open(store);
  if (!opened) return tl::unexpected(opened.error());
  return std::unique_ptr<StoredVerdicts>(new StoredVerdicts(std::move(*opened), conditions));
}

std::string StoredVerdicts::key_of(const Graph& graph) const {
  std::string text = "gate\n" + machine_;
  text += std::to_string(runtime::ThreadTeam().size()) + "\n" + gpu_of(graph) + "\n";
  const ValueName number = [](ValueId id) { return std::to_string(id); };
  for (const Value& value : graph.values) {
    text += value.is_scalar ? value.expression.to_string() : to_string(value.type);
    text += '\n';
  }
  for (const Node& node : graph.nodes) {
    text += node.op;
    for (const NamedArgument& argument : node.args) {
      text += fmt::format(" {}={}", argument.name, to_string(argument.value, number));
    }
    text += '\n';
  }
  for (const ValueId output : graph.outputs) text += fmt::format("{} ", number(output));
  for (const Graph& subgraph : graph.subgraphs) text += '\n' + to_text(subgraph);
  return store::hash_of(text);
}

std::optional<GateReport> StoredVerdicts::find(const std::string& key) const {
  const auto kept = store_.kernel(key);
  return kept ? read(kept->bytes()) : std::nullopt;
}

void StoredVerdicts::keep(const std::string& key, const GateReport& report) {
  const std::string text =
      fmt::format("{} {} {} {} {}", static_cast<int>(report.verdict), report.entry_ns,
                  report.plain_ns, report.pairs, report.backward_saved_ns);
  // Without room for it the next process measures again.
  static_cast<void>(store_.put_kernel(key, text));
}

}  // namespace penstock::jit
