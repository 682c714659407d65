#include "record/changed_numbers.h"

#include <algorithm>
#include <string_view>

namespace penstock::record {

namespace {

/// The source of the number that a guard asks for, or empty.
std::string number_of(GuardKind kind, const std::string& source) {
  if (kind == GuardKind::equals) return source;
  return kind == GuardKind::length ? "len(" + source + ")" : std::string();
}

/// What stands for reading a source, which is no guard of its own.
constexpr std::string_view kLoad = "load";

std::string key_of(std::string_view what, const std::string& source) {
  return std::string(what) + " " + source;
}
std::string key_of(const FailedGuard& guard) {
  return key_of(guard.is_load ? kLoad : facts(guard.kind).name, guard.source);
}

/// Facts that hold of one object or of one state alone: another recording makes another guard of
/// the same words.
bool is_of_moment(GuardKind kind) {
  switch (kind) {
    case GuardKind::identity:
    case GuardKind::same_object:
    case GuardKind::distinct_object:
    case GuardKind::no_overlap:
    case GuardKind::type_is:
    case GuardKind::type_version:
    case GuardKind::dict_version:
      return true;
    default:
      return false;
  }
}

/// True for guards that say the same wherever they name the same source and value.
bool says_all(GuardKind kind) {
  return !is_of_moment(kind) && kind != GuardKind::tensor && kind != GuardKind::condition;
}

std::string_view last_name(std::string_view qualified) {
  return qualified.substr(qualified.rfind('.') + 1);
}

/// Whether a call has an object of another class there. A class that is made in each call has the
/// same name every time.
bool names_other_class(const FailedGuard& guard) {
  if (guard.kind != GuardKind::type_is) return false;
  const auto* name = guard.value.as<std::string>();
  return name == nullptr || last_name(*name) != last_name(guard.actual);
}

}  // namespace

std::optional<std::string> ChangedNumbers::find_contradiction(
    const Interface& recorded, const std::vector<RecompileEvent::Entry>& entries) {
  std::unordered_map<std::string, const FailedGuard*> failed;
  for (const RecompileEvent::Entry& entry : entries) {
    for (const FailedGuard& guard : entry.failed) {
      if (!guard.source.empty() && (guard.is_load || says_all(guard.kind)))
        failed.emplace(key_of(guard), &guard);
    }
  }
  if (failed.empty()) return std::nullopt;
  std::optional<std::string> found;
  const auto remember = [&](const FailedGuard& guard) {
    never_.emplace(key_of(guard), guard.text);
    if (!found) found = guard.text;
  };
  for (SourceId id = 0; id < recorded.sources.size(); ++id) {
    const auto load = failed.find(key_of(kLoad, recorded.sources.text(id)));
    if (load != failed.end()) remember(*load->second);
  }
  for (const Guard& guard : recorded.guards) {
    if (guard.source == kNoSource || !says_all(guard.kind)) continue;
    const auto same =
        failed.find(key_of(facts(guard.kind).name, recorded.sources.text(guard.source)));
    if (same != failed.end() && !same->second->is_load && same->second->value == guard.expected)
      remember(*same->second);
  }
  return found;
}

void ChangedNumbers::note_moment(const std::vector<FailedGuard>& failed, bool is_dead) {
  constexpr int kMost = 3;  // entries; fewer may be chance
  // Code that all classes share, as a module's __call__ is, is called with one after the other.
  const bool other_class = std::ranges::any_of(failed, names_other_class);
  for (const FailedGuard& guard : failed) {
    const bool state =
        guard.kind == GuardKind::type_version || guard.kind == GuardKind::dict_version;
    const bool has_changed = state && !other_class;
    if (!has_changed && !(is_dead && guard.kind == GuardKind::identity)) continue;
    if (++moments_[key_of(guard)] >= kMost) never_.emplace(key_of(guard), guard.text);
  }
}

const std::string* ChangedNumbers::never_holds(GuardKind kind, const std::string& source) const {
  const auto found = never_.find(key_of(facts(kind).name, source));
  return found == never_.end() ? nullptr : &found->second;
}

const std::string* ChangedNumbers::never_loads(const std::string& source) const {
  const auto found = never_.find(key_of(kLoad, source));
  return found == never_.end() ? nullptr : &found->second;
}

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

}  // namespace penstock::record
