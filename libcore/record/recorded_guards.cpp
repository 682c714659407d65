#include "record/recorded_guards.h"

#include "ir/argument_text.h"

namespace penstock::record {

using python::PyRef;

namespace {

/// Equal for guards that check the same, of those that are not on a live object. Every instruction
/// of a program may ask for a guard, mostly for one that stands already: no source is spelled out,
/// and most keys are so short that they take no memory.
std::string identity_of(const Guard& guard) {
  std::string key(1, static_cast<char>(guard.kind));
  const auto add = [&](const auto& number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  add(guard.source);
  add(guard.other);
  if (guard.kind == GuardKind::is_none || guard.kind == GuardKind::not_none) return key;
  if (guard.other != kNoSource) return key;
  return key + (guard.tensor      ? to_string(*guard.tensor)
                : guard.condition ? to_string(*guard.condition)
                                  : to_string(guard.expected));
}

}  // namespace

SourceId RecordedGuards::source(SourceStep step) {
  const bool decided =
      step.kind == SourceKind::decided ||
      (step.kind == SourceKind::computed && (is_decided(step.base) || is_decided(step.other)));
  const SourceId id = interface_.sources.intern(std::move(step));
  if (decided) decided_.insert(id);
  if (changed_ != nullptr && changed_->knows_failures()) refuse(changed_->never_loads(text(id)));
  return id;
}

void RecordedGuards::add(Guard guard, const std::function<Location()>& location) {
  if (is_decided(guard.source)) {
    const bool always = guard.kind == GuardKind::type_is || guard.kind == GuardKind::not_none;
    if (!always && !unholdable_) unholdable_ = "a size that elements decide, " + text(guard.source);
    return;
  }
  // What is expected of a live object follows from which object it is.
  const bool is_new = guard.live >= 0
                          ? live_facts_.insert({guard.kind, guard.source, guard.live}).second
                          : facts_.insert(identity_of(guard)).second;
  if (!is_new) return;
  if (changed_ != nullptr && changed_->knows_failures() && guard.source != kNoSource) {
    refuse(changed_->never_holds(guard.kind, text(guard.source)));
  }
  if (location) guard.location = location();
  interface_.guards.push_back(std::move(guard));
}

bool RecordedGuards::stands(GuardKind kind, SourceId source, PyObject* object) const {
  const auto found = live_index_.find(object);
  return found != live_index_.end() && live_facts_.contains({kind, source, found->second});
}

std::int64_t RecordedGuards::live(PyObject* object) {
  auto [found, added] =
      live_index_.emplace(object, static_cast<std::int64_t>(live_objects_.size()));
  if (added) live_objects_.push_back(PyRef::borrow(object));
  return found->second;
}

}  // namespace penstock::record
