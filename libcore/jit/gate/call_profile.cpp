#include "jit/gate/call_profile.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock::jit {

void EntryProfile::ended(std::chrono::nanoseconds time) {
  const std::int64_t spent = kernels - kernels_before_;
  kernels_before_ = kernels;
  total += time.count();
  least_total = calls == 0 ? time.count() : std::min<std::int64_t>(least_total, time.count());
  least_kernels = calls == 0 ? spent : std::min(least_kernels, spent);
  ++calls;
}

EntryProfile& CallProfile::add(const Interface& interface) {
  EntryProfile& entry = entries_.emplace_back();
  entry.entry = fmt::format("[{}]", to_string(interface.id));
  entry.function = interface.name;
  if (interface.location) {
    entry.function +=
        fmt::format("  {}:{}", interface.location->file.text(), interface.location->line);
  }
  return entry;
}

std::int64_t CallProfile::kernels() const {
  std::int64_t sum = 0;
  for (const EntryProfile& entry : entries_) sum += entry.kernels;
  return sum;
}

std::int64_t CallProfile::measuring() {
  constexpr int kReads = 1000;
  using Clock = std::chrono::steady_clock;
  std::int64_t least = INT64_MAX;
  for (int round = 0; round < 5; ++round) {
    const auto begin = Clock::now();
    auto end = begin;
    for (int i = 0; i < kReads; ++i) end = Clock::now();
    least = std::min<std::int64_t>(least, std::chrono::nanoseconds(end - begin).count());
  }
  return 3 * least / kReads;
}

std::string CallProfile::table() const {
  std::string text =
      fmt::format("{:<10}{:>10}{:>14}{:>14}{:>16}{:>16}  {}\n", "entry", "calls", "total ms",
                  "kernels ms", "least call us", "least kernels", "function");
  for (const EntryProfile& entry : entries_) {
    if (entry.calls == 0) continue;
    text += fmt::format("{:<10}{:>10}{:>14.3f}{:>14.3f}{:>16.2f}{:>16.2f}  {}\n", entry.entry,
                        entry.calls, static_cast<double>(entry.total) / 1e6,
                        static_cast<double>(entry.kernels) / 1e6,
                        static_cast<double>(entry.least_total) / 1e3,
                        static_cast<double>(entry.least_kernels) / 1e3, entry.function);
  }
  return text;
}

}  // namespace penstock::jit
