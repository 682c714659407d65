#pragma once

#include <Python.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "python/frame.h"
#include "python/versions/call_operands.h"
#include "record/shadow.h"

namespace penstock::record {

class Walk;

/// A value with what is known of it.
struct Operand {
  Shadow shadow;
  PyObject* object = nullptr;  ///< borrowed
};

/// The exceptions of the frame it runs behind which an instruction goes on.
enum class Caught : std::uint8_t {
  none,
  no_attribute,     ///< AttributeError: getattr with a default, hasattr
  end_of_iterator,  ///< StopIteration: what asks __next__
  end_of_sequence,  ///< IndexError too: what goes over an object by its __getitem__
};

/// The Python frame that an instruction is about to run, and what its arguments are.
struct Expected {
  PyObject* function = nullptr;  ///< borrowed; null: none is expected
  Shadow function_shadow;
  PyObject* init = nullptr;  ///< borrowed; __init__, which runs on what `function` made
  Shadow init_shadow;
  Shadow made;            ///< that object
  bool new_self = false;  ///< the first argument is an object that the call makes
  std::vector<Operand> positional;
  std::vector<std::pair<PyObject*, Operand>> keywords;
  PyObject* generator = nullptr;  ///< borrowed: a resume of this generator instead of a call
  bool native = false;            ///< the frame runs natively: a rule covers what it does
  bool compiles = false;          ///< torch compiles in it: what that warns of, it warns of once
  bool asks_truth = false;        ///< the instruction gives the truth of what the frame returns
  bool repeats = false;           ///< the instruction may run it many times (list(generator))
  Operand otherwise;  ///< runs where `function` raises AttributeError; no object: nothing
  std::vector<Operand> otherwise_arguments;
  Caught caught = Caught::none;
  bool raised = false;  ///< the frame did, and the instruction goes on
  int arrived = 0;
  Shadow result;                ///< of the (last) frame that arrived
  bool consumes = false;        ///< what it yields decides a constant
  std::vector<Shadow> results;  ///< of all, when it repeats
  PyObject* self = nullptr;     ///< new_self: the object, borrowed from the frame
  bool may_decline = false;     ///< the instruction goes on where the frame returns NotImplemented
  bool unanswered = false;      ///< all that it asks have
  std::shared_ptr<Expected> declined;  ///< what it asks then
  /// The call that follows: its last arguments are all that the generator yields, or what
  /// `function` returns.
  std::shared_ptr<Expected> then;
  /// __init__ runs on an object that type.__call__ made, or got from __new__.
  bool is_constructing() const { return new_self || !made.is(Shadow::Kind::unknown); }
  int unpacked_at = -1;  ///< that call: where the operand lies of which CPython makes a tuple first
  std::vector<Shadow> unpacked;  ///< what is in that tuple; those last arguments
  std::optional<std::vector<Shadow>>
      new_tuple;  ///< the second argument is a tuple of these that the call makes
};

/// True for a slot of localsplus that holds a cell once the frame's prologue ran.
bool is_cell_slot(PyCodeObject* code, int slot);

/// The slots of a frame that begins. A generator's cells are made with it; those of a call are made
/// by its first instructions.
struct BoundArguments {
  PyCodeObject* code;
  python::Slots slots;
  bool has_cells;

  /// Borrowed: what is bound to the parameter of that slot; null when nothing is.
  PyObject* at(int slot) const {
    PyObject* object = slots[slot];
    const bool in_cell =
        has_cells && object != nullptr && is_cell_slot(code, slot) && PyCell_Check(object);
    return in_cell ? PyCell_GET(object) : object;
  }
};

/// What an instruction does with an attribute.
struct AttributeUse {
  int pops = 1;          ///< operands that it consumes
  bool method = false;   ///< LOAD_METHOD
  bool generic = false;  ///< object.__getattribute__ itself: no __getattr__
  bool test = false;     ///< hasattr
  bool has_fallback = false;
  Shadow fallback = Shadow::constant();  ///< of getattr
  /// It goes on where the attribute is not there.
  bool catches() const { return test || has_fallback; }
};

/// The shadows of one frame.
struct FrameShadow {
  python::Frame* frame = nullptr;  ///< null while a generator is suspended
  python::PyRef function;
  Shadow function_shadow;
  std::vector<Shadow> locals;  ///< for a cell slot: of the cell
  std::vector<Shadow> stack;
  FrameShadow* caller = nullptr;
  std::size_t path =
      0;  ///< of the calls that lead here from the segment's own frame: a hash of their places
  Shadow result;                ///< of what it returns or yields
  bool declines = false;        ///< that is NotImplemented, and another method is asked
  std::vector<bool> was_bound;  ///< the segment's own frame: slots that were bound at its start
  /// Exceptions raised in the segment whose handlers are open here: the places that raised them.
  std::vector<RaisePlace> handling;
  int steps = 0;            ///< instructions begun since the segment's start
  bool is_op_time = false;  ///< the instruction runs an op of torch, or frees what one made
  const python::Instruction* instruction = nullptr;  ///< the one that is executing
  CallStack place;        ///< where it stood when an op was recorded last, in it or below
  int place_offset = -1;  ///< the instruction that `place` names
  /// What to do when the instruction has been executed successfully; may be empty.
  std::function<void(Walk&, FrameShadow&)> finish;
  Expected expected;

  Shadow& top(int below = 0) { return stack[stack.size() - 1 - below]; }
  PyObject* object(int below = 0) const { return frame->peek(below); }
  Operand operand(int below = 0) { return {top(below), object(below)}; }
  /// What an instruction returns that ends the frame.
  Operand result_of(const python::Instruction& at) {
    if (at.opcode == python::Opcode::RETURN_VALUE) return operand();
    return {Shadow::constant(), frame->constant(at.argument)};
  }
  void push(Shadow shadow) { stack.push_back(shadow); }
  /// Pushes what is about to be called, with the null that stands for its self.
  void push_called(Shadow callable) {
    if (!python::kSelfAboveCallable) push(Shadow::null());
    push(callable);
    if (python::kSelfAboveCallable) push(Shadow::null());
  }
  /// What an instruction has loaded, to be called (`called`) or not.
  PyObject* loaded(bool called) const {
    return object(called && python::kSelfAboveCallable ? 1 : 0);
  }
  void pop(int count = 1) { stack.resize(stack.size() - count); }
};

}  // namespace penstock::record
