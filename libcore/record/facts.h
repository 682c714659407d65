#pragma once

#include <Python.h>

#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/graph.h"
#include "record/frame_shadow.h"

namespace penstock::record {

class Walk;

/// What a segment relies on: facts about values, each guarded once when a rule uses it.
class Facts {
 public:
  explicit Facts(Walk& walk) : walk_(walk) {}

  /// Makes the operand a constant of the segment by guarding its value; false (with the reason)
  /// when its value cannot be known.
  bool consume(Operand operand);
  /// Guards the type; true for anything but unknown.
  bool consume_type(Operand operand);
  /// Guards that it is the same object.
  bool consume_identity(Operand operand);
  /// Guards what id() gives; false (with the reason) when the object differs from call to call.
  bool consume_address(Operand operand);
  /// A key of a dict or set of the segment: what compares and hashes by identity is known by it.
  bool consume_hashed(Operand operand);
  /// The operand's truth, guarded; an empty result with the reason set when it is data.
  std::optional<bool> consume_truth(Operand operand);
  /// Whether a size that elements decide is not 0.
  std::optional<bool> decided_truth(Operand size);
  /// True for a tensor whose elements are the same whenever the segment runs.
  bool is_known_tensor(Operand operand) const;
  /// Guards that nothing of the operand's type changes: what was looked up in it stays true.
  void guard_type_version(Operand operand);
  /// The same for the instances that the segment makes of a class.
  void guard_class_version(Operand type);
  /// Where the operand's class is found: what is read in the class is reached from there. kNoSource
  /// for a class that does not change, and for one that nothing leads to.
  SourceId source_of_class(Operand instance);
  /// The same for the class itself: as the segment came by it, or by its name in its module.
  SourceId source_of_class(PyTypeObject* type);

  void add_guard(GuardKind kind, SourceId source, Argument expected, PyObject* live = nullptr);
  /// Guards what a question (torch/element_question.h) about the tensor at `source` is answered.
  void ask_question(SourceId source, python::PyRef question, bool answer);
  /// How many of those there are.
  std::size_t questions() const { return questions_; }
  /// The arguments with which a guard calls `function` again: the same object for the same ones.
  python::PyRef asked_again(PyObject* function, python::PyRef arguments);
  /// True for the first call of a function that keeps its results with that tensor of the graph. A
  /// second one would find what the first gave: then the recording is given up, and the next one
  /// ends before the first.
  bool is_first_question(PyObject* function, ValueId tensor);
  /// A guard on the object or type itself, described by its name.
  void add_live_guard(GuardKind kind, SourceId source, PyObject* object);

 private:
  bool consume_items(Operand sequence);
  bool consume_pairs(Operand dict);
  bool consume_made(Operand operand);
  /// The path by a class's module and qualified name; kNoSource where another object stands there.
  SourceId source_by_name(PyTypeObject* type);

  Walk& walk_;
  python::PyRef asked_;  ///< arguments of calls that guards make
  /// Functions that keep their results, what they were asked about, and where.
  std::map<std::pair<PyObject*, ValueId>, RaisePlace> kept_;
  std::size_t questions_ = 0;
  int consuming_ = 0;                                    ///< containers in containers
  std::unordered_set<PyObject*> versioned_;              ///< types whose version is guarded
  std::unordered_map<PyTypeObject*, SourceId> classes_;  ///< where classes are found
};

/// True for objects whose identity is all there is to know: they are compared by identity.
bool is_known_by_identity(PyObject* object);

}  // namespace penstock::record
