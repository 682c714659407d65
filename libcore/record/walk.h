#pragma once

#include <Python.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "policy/callables.h"
#include "policy/compile_api.h"
#include "python/frame.h"
#include "python/step.h"
#include "record/captured_segment.h"
#include "record/contents.h"
#include "record/context.h"
#include "record/effects.h"
#include "record/facts.h"
#include "record/frame_shadow.h"
#include "record/gradients.h"
#include "record/recorder.h"
#include "record/shadow.h"
#include "record/sizes.h"
#include "record/suspended_generators.h"
#include "record/torch_plan.h"
#include "record/verdict.h"

namespace penstock::record {

/// True for what torch keeps about a call of a torch.autograd.Function: a member of its context.
bool is_context_field(PyObject* descriptor);
/// True for a function of Python whose call runs its code, which makes no generator or coroutine.
bool is_plain_function(PyObject* object);

/// True for a dict, or an instance of a subclass whose method `special` is that of dict or
/// OrderedDict.
bool has_dict_slot(PyObject* object, const char* special);
/// True for a list, and an instance of a subclass that has the list's own length, items and order.
bool has_list_slots(PyObject* object);
/// True for a tuple, and an instance of a subclass that has the tuple's own length, items and
/// order.
bool has_tuple_slots(PyObject* object);

/// One segment being recorded: the shadows of its frames, and what is known and recorded. The rules
/// by which instructions move the shadows are free functions: rules/*.cpp (by opcode) and
/// objects/*.h (by what the operands are).
///
/// The contract of a rule: it is called before the instruction, with real operands on the frame's
/// stack and their shadows beside them. Answering false means that the instruction ends the
/// segment; then it has changed no shadow and Verdict::reason() says why. Answering true, it has
/// moved the shadows to what they will be behind the instruction, or left that to
/// FrameShadow::finish.
class Walk {
 public:
  /// `changed` may be null; it must outlive the walk, as all others. `runs`: what is recorded is
  /// compiled and run, and not noted down alone.
  Walk(const torch::TensorBridge& bridge, torch::SchemaTable& schemas,
       const policy::CompileApi& compile_api, policy::Callables& callables,
       const ChangedNumbers* changed, DynamicSizes dynamic, bool keep_examples, bool runs);
  ~Walk();

  // What rules need of the program that is captured.
  torch::SchemaTable& schemas;
  const policy::CompileApi& compile_api;
  policy::Callables& callables;

  // What is known and recorded, each with rules of its own.
  Recorder recorder;
  Verdict verdict;
  Facts facts;
  Objects objects;
  Effects effects;
  Gradients gradients;
  Sizes sizes;
  Context context;
  SuspendedGenerators generators;

  /// Starts at the frame's place: every local and operand is sourced.
  FrameShadow& start(python::Frame& frame);

  bool before(FrameShadow& frame, const python::Instruction& instruction);
  void after(FrameShadow& frame);
  /// True if `frame` is what the innermost frame's instruction was about to run.
  bool expects(python::Frame& frame) const;
  /// The expected frame runs natively.
  bool expects_native() const { return innermost_->expected.native; }
  /// Torch compiles a part of the segment for itself in it.
  bool expects_compilation() const { return innermost_->expected.compiles; }
  FrameShadow& enter(python::Frame& frame);
  /// `raised`: with the error that is set.
  void leave(FrameShadow& frame, bool yielded, bool raised);
  void unwound(FrameShadow& frame, int depth);
  /// The frame's instruction raised (`again`: it raised what its handler was entered for).
  void raised(FrameShadow& frame, bool again);
  /// Where the exceptions were raised whose handlers are open in the frames of the segment. Behind
  /// a segment no exception can be made again: one with an open handler must end before those
  /// places.
  std::vector<RaisePlace> open_handlers() const;
  /// The outermost call under way that makes an object in C code (torch.autograd.Function.apply, or
  /// type.__call__ called by C code): it goes on with the object that it made itself, so nothing
  /// can go on inside it with one that was made elsewhere. Or that makes a module: one whose
  /// constructor cannot be recorded as a whole is Python's to make.
  std::optional<RaisePlace> open_constructor() const;
  /// The frame's handler begins.
  void enter_handler(FrameShadow& frame) { frame.handling.push_back(std::exchange(raising_, {})); }

  FrameShadow* innermost() const { return innermost_; }
  /// The segment's own frame.
  FrameShadow& root() const { return *start_; }
  /// Where the frame stands, for what must not be entered the next time.
  static RaisePlace place_of(const FrameShadow& frame);
  /// Where the program's own code is in what `frame` does: all of its calls share a place in
  /// torch's.
  RaisePlace program_place(const FrameShadow* frame) const;

  /// Ends the segment at the innermost frame's place: restore records, recipes, outputs. The result
  /// is that of the root when it `returns`.
  CapturedSegment finish(SegmentEnd end, const Operand* result);

  // Used by the rules.

  Location here() const;

  /// True if the frame's instructions from unit `begin` to `end` load Python data that is older
  /// than the segment.
  bool reads_data(const FrameShadow& frame, int begin, int end) const;

  bool is_tensor(PyObject* object) const { return recorder.bridge().is_tensor(object); }

  /// True for an attribute or method of tensors that tells a fact of their type.
  bool is_type_fact(const std::string& name) {
    return callables.of_tensor(name).action == CallAction::fact;
  }
  CallStack stack() const;

 private:
  std::vector<std::unique_ptr<FrameShadow>> frames_;
  FrameShadow* innermost_ = nullptr;
  FrameShadow* start_ = nullptr;
  RaisePlace raising_;  ///< of the exception that is looking for its handler
  int start_unit_ = 0;
  Location start_location_;
};

}  // namespace penstock::record
