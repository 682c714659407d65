#pragma once

#include <memory>
#include <span>
#include <vector>

#include "guards/guard_program.h"
#include "guards/live_table.h"
#include "guards/size_program.h"
#include "ir/interface.h"
#include "jit/restore/pending_tensor.h"
#include "python/frame.h"
#include "python/materialise.h"

namespace penstock::jit {

/// What a segment left behind: objects to make and records to apply, compiled to two flat programs.
/// All objects are made first (they speak of the segment's start), then the records are applied in
/// program order.
class RestoreProgram {
 public:
  /// `interface` and `live` must outlive the program. Fails for a recipe that needs an object which
  /// can be held neither strongly nor weakly.
  static Result<std::unique_ptr<RestoreProgram>> compile(const Interface& interface,
                                                         const guards::LiveTable& live,
                                                         PyCodeObject* code);

  /// Makes the objects; must follow GuardProgram::check() with no foreign code between. False with
  /// a Python error set; nothing was changed then. `frame` may be null if only_returns().
  bool make(const guards::GuardProgram& guards, std::span<const python::PyRef> outputs,
            python::Frame* frame);

  /// Applies the records to the frame and the world and drops the objects. False with a Python
  /// error set if an effect raised. `result`: the frame's result, if the segment returns.
  bool apply(python::Frame& frame, python::PyRef& result);

  /// For a segment that returns and leaves nothing else behind: its result alone, no frame needed.
  python::PyRef take_result();

  /// True if the segment ends inside functions that it inlined: apply() announces their frames, and
  /// the call at which the root then stands makes them real. Whoever steps it withdraws them.
  bool announces() const { return !frames_.empty(); }

  /// True if the segment ends before a place where outputs may stay pending: all that it leaves are
  /// locals and stack, and each of its outputs is one local or only the topmost of the stack.
  bool leaves_pending() const { return condition_ >= 0; }
  /// For leaves_pending(): the output on top of the stack.
  std::int32_t condition() const { return condition_; }
  /// For leaves_pending(), in the place of make() and apply(): fills the slots of the frame that
  /// hold no output, drops the condition, stands at `unit`, and leaves the outputs to `left`. False
  /// with a Python error set; nothing was changed then.
  bool leave_pending(const guards::GuardProgram& guards, std::span<PendingTensor> outputs,
                     python::Frame& frame, int unit, PendingLocals& left);
  /// Drops of `left` what apply() will give another object.
  void drop_replaced(PendingLocals& left) const;
  /// True if apply() runs no foreign code: it fills slots of the frame, or ends it.
  bool only_fills() const { return only_fills_; }

  /// True if make() and apply() do nothing but build the result from outputs, sources and literals:
  /// no foreign code runs and no frame is touched.
  bool only_returns() const { return only_returns_; }

 private:
  explicit RestoreProgram(const guards::LiveTable& live) : live_(live) {}

  struct MakeStep {
    Recipe::Kind kind;
    bool live = false;         // `index` is a position in the table of live objects
    std::uint32_t result = 0;  // slot in made_
    std::uint32_t first = 0;   // operands_[first, first + count): slots in made_
    std::uint32_t count = 0;
    std::int32_t index = -1;            // output, source, size program
    bool fill = false;                  // puts the operands into the container made before
    PyObject* object = nullptr;         // an immutable literal; borrowed
    const Argument* literal = nullptr;  // a mutable literal: made anew each time
  };
  struct ApplyStep {
    Restore::Kind kind;
    std::int32_t index = -1;
    PyObject* name = nullptr;                        // interned; borrowed
    std::int32_t target = -1, key = -1, value = -1;  // slots in made_
  };
  /// A frame of an inlined function.
  struct FrameSteps {
    std::uint32_t function = 0;  // slot in made_
    std::int32_t unit = 0;
    std::vector<ApplyStep> steps;  // local, unbind, cell, stack
  };
  class Compiler;

  bool run(const MakeStep& step, const guards::GuardProgram& guards,
           std::span<const python::PyRef> outputs, const python::Frame* frame);
  python::PyRef build(const MakeStep& step, const guards::GuardProgram& guards,
                      std::span<const python::PyRef> outputs, const python::Frame* frame);
  python::PyRef build_of(const MakeStep& step, const python::Frame* frame);
  bool fill(const MakeStep& step);
  std::int32_t output_of(const ApplyStep& step) const;
  bool apply_step(const ApplyStep& step, const std::vector<python::PyRef>& objects,
                  python::Frame& frame, python::PyRef& result);
  static bool apply_to_object(const ApplyStep& step, PyObject* target, PyObject* key,
                              PyObject* value);
  void run_prologue(python::Frame& frame) const;
  void undo_prologue(python::Frame& frame) const;
  void announce(python::Frame& frame, const std::vector<python::PyRef>& objects) const;
  python::FrameState state_of(const FrameSteps& frame,
                              const std::vector<python::PyRef>& objects) const;

  const guards::LiveTable& live_;
  std::vector<MakeStep> make_steps_;
  std::vector<ApplyStep> apply_steps_;
  std::vector<FrameSteps> frames_;
  std::vector<std::uint32_t> operands_;
  std::vector<python::PyRef> made_;
  std::vector<std::int32_t> output_of_;  // by slot in made_: the output that it is, or -1
  std::vector<guards::SizeProgram> sizes_;
  std::vector<python::PyRef> kept_;
  std::int32_t end_depth_ = -1;  // operand stack depth behind the segment; -1: it returns
  std::int32_t end_offset_ = -1;
  bool prologue_ = false;  // MAKE_CELL and COPY_FREE_VARS are to be done
  bool only_returns_ = false;
  bool only_fills_ = false;
  std::int32_t condition_ = -1;
};

}  // namespace penstock::jit
