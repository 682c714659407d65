// Native windows.
//
// CPython's evaluator stops only where an instruction makes it return. So the frame is run with a
// copy of its code that has one code unit patched at each exit: RETURN_VALUE, or INTERPRETER_EXIT
// where there is one (versions/window_code.h). The "result" that it pops is whatever lies on top of
// the stack (with an empty stack: whatever lies below it, read but not used), and the slot keeps
// its reference, so that nothing is lost: putting code, place and depth back is all that remains to
// do. Which exit was reached, or that the frame really ended, is told by the place.
//
// Where the evaluator clears and pops the frames that it ends, none may end in a window: returns,
// yields and what raises again are exits too, and behind the copy's last unit stands one more exit,
// the landing, where each exception arrives that no handler of the frame takes.
//
// The layout of the copy is the original's, so offsets, lines and the exception table hold. RESUME
// must not be patched: CPython takes the first RESUME of a code as the start of what tracebacks may
// show.
#include "python/window.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "python/versions/raw_frame.h"
#include "python/versions/suspension.h"
#include "python/versions/window_code.h"

namespace penstock::python {
namespace {

/// The patched copies of one code object, by their exits.
struct WindowCopies : CodeData {
  std::map<std::vector<int>, PyRef> by_exits;
};

/// What does with a cell what the opcode does with a variable's slot; the opcode itself: there is
/// none.
Opcode in_cell(Opcode opcode) {
  switch (opcode) {
    case Opcode::LOAD_FAST:
      return Opcode::LOAD_DEREF;
    case Opcode::STORE_FAST:
      return Opcode::STORE_DEREF;
    case Opcode::DELETE_FAST:
      return Opcode::DELETE_DEREF;
    default:
      return opcode;
  }
}

/// How many units an exit takes.
class ExitUnits {
 public:
  explicit ExitUnits(const Bytecode& bytecode) : bytecode_(bytecode) {
    for (const Instruction& one : bytecode.instructions()) {
      if (one.opcode == Opcode::LOAD_FAST_AND_CLEAR) cleared_.push_back(one.argument);
    }
  }
  int operator()(int exit) const {
    const Instruction& at = *bytecode_.at(exit);
    // What is put back into a variable may be that it has no value.
    if (at.opcode == Opcode::STORE_FAST && std::ranges::count(cleared_, at.argument) > 0)
      return kTaggedSlots ? 2 : 1;
    return exit_units(at.opcode);
  }

 private:
  const Bytecode& bytecode_;
  std::vector<int> cleared_;  // variables of comprehensions
};

PyRef patched_copy(const Bytecode& bytecode, const std::vector<int>& exits) {
  PyCodeObject* code = bytecode.code();
  const PyRef original = PyRef::steal(PyCode_GetCode(code));
  if (!original) return nullptr;
  const Py_ssize_t size = PyBytes_GET_SIZE(original.get());
  const PyRef bytes =
      PyRef::steal(PyBytes_FromStringAndSize(nullptr, size + (kFramesEndInEvaluator ? 2 : 0)));
  if (!bytes) return nullptr;
  auto* units = reinterpret_cast<unsigned char*>(PyBytes_AS_STRING(bytes.get()));
  std::memcpy(units, PyBytes_AS_STRING(original.get()), static_cast<std::size_t>(size));
  const auto patch = [units](Py_ssize_t unit, Opcode opcode) {
    units[2 * unit] = static_cast<unsigned char>(opcode_number(opcode));
    units[2 * unit + 1] = 0;
  };
  const bool plain = kTaggedSlots && first_slot_is_plain(code);
  for (const Instruction& one : bytecode.instructions()) {
    const Opcode with_cell = in_cell(one.opcode);
    if (plain && one.argument == 0 && with_cell != one.opcode) patch(one.at, with_cell);
  }
  const ExitUnits units_of(bytecode);
  int patched = 0;  // units up to here
  for (const int exit : exits) {
    if (exit < patched) continue;  // it is reached through the one in front of it
    patched = exit + units_of(exit);
    if (patched - exit > 1) patch(exit, kWindowFiller);
    patch(patched - 1, kWindowExit);
  }
  const PyRef names = PyRef::steal(Py_BuildValue("{sO}", "co_code", bytes.get()));
  if (!names) return nullptr;
  if constexpr (kFramesEndInEvaluator) {
    patch(size / 2, kWindowExit);
    const PyRef table = exceptions_landing_at(bytecode, static_cast<int>(size / 2));
    if (!table || PyDict_SetItemString(names.get(), "co_exceptiontable", table.get()) < 0)
      return nullptr;
  }
  const PyRef replace =
      PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(code), "replace"));
  const PyRef nothing = PyRef::steal(PyTuple_New(0));
  if (!replace || !nothing) return nullptr;
  PyRef copy = PyRef::steal(PyObject_Call(replace.get(), nothing.get(), names.get()));
  if (copy && plain) put_first_slot_into_cell(reinterpret_cast<PyCodeObject*>(copy.get()));
  return copy;
}

