// Native windows.
//
// CPython's evaluator stops only where an instruction makes it return. So the frame is run with a
// copy of its code that has one code unit patched at each exit: RETURN_VALUE. The "result" that it
// pops is whatever lies on top of the stack (with an empty stack: whatever lies below it, read but
// not used), and the slot keeps its reference, so that nothing is lost: putting code, place and
// depth back is all that remains to do. Which exit was reached, or that the frame really ended, is
// told by the place.
//
// The layout of the copy is the original's, so offsets, lines and the exception table hold. RESUME
// must not be patched: CPython takes the first RESUME of a code as the start of what tracebacks may
// show.
#include "python/window.h"

#include <algorithm>
#include <map>
#include <vector>

#include "python/cpython.h"

namespace penstock::python {
namespace {

/// The patched copies of one code object, by their exits.
struct WindowCopies : CodeData {
  std::map<std::vector<int>, PyRef> by_exits;
};

PyRef patched_copy(PyCodeObject* code, const std::vector<int>& exits) {
  const PyRef original = PyRef::steal(PyCode_GetCode(code));
  if (!original) return nullptr;
  const PyRef bytes = PyRef::steal(PyBytes_FromStringAndSize(PyBytes_AS_STRING(original.get()),
                                                             PyBytes_GET_SIZE(original.get())));
  if (!bytes) return nullptr;
  auto* units = reinterpret_cast<unsigned char*>(PyBytes_AS_STRING(bytes.get()));
  for (const int exit : exits) {
    units[2 * exit] = static_cast<unsigned char>(opcode_number(Opcode::RETURN_VALUE));
    units[2 * exit + 1] = 0;
  }
  const PyRef replace =
      PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(code), "replace"));
  const PyRef names = PyRef::steal(Py_BuildValue("{sO}", "co_code", bytes.get()));
  const PyRef nothing = PyRef::steal(PyTuple_New(0));
  if (!replace || !names || !nothing) return nullptr;
  return PyRef::steal(PyObject_Call(replace.get(), nothing.get(), names.get()));
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
    copy = patched_copy(bytecode.code(), exits);
    if (!copy) PyErr_Clear();
  }
  return reinterpret_cast<PyCodeObject*>(copy.get());
}

/// Sorted, without repeats; empty if one of the exits cannot be patched or is the entry.
std::vector<int> checked_exits(const Frame& frame, std::span<const int> exits) {
  std::vector<int> sorted(exits.begin(), exits.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (const int exit : sorted) {
    const Instruction* at = frame.bytecode().at(exit);
    if (at == nullptr || at->opcode == Opcode::RESUME || exit == frame.unit() ||
        frame.bytecode().depth(exit) < 0) {
      return {};
    }
  }
  return sorted;
}

}  // namespace

WindowResult run_window(Frame& frame, std::span<const int> exits) {
  const std::vector<int> sorted = checked_exits(frame, exits);
  if (sorted.empty() || frame.instruction().opcode == Opcode::RETURN_GENERATOR) {
    return {WindowEnd::impossible, nullptr};
  }
  PyCodeObject* code = frame.code();
  PyCodeObject* copy = copy_for(frame.bytecode(), sorted);
  if (copy == nullptr) return {WindowEnd::impossible, nullptr};

  _PyInterpreterFrame* raw = frame.raw();
  frame.unlink();
  raw->f_code = copy;
  raw->prev_instr = _PyCode_CODE(copy) + frame.unit() - 1;
  PyObject* result = _PyEval_EvalFrameDefault(frame.thread(), raw, 0);
  const int last = static_cast<int>(raw->prev_instr - _PyCode_CODE(copy));
  raw->f_code = code;
  raw->prev_instr = _PyCode_CODE(code) + last;

  // The place alone is not enough: a RERAISE names the place of the first raise, which may be an
  // exit.
  if (std::binary_search(sorted.begin(), sorted.end(), last) && PyErr_Occurred() == nullptr) {
    frame.set_top(frame.stack() + frame.bytecode().depth(last));
    frame.jump(last);
    frame.link();
    // The place named by tracebacks is the instruction behind us, as after stepping.
    frame.mark_unit(last - 1);
    return {WindowEnd::reached, nullptr};
  }
  frame.set_top(raw->localsplus + raw->stacktop);
  frame.link();
  if (result == nullptr) return {WindowEnd::raised, nullptr};
  const bool yielded =
      frame.is_generator() &&
      reinterpret_cast<PyGenObject*>(frame.generator())->gi_frame_state == FRAME_SUSPENDED;
  return {yielded ? WindowEnd::yielded : WindowEnd::returned, PyRef::steal(result)};
}

WindowResult run_instruction_window(Frame& frame, const Instruction& instruction) {
  const Bytecode& bytecode = frame.bytecode();
  std::vector<int> exits;
  const auto add = [&](int unit) {
    const Instruction* at = bytecode.at(unit);
    if (at != nullptr && at->opcode == Opcode::RESUME) unit = at->next;
    if (unit != instruction.offset && bytecode.depth(unit) >= 0) exits.push_back(unit);
  };
  if (!facts(instruction.opcode).ends) add(instruction.next);
  if (instruction.target >= 0) add(instruction.target);
  if (const Handler* handler = bytecode.handler(instruction.at)) add(handler->target);
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
