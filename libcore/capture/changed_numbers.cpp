#include "capture/changed_numbers.h"

#include <algorithm>

namespace penstock::capture {

namespace {

/// The source of the number that a guard asks for, or empty.
std::string number_of(GuardKind kind, const std::string& source) {
  if (kind == GuardKind::equals) return source;
  return kind == GuardKind::length ? "len(" + source + ")" : std::string();
}

}  // namespace

void ChangedNumbers::note(const std::vector<FailedGuard>& failed) {
  for (const FailedGuard& guard : failed) {
    sources_.insert(guard.sizes.begin(), guard.sizes.end());
    if (std::string number = number_of(guard.kind, guard.source); !number.empty()) {
      sources_.insert(std::move(number));
    }
  }
}

bool ChangedNumbers::replaces(const Interface& recorded,
                              const std::vector<FailedGuard>& failed) const {
  std::unordered_set<std::string> asked, followed;
  for (const Guard& guard : recorded.guards) {
    if (guard.source == kNoSource) continue;
    std::string number = number_of(guard.kind, recorded.sources.text(guard.source));
    if (!number.empty()) asked.insert(std::move(number));
  }
  const auto follow = [&](SourceId id) {
    if (id != kNoSource) followed.insert(recorded.sources.text(id));
  };
  for (SourceId id = 0; id < recorded.sources.size(); ++id) {
    const SourceStep& step = recorded.sources[id];
    if (step.kind != SourceKind::computed) continue;
    follow(step.base);
    follow(step.other);
  }
  for (const Input& input : recorded.inputs) {
    if (input.kind == InputKind::scalar) follow(input.source);
  }
  return !failed.empty() && std::ranges::all_of(failed, [&](const FailedGuard& guard) {
    const std::string number = number_of(guard.kind, guard.source);
    return followed.contains(number) && !asked.contains(number);
  });
}

}  // namespace penstock::capture
