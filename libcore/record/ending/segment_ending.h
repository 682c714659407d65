#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "record/walk.h"

namespace penstock::record {

/// Builds the interface of one segment.
class SegmentEnding {
 public:
  SegmentEnding(Walk& walk, bool returns)
      : walk_(walk), interface_(walk.recorder.graph().interface), returns_(returns) {}

  void frame(FrameShadow& f, std::vector<Restore>& restore);
  void effects();
  /// A frame that stands inside the segment where it ends.
  InlinedFrame inlined(FrameShadow& f);
  Recipe recipe(Operand operand);
  Recipe decided(Operand number);
  bool failed() const { return failed_; }
  /// True if something that is left behind refers to the object.
  bool describes(PyObject* object) const {
    const ObjectId known = walk_.objects.id_of(object);
    return known != kNoSource && made_.contains(known);
  }
  /// What could not be described.
  const std::string& reason() const { return reason_; }
  /// The instruction that made it, where the segment did.
  RaisePlace culprit() const { return culprit_; }

 private:
  /// What asking for a tensor's gradients hangs on, and where that was done.
  struct Pending {
    RaisePlace place;
    const char* what;
  };
  Recipe literal(PyObject* object, SourceId source);
  Recipe size_of(PyObject* size);
  Recipe spent(Operand tensor);
  bool is_unread(FrameShadow& f, int slot) const;
  std::optional<Pending> pending_gradients(PyObject* tensor) const;
  Recipe fresh(ObjectId id);
  Recipe contents(ObjectShadow& known);
  Recipe function(PyObject* function);
  Recipe instance(ObjectShadow& known);
  Recipe list_of(Operand list);
  Recipe tuple_of(Operand tuple);
  Recipe deque_of(Operand deque);
  Recipe dict_of(ObjectShadow& known);
  Recipe default_dict_of(ObjectShadow& known);
  Recipe set_of(PyObject* set);
  Recipe parts_of(Recipe::Kind kind, const ObjectShadow& known,
                  std::initializer_list<PyObject*> parts);
  Recipe cannot(PyObject* object);
  Recipe mapping(ObjectShadow& known);
  Recipe pairs_of(ObjectShadow& known);
  Recipe attributes(ObjectShadow& known, Recipe recipe);
  Recipe attributes_of(Shadow owner);
  Recipe items_of(Recipe::Kind kind, Operand sequence);
  Recipe cell_of(PyObject* cell);
  std::optional<Recipe> old_cell(const ObjectShadow& cell);
  void cell_content(const ObjectShadow& cell);
  Recipe globals_of(PyFunctionObject* function);
  Recipe method_of_class(ObjectShadow& known);
  Recipe iterator(ObjectShadow& known);
  Recipe iterator_over(const IteratorShadow& over, PyObject* iterator);
  Recipe sequence_iterator(const IteratorShadow& over, PyObject* iterator);
  Recipe dict_iterator(const IteratorShadow& over, PyObject* iterator, std::int64_t steps);
  Recipe joined_iterator(const IteratorShadow& over, PyObject* iterator);
  Recipe cannot_resume(PyObject* iterator);
  bool is_within(const IteratorShadow& over, std::int64_t steps) const;
  Recipe resumed(Recipe container, const char* how, std::int64_t steps);
  Recipe call_of(PyObject* callable, std::vector<Recipe> arguments);
  static Recipe number(std::int64_t value);
  Recipe token(const OpenContext& context);
  Recipe constructor(const Expected& call);
  Recipe live(PyObject* object);
  Recipe optional_part(PyObject* object);
  void slot(FrameShadow& f, int slot, std::vector<Restore>& restore);

  Walk& walk_;
  Interface& interface_;
  bool returns_;
  std::unordered_map<ObjectId, std::int32_t> made_;
  std::unordered_map<ValueId, std::int32_t> spent_;  ///< the objects that such values become
  bool failed_ = false;
  RaisePlace culprit_;
  std::string reason_;
};

}  // namespace penstock::record
