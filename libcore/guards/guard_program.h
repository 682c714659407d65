#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "guards/class_contents.h"
#include "guards/guard_step.h"
#include "guards/guard_witness.h"
#include "guards/live_table.h"
#include "guards/pending_views.h"
#include "ir/event.h"
#include "ir/interface.h"
#include "python/frame.h"
#include "torch/tensor_bridge.h"

namespace penstock::guards {

/// What an input of the graph is in the call at hand. Borrowed; valid until foreign code runs.
struct InputValue {
  /// Tensors, and numbers that are Python objects; null for a pending tensor.
  PyObject* object = nullptr;
  const torch::TensorView* view = nullptr;  ///< tensors
  std::int64_t integer = 0;                 ///< size, integer scalar
  double real = 0;                          ///< scalar, also when it is an integer
};

/// The guards of one entry, compiled to a flat program over slots: every source is loaded once, its
/// base before it; cheap and selective checks stand first; a symbol is bound by its first use and a
/// condition fires as soon as its symbols are bound. Sections of steps that relied on nothing which
/// has changed since are skipped (guard_witness.h). No foreign code runs, no Python error is left.
///
/// Slots and tensor views belong to the program and are overwritten by the next check: guards run
/// under the GIL and give it up nowhere. They are borrowed pointers; what a slot names is looked at
/// only in the call that loaded it, or while a version number proves that its holder is unchanged.
class GuardProgram {
 public:
  /// Needs: torch imported if a guard or an input is a tensor. `interface` must outlive the
  /// program. Fails for a guard that compares with an object that can be held neither strongly nor
  /// weakly, and for sources that only Python code can read.
  static Result<std::unique_ptr<GuardProgram>> compile(const Interface& interface,
                                                       const LiveTable& live, PyCodeObject* code);
  ~GuardProgram();

  /// True if all guards hold for the segment's start in `frame`. Inputs and symbols can be read
  /// afterwards.
  ///
  /// `pending`, if there is one, says which locals stand for tensors that were not made yet: where
  /// something must be known of such a tensor but what can be read of it, the answer is false.
  bool check(const python::Frame& frame, const PendingViews* pending = nullptr);

  /// All guards that do not hold, with what was expected and what is there. Slow.
  std::vector<FailedGuard> explain(const python::Frame& frame);

  /// After check(): writes the graph's inputs (Interface::inputs) that may have changed since they
  /// were taken last into `values`, and adds their positions to `changed`. What is read of a tensor
  /// stays where it is.
  void take_inputs(std::span<InputValue> values, std::vector<std::uint32_t>& changed);
  /// After check(): input `index` of the graph.
  InputValue input(std::size_t index) const;
  /// After check(): what `source` holds; numbers that are no objects yet become some. Null, with or
  /// without a Python error set, where there is none.
  python::PyRef value(SourceId source) const;
  /// After check(): the symbols' values, in the order of Interface::symbols.
  const std::int64_t* symbols() const { return symbols_.data(); }
  std::int64_t* symbols() { return symbols_.data(); }

  /// True if an object that a guard needs is gone: the entry can never be used again.
  bool is_dead() const;
  std::size_t step_count() const { return steps_.size(); }

 private:
  friend class GuardCompiler;
  class Trial;
  class Recorder;
  explicit GuardProgram(const Interface& interface) : interface_(interface) {}
  bool check_tree(GuardTree& tree, const python::Frame& frame);
  static void note_change(GuardTree& tree, const void* word);
  bool check_pending(GuardTree& tree, const torch::TensorView& view, const python::Frame& frame);
  bool run_section(GuardTree& tree, std::size_t index, const python::Frame& frame, bool& moved);
  bool run_always(GuardSection& section, const python::Frame& frame, bool& moved);
  bool run_step(GuardStep& step, const python::Frame& frame);
  bool run_noting(GuardStep& step, const python::Frame& frame, bool& moved);
  bool run_load(GuardStep& step, const python::Frame& frame);
  // Parts of run_load(), in the file in which it is.
  inline PyObject* load_object(GuardStep& step, const python::Frame& frame);
  inline bool load_number(const GuardStep& step);
  bool run_check(GuardStep& step);
  bool run_size(GuardStep& step);
  bool check_tensor(const TensorCheck& expected, const torch::TensorView& view) const;
  bool read_tensor(const GuardStep& step);
  bool overlaps(const GuardStep& step) const;
  std::optional<std::int32_t> overlapping_input() const;
  PyObject* load_attribute(GuardStep& step, PyObject* base);
  std::int64_t size_part(const SizeCheck& check) const;
  bool integer_of(std::uint32_t slot, std::int64_t& value) const;
  std::optional<PythonNumber> number_of(std::uint32_t slot) const;
  bool compute_number(const GuardStep& step);
  bool check_number(const GuardStep& step) const;
  bool check_version(GuardStep& step, PyTypeObject* type);

  const Interface& interface_;
  std::vector<GuardStep> steps_;  // those without a source, tree by tree, what is computed
  std::size_t computed_ = 0;      // where the last begin
  std::vector<GuardTree> trees_;
  std::vector<std::uint32_t> number_inputs_;  // taken anew on every call
  std::vector<PyObject*> slots_;              // by SourceId; borrowed
  std::vector<PythonNumber> numbers_;         // by SourceId; sizes, lengths and what is computed
  std::vector<std::uint8_t> is_number_;       // by SourceId
  std::vector<std::int32_t> view_of_;         // by SourceId; -1: no tensor is read there
  std::vector<std::int32_t>
      held_by_;  // by SourceId: section whose witness proves that it is the same; or -1
  std::vector<torch::TensorView> views_;
  std::vector<std::int64_t> symbols_;
  std::vector<TensorCheck> tensors_;
  std::vector<SizeCheck> sizes_;
  std::vector<ConditionCheck> conditions_;
  std::vector<const Argument*> literals_;
  std::vector<AttributePath> attributes_;
  std::vector<ApartInput> apart_;
  std::vector<ClassContents> classes_;
  std::vector<python::PyRef> kept_;  // keys, names, literals, weak references
  torch::TensorBridge* bridge_ = nullptr;
};

}  // namespace penstock::guards