/// The copy of the frame's code for `exits` (sorted); borrowed; null if it cannot be made.
PyCodeObject* copy_for(Bytecode& bytecode, const std::vector<int>& exits) {
  auto* copies = static_cast<WindowCopies*>(bytecode.data(CodeSlot::windows));
  if (copies == nullptr) {
    auto made = std::make_unique<WindowCopies>();
    copies = made.get();
    bytecode.set_data(CodeSlot::windows, std::move(made));
  }
  PyRef& copy = copies->by_exits[exits];
  if (!copy) {
    copy = patched_copy(bytecode, exits);
    if (!copy) PyErr_Clear();
  }
  return reinterpret_cast<PyCodeObject*>(copy.get());
}

bool ends_frame(const Instruction& instruction) {
  return returns(instruction.opcode) || instruction.opcode == Opcode::YIELD_VALUE;
}

/// Raises an exception that exists, without an entry in its traceback, by which the landing knows
/// where it was raised.
bool raises_again(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::RERAISE:
    case Opcode::END_ASYNC_FOR:
    case Opcode::CLEANUP_THROW:
      return true;
    default:
      return instruction.opcode == Opcode::RAISE_VARARGS && instruction.argument == 0;
  }
}

/// True if the exit at `unit` leaves the instructions alone that are reached by other ways.
bool has_room(const Frame& frame, int unit, int units) {
  const Bytecode& bytecode = frame.bytecode();
  const Instruction& at = *bytecode.at(unit);
  const int end = unit + units;
  if (units == 1) return true;
  if (bytecode.depth(unit) >= frame.code()->co_stacksize) return false;  // of the filler's operand
  if (end <= at.next) return true;
  const auto leads = [&](const Instruction& one) { return one.target == at.next; };
  return at.next != frame.unit() && bytecode.at(at.next) != nullptr &&
         bytecode.handler_at(at.next) == nullptr &&
         std::ranges::none_of(bytecode.instructions(), leads);
}

/// Where the frame may stand behind an instruction: units at which there can be exits.
std::vector<int> ways_on(const Bytecode& bytecode, const Instruction& instruction) {
  std::vector<int> ways;
  const auto add = [&](int unit) {
    const Instruction* at = bytecode.at(unit);
    if (at != nullptr && at->opcode == Opcode::RESUME) unit = at->next;
    if (unit != instruction.offset && bytecode.depth(unit) >= 0) ways.push_back(unit);
  };
  if (!facts(instruction.opcode).ends) add(instruction.next);
  if (instruction.target >= 0) add(instruction.target);
  if (const Handler* handler = bytecode.handler(instruction.at)) add(handler->target);
  return ways;
}

/// The instruction needs the first slot as it is: it is none that `in_cell` knows another for.
bool needs_first_slot(const Instruction& one, bool plain) {
  switch (one.opcode) {
    case Opcode::LOAD_FAST_LOAD_FAST:
    case Opcode::STORE_FAST_LOAD_FAST:
    case Opcode::STORE_FAST_STORE_FAST:
      return first_of_two(one) == 0 || second_of_two(one) == 0;
    case Opcode::COPY_FREE_VARS:
      return true;
    case Opcode::MAKE_CELL:
    case Opcode::LOAD_FAST_AND_CLEAR:
      return one.argument == 0;
    case Opcode::STORE_FAST:
    case Opcode::DELETE_FAST:
      return one.argument == 0 && !plain;
    default:
      return false;
  }
}

/// True if the first slot can hold a cell in the window (FirstSlotKept).
bool leaves_first_slot(const Frame& frame, std::span<const int> exits) {
  if constexpr (!kTaggedSlots) return true;
  if (frame.slot_count() == 0) return false;
  const bool plain = first_slot_is_plain(frame.code());
  // At the start of the code its cells are not made yet.
  if (!plain && (frame.local(0) == nullptr || !PyCell_Check(frame.local(0)))) return false;
  const Instruction& here = frame.instruction();
  const bool alone = std::ranges::all_of(ways_on(frame.bytecode(), here), [&](int unit) {
    return std::ranges::count(exits, unit) > 0;
  });
  if (alone) return !needs_first_slot(here, plain);
  return std::ranges::none_of(frame.bytecode().instructions(), [&](const Instruction& one) {
    const bool behind_us = one.opcode == Opcode::MAKE_CELL || one.opcode == Opcode::COPY_FREE_VARS;
    return (!behind_us || one.offset >= frame.unit()) && needs_first_slot(one, plain);
  });
}

/// The exit that the frame stands at, by the unit that stopped the evaluator; -1: it is none.
int exit_at(const ExitUnits& units_of, const std::vector<int>& exits, int unit) {
  const auto is_exit = [&](int exit, int units) {
    return std::binary_search(exits.begin(), exits.end(), exit) && units_of(exit) == units;
  };
  if (is_exit(unit - 1, 2)) return unit - 1;
  return is_exit(unit, 1) ? unit : -1;
}

