#pragma once

#include <Python.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/interface.h"
#include "python/object.h"
#include "record/changed_numbers.h"

namespace penstock::record {

/// The sources that a segment has read and the guards that stand on them, each fact once.
class RecordedGuards {
 public:
  /// `interface` gets them. `changed` may be null.
  RecordedGuards(Interface& interface, const ChangedNumbers* changed)
      : interface_(interface), changed_(changed) {}

  SourceId source(SourceStep step);
  SourceId source(SourceKind kind, SourceId base, std::string name = {}, std::int64_t index = 0) {
    return source(SourceStep{kind, base, std::move(name), index, {}});
  }
  SourceKind source_kind(SourceId id) const { return interface_.sources[id].kind; }
  std::string text(SourceId id) const { return interface_.sources.text(id); }

  /// Adds a guard unless the same fact of the same source is guarded already. `location` is asked
  /// only for a new one.
  void add(Guard guard, const std::function<Location()>& location);
  /// Whether a guard on that object stands, or none is needed.
  bool stands(GuardKind kind, SourceId source, PyObject* object) const;
  /// Whether elements decide the number at a source, or one that it is computed of: it is an int
  /// that no guard can stand on.
  bool is_decided(SourceId id) const { return decided_.contains(id); }
  /// Whether no graph with gradients within could be compiled from where the segment starts.
  bool refuses_gradients() const { return changed_ != nullptr && changed_->refuses_gradients(); }
  /// The fact holds in every call, by a rule of the language: no guard is added for it.
  void always_holds(GuardKind kind, SourceId source, PyObject* object) {
    live_facts_.insert({kind, source, live(object)});
  }
  /// A guard was asked for that earlier entries found never to hold; as reports print it.
  const std::optional<std::string>& unholdable() const { return unholdable_; }

  /// Position of `object` in the table of live objects.
  std::int64_t live(PyObject* object);
  /// Hands that table over.
  std::vector<python::PyRef> take_live_objects() { return std::move(live_objects_); }

 private:
  void refuse(const std::string* guard) {
    if (guard != nullptr && !unholdable_) unholdable_ = *guard;
  }

  /// A guard on a live object.
  struct LiveFact {
    GuardKind kind;
    SourceId source;
    std::int64_t live;
    friend bool operator==(const LiveFact&, const LiveFact&) = default;
    struct Hash {
      std::size_t operator()(const LiveFact& fact) const {
        const auto source =
            static_cast<std::size_t>(fact.source) << 8 | static_cast<std::size_t>(fact.kind);
        return source * 31 + static_cast<std::size_t>(fact.live);
      }
    };
  };
  std::unordered_set<LiveFact, LiveFact::Hash> live_facts_;  ///< guarded already, or always true
  std::unordered_set<SourceId> decided_;
  std::unordered_set<std::string> facts_;  ///< guarded already, without a live object

  Interface& interface_;
  const ChangedNumbers* changed_;
  std::optional<std::string> unholdable_;
  std::vector<python::PyRef> live_objects_;
  std::unordered_map<PyObject*, std::int64_t> live_index_;
};

}  // namespace penstock::record