/// Sorted, without repeats; empty if one of the exits cannot be patched or is the entry.
std::vector<int> checked_exits(const Frame& frame, const ExitUnits& units_of,
                               std::span<const int> exits) {
  std::vector<int> sorted(exits.begin(), exits.end());
  if constexpr (kFramesEndInEvaluator) {
    for (const Instruction& one : frame.bytecode().instructions()) {
      if ((ends_frame(one) || raises_again(one)) && frame.bytecode().depth(one.offset) >= 0)
        sorted.push_back(one.offset);
    }
  }
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (const int exit : sorted) {
    const Instruction* at = frame.bytecode().at(exit);
    if (at == nullptr || at->opcode == Opcode::RESUME || exit == frame.unit() ||
        frame.bytecode().depth(exit) < 0 || !has_room(frame, exit, units_of(exit))) {
      return {};
    }
  }
  return sorted;
}

/// The frame stands at the landing, with nothing but the exception on its stack.
WindowResult landed(Frame& frame) {
  frame.set_top(frame.stack() + 1);
  frame.link();
  PyRef exception = frame.pop();
  // The place is where it was raised, as long as anybody holds the frame's object.
  const PyRef traceback = PyRef::steal(PyException_GetTraceback(exception.get()));
  if (traceback) {
    const auto* entry = reinterpret_cast<PyTracebackObject*>(traceback.get());
    if (entry->tb_frame == frame.raw()->frame_obj)
      frame.mark_unit(entry->tb_lasti / static_cast<int>(sizeof(_Py_CODEUNIT)));
  }
  raise_landed(std::move(exception));
  return {WindowEnd::raised, nullptr};
}

}  // namespace

WindowResult run_window(Frame& frame, std::span<const int> exits) {
  if constexpr (kFramesEndInEvaluator) {
    const Opcode opcode = frame.instruction().opcode;
    if (raises_again(frame.instruction())) return {WindowEnd::impossible, nullptr};
    if (opcode == Opcode::YIELD_VALUE) return {WindowEnd::yielded, frame.pop()};
    if (opcode == Opcode::RETURN_VALUE) return {WindowEnd::returned, frame.pop()};
    if (opcode == Opcode::RETURN_CONST) {
      return {WindowEnd::returned, PyRef::borrow(frame.constant(frame.instruction().argument))};
    }
  }
  const ExitUnits units_of(frame.bytecode());
  const std::vector<int> sorted =
      leaves_first_slot(frame, exits) ? checked_exits(frame, units_of, exits) : std::vector<int>();
  if (sorted.empty() || frame.instruction().opcode == Opcode::RETURN_GENERATOR) {
    return {WindowEnd::impossible, nullptr};
  }
  PyCodeObject* code = frame.code();
  PyCodeObject* copy = copy_for(frame.bytecode(), sorted);
  if (copy == nullptr) return {WindowEnd::impossible, nullptr};

  _PyInterpreterFrame* raw = frame.raw();
  frame.unlink();
  set_code(raw, copy);
  set_next_unit(raw, frame.unit());
  PyObject* result = nullptr;
  {
    const FirstSlotKept kept(frame.thread(), raw, first_slot_is_plain(code));
    result = evaluate_window(frame.thread(), raw);
  }
  const int last = static_cast<int>(place_of(raw) - _PyCode_CODE(copy));
  set_code(raw, code);
  place_of(raw) = _PyCode_CODE(code) + last;

  // The place alone is not enough: a RERAISE names the place of the first raise, which may be an
  // exit.
  const int exit = exit_at(units_of, sorted, last);
  if (exit >= 0 && PyErr_Occurred() == nullptr) {
    frame.set_top(frame.stack() + frame.bytecode().depth(exit));
    if (kTaggedSlots && frame.depth() > 0 && slot_object(frame.top()[-1]) != frame.top()[-1])
      Py_XDECREF(result);  // not the stack's own reference
    frame.jump(exit);
    frame.link();
    // The place named by tracebacks is the instruction behind us, as after stepping.
    frame.mark_unit(exit - 1);
    return {WindowEnd::reached, nullptr};
  }
  if constexpr (kFramesEndInEvaluator) return landed(frame);
  frame.set_top(top_of(raw));
  frame.link();
  if (result == nullptr) return {WindowEnd::raised, nullptr};
  const bool yielded =
      frame.is_generator() && is_suspended(reinterpret_cast<PyGenObject*>(frame.generator()));
  return {yielded ? WindowEnd::yielded : WindowEnd::returned, PyRef::steal(result)};
}

WindowResult run_instruction_window(Frame& frame, const Instruction& instruction) {
  const Bytecode& bytecode = frame.bytecode();
  std::vector<int> exits = ways_on(bytecode, instruction);
  if (exits.empty()) {
    // The instruction leaves the frame: any exit that is not on its way will do.
    for (const Instruction& other : bytecode.instructions()) {
      if (other.opcode == Opcode::RESUME || other.offset == instruction.offset ||
          bytecode.depth(other.offset) < 0) {
        continue;
      }
      exits.push_back(other.offset);
      break;
    }
  }
  return run_window(frame, exits);
}

}  // namespace penstock::python
