#include <algorithm>

#include "jit/restore/restore.h"
#include "python/bytecode.h"
#include "python/literal.h"
#include "python/type_lookup.h"

namespace penstock::jit {

using guards::GuardProgram;

namespace {

using python::PyRef;

/// Where a method of a built-in container is found: at the container, not at a subclass whose own
/// method was followed when the segment was recorded.
PyTypeObject* container_type(PyObject* object) {
  if (PyList_Check(object)) return &PyList_Type;
  if (PyODict_Check(object)) return &PyODict_Type;
  if (PyDict_Check(object)) return &PyDict_Type;
  if (PySet_Check(object)) return &PySet_Type;
  return Py_TYPE(object);
}

bool call_method(PyObject* target, const char* name, PyObject* first, PyObject* second) {
  PyRef method = PyRef::steal(
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(container_type(target)), name));
  if (!method) return false;
  PyObject* arguments[] = {target, first, second};
  const std::size_t count = first == nullptr ? 1 : second == nullptr ? 2 : 3;
  return static_cast<bool>(
      PyRef::steal(PyObject_Vectorcall(method.get(), arguments, count, nullptr)));
}

/// Sets (or with null deletes) an attribute as object.__setattr__ does where the type's own
/// __setattr__ is Python code: that was followed when the segment was recorded.
bool store_attribute(PyObject* target, PyObject* name, PyObject* value) {
  PyTypeObject* type = Py_TYPE(target);
  if (PyType_Check(target)) return PyType_Type.tp_setattro(target, name, value) == 0;
  PyRef special = PyRef::steal(PyUnicode_InternFromString(value ? "__setattr__" : "__delattr__"));
  PyObject* found = _PyType_Lookup(type, special.get());
  if (found != nullptr && PyFunction_Check(found)) {
    return PyObject_GenericSetAttr(target, name, value) == 0;
  }
  return type->tp_setattro != nullptr && type->tp_setattro(target, name, value) == 0;
}

bool store_item(PyObject* target, PyObject* key, PyObject* value) {
  if (PyDict_Check(target) && !PyODict_Check(target)) {
    return value != nullptr ? PyDict_SetItem(target, key, value) == 0
                            : PyDict_DelItem(target, key) == 0;
  }
  PyTypeObject* type = container_type(target);
  if (type->tp_as_mapping == nullptr || type->tp_as_mapping->mp_ass_subscript == nullptr) {
    return value != nullptr ? PyObject_SetItem(target, key, value) == 0
                            : PyObject_DelItem(target, key) == 0;
  }
  return type->tp_as_mapping->mp_ass_subscript(target, key, value) == 0;
}

bool replace_contents(PyObject* target, PyObject* value) {
  if (PyList_Check(target)) {
    return PyList_SetSlice(target, 0, PyList_GET_SIZE(target), value) == 0;
  }
  const char* fill = python::is_deque(target) ? "extend" : "update";
  return call_method(target, "clear", nullptr, nullptr) &&
         call_method(target, fill, value, nullptr);
}

PyRef make_function(PyObject* const* items, std::size_t count, const python::Frame* frame) {
  PyObject* globals = count < 3 ? nullptr : items[1];
  if (globals == Py_None) globals = frame == nullptr ? nullptr : frame->globals();
  if (globals == nullptr || !PyCode_Check(items[0]) || !PyDict_Check(globals)) {
    PyErr_SetString(PyExc_SystemError, "penstock: malformed recipe of a function");
    return {};
  }
  PyRef function = PyRef::steal(PyFunction_NewWithQualName(items[0], globals, items[2]));
  const auto given = [&](std::size_t i) { return count > i && items[i] != Py_None; };
  if (function && given(3) && PyFunction_SetDefaults(function.get(), items[3]) < 0) return {};
  if (function && given(4) && PyFunction_SetKwDefaults(function.get(), items[4]) < 0) return {};
  if (function && given(5)) {
    // A tuple until someone asks for the dict.
    auto* made = reinterpret_cast<PyFunctionObject*>(function.get());
    Py_XSETREF(made->func_annotations, PyRef::borrow(items[5]).release());
  }
  if (function && given(6) && PyFunction_SetClosure(function.get(), items[6]) < 0) return {};
  return function;
}

PyRef make_tuple(PyObject* const* items, std::size_t count) {
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t i = 0; tuple && i < count; ++i) {
    Py_INCREF(items[i]);
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), items[i]);
  }
  return tuple;
}

/// Puts what is in `items` into a new instance of a subclass of dict, past its own methods.
bool fill_dict(PyObject* container, PyObject* items) {
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Check(container) && PyDict_Next(items, &at, &key, &value);) {
    const int status = PyODict_Check(container) ? PyODict_SetItem(container, key, value)
                                                : PyDict_SetItem(container, key, value);
    if (status < 0) return false;
  }
  return PyDict_Check(container);
}

PyRef make_instance(PyObject* type) {
  static PyObject* const no_arguments = PyTuple_New(0);
  if (!PyType_Check(type)) {
    PyErr_SetString(PyExc_SystemError, "penstock: recipe of an instance without a class");
    return {};
  }
  auto* made = reinterpret_cast<PyTypeObject*>(type);
  // The class may have a __new__ of its own, which was followed when the segment was recorded.
  const newfunc make =
      PyType_IsSubtype(made, &PyDict_Type) ? PyDict_Type.tp_new : PyBaseObject_Type.tp_new;
  return PyRef::steal(make(made, no_arguments, nullptr));
}

}  // namespace

bool RestoreProgram::make(const GuardProgram& guards, std::span<const PyRef> outputs,
                          python::Frame* frame) {
  if (prologue_ && frame != nullptr) run_prologue(*frame);
  for (const MakeStep& step : make_steps_) {
    if (run(step, guards, outputs, frame)) continue;
    for (PyRef& object : made_) object = nullptr;
    if (prologue_ && frame != nullptr) undo_prologue(*frame);
    return false;
  }
  return true;
}

bool RestoreProgram::run(const MakeStep& step, const GuardProgram& guards,
                         std::span<const PyRef> outputs, const python::Frame* frame) {
  if (step.fill) return fill(step);
  made_[step.result] = build(step, guards, outputs, frame);
  if (made_[step.result]) return true;
  if (!PyErr_Occurred()) {
    PyErr_SetString(PyExc_SystemError, "penstock: an object behind a segment is gone");
  }
  return false;
}

PyRef RestoreProgram::build(const MakeStep& step, const GuardProgram& guards,
                            std::span<const PyRef> outputs, const python::Frame* frame) {
  switch (step.kind) {
    case Recipe::Kind::output:
      return outputs[step.index];
    case Recipe::Kind::source:
      return guards.value(step.index);
    case Recipe::Kind::literal: {
      if (step.literal != nullptr) return python::object_of(*step.literal);
      return PyRef::borrow(step.live ? live_.get(step.index) : step.object);
    }
    case Recipe::Kind::symbol:
      return PyRef::steal(PyLong_FromLongLong(sizes_[step.index].evaluate(guards.symbols())));
    case Recipe::Kind::list:
      return PyRef::steal(PyList_New(0));
    case Recipe::Kind::dict:
      return PyRef::steal(PyDict_New());
    case Recipe::Kind::set:
      return PyRef::steal(PySet_New(nullptr));
    case Recipe::Kind::cell:
      if (step.index < 0) return PyRef::steal(PyCell_New(nullptr));
      return frame == nullptr ? PyRef{} : PyRef::borrow(frame->local(step.index));
    default:
      return build_of(step, frame);
  }
}

/// What is made of other objects.
PyRef RestoreProgram::build_of(const MakeStep& step, const python::Frame* frame) {
  std::vector<PyObject*> items;
  for (std::uint32_t i = 0; i < step.count; ++i) {
    items.push_back(made_[operands_[step.first + i]].get());
  }
  switch (step.kind) {
    case Recipe::Kind::tuple:
      return make_tuple(items.data(), items.size());
    case Recipe::Kind::frozenset:
      return PyRef::steal(PyFrozenSet_New(make_tuple(items.data(), items.size()).get()));
    case Recipe::Kind::slice:
      if (items.size() != 3) return {};
      return PyRef::steal(PySlice_New(items[0], items[1], items[2]));
    case Recipe::Kind::instance:
      return items.empty() ? PyRef{} : make_instance(items[0]);
    case Recipe::Kind::function:
      return make_function(items.data(), items.size(), frame);
    case Recipe::Kind::method:
      return items.size() == 2 ? PyRef::steal(PyMethod_New(items[0], items[1])) : PyRef{};
    case Recipe::Kind::call:
      if (items.empty()) return {};
      return PyRef::steal(
          PyObject_Vectorcall(items[0], items.data() + 1, items.size() - 1, nullptr));
    default:
      return {};
  }
}

bool RestoreProgram::fill(const MakeStep& step) {
  PyObject* container = made_[step.result].get();
  const auto item = [&](std::uint32_t i) { return made_[operands_[step.first + i]].get(); };
  if (step.kind == Recipe::Kind::cell) return PyCell_Set(container, item(0)) == 0;
  const bool pairs = step.kind == Recipe::Kind::dict || step.kind == Recipe::Kind::instance;
  std::uint32_t first = 0;
  if (step.kind == Recipe::Kind::instance &&
      step.count % 2 != 0) {  // what is in a dict comes first
    if (!fill_dict(container, item(0))) return false;
    first = 1;
  }
  for (std::uint32_t i = first; i < step.count; i += pairs ? 2 : 1) {
    int status = -1;
    if (step.kind == Recipe::Kind::list) status = PyList_Append(container, item(i));
    if (step.kind == Recipe::Kind::set) status = PySet_Add(container, item(i));
    if (step.kind == Recipe::Kind::dict) status = PyDict_SetItem(container, item(i), item(i + 1));
    if (step.kind == Recipe::Kind::instance) {
      status = PyObject_GenericSetAttr(container, item(i), item(i + 1));
    }
    if (status < 0) return false;
  }
  return true;
}

bool RestoreProgram::apply(python::Frame& frame, PyRef& result) {
  if (end_depth_ >= 0) {
    // Every slot that holds something has a record; the others are null (a call's absent self).
    frame.unwind_to(0);
    while (frame.depth() < end_depth_) frame.push(nullptr);
  }
  // Effects may run foreign code that comes here again.
  std::vector<PyRef> objects(made_.size());
  objects.swap(made_);
  bool done = true;
  for (const ApplyStep& step : apply_steps_) {
    done = apply_step(step, objects, frame, result);
    if (!done) break;
  }
  if (done && end_offset_ >= 0) frame.jump(end_offset_);
  if (done && announces()) announce(frame, objects);
  return done;
}

bool RestoreProgram::leave_pending(const GuardProgram& guards, std::span<PendingTensor> outputs,
                                   python::Frame& frame, int unit, PendingLocals& left) {
  for (const MakeStep& step : make_steps_) {
    if (step.kind == Recipe::Kind::output || run(step, guards, {}, &frame)) continue;
    for (PyRef& object : made_) object = nullptr;
    return false;
  }
  while (frame.depth() > 0) left.replaced.push_back(frame.pop());
  while (frame.depth() < end_depth_ - 1) frame.push(nullptr);
  for (const ApplyStep& step : apply_steps_) {
    PyRef value = step.value < 0 ? PyRef() : made_[step.value];
    if (step.kind == Restore::Kind::stack) {
      if (step.index < end_depth_ - 1) frame.stack()[step.index] = value.release();
      continue;
    }
    left.drop(step.index);
    if (const std::int32_t output = output_of(step); output >= 0) {
      left.locals.push_back({step.index, std::move(outputs[output])});
    } else {
      left.replaced.push_back(frame.take_local(step.index));
      frame.set_local(step.index, std::move(value));
    }
  }
  for (PyRef& object : made_) object = nullptr;
  frame.jump(unit);
  return true;
}

std::int32_t RestoreProgram::output_of(const ApplyStep& step) const {
  return step.value < 0 ? -1 : output_of_[step.value];
}

void RestoreProgram::drop_replaced(PendingLocals& left) const {
  for (const ApplyStep& step : apply_steps_) {
    const bool of_local = step.kind == Restore::Kind::local || step.kind == Restore::Kind::unbind;
    if (of_local) left.drop(step.index);
  }
}

void RestoreProgram::announce(python::Frame& frame, const std::vector<PyRef>& objects) const {
  std::vector<python::FrameState> states;
  for (const FrameSteps& inlined : frames_) states.push_back(state_of(inlined, objects));
  python::announce_frames(frame, std::move(states));
}

python::FrameState RestoreProgram::state_of(const FrameSteps& frame,
                                            const std::vector<PyRef>& objects) const {
  python::FrameState state;
  state.function = objects[frame.function];
  state.unit = frame.unit;
  if (!PyFunction_Check(state.function.get())) return state;  // no frame will claim it
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(state.function.get()));
  const int slots = code->co_nlocalsplus;
  state.slots.resize(slots);
  state.stack.resize(std::max(python::bytecode_of(code).depth(frame.unit), 0));
  PyObject* closure = PyFunction_GET_CLOSURE(state.function.get());
  for (int i = 0; closure != nullptr && i < code->co_nfreevars; ++i) {
    state.slots[slots - code->co_nfreevars + i] = PyRef::borrow(PyTuple_GET_ITEM(closure, i));
  }
  for (const ApplyStep& step : frame.steps) {
    PyObject* value = step.value < 0 ? nullptr : objects[step.value].get();
    if (step.kind == Restore::Kind::stack) {
      state.stack[step.index] = PyRef::borrow(value);
    } else if (step.kind == Restore::Kind::cell) {
      PyRef& slot = state.slots[step.index];
      if (!slot || !PyCell_Check(slot.get())) slot = PyRef::steal(PyCell_New(nullptr));
      PyCell_Set(slot.get(), value);
    } else {
      state.slots[step.index] = PyRef::borrow(value);
    }
  }
  return state;
}

PyRef RestoreProgram::take_result() {
  PyRef result = made_[apply_steps_[0].value];
  for (PyRef& object : made_) object = nullptr;
  return result;
}

/// What MAKE_CELL and COPY_FREE_VARS in front of the frame's body do.
void RestoreProgram::run_prologue(python::Frame& frame) const {
  PyCodeObject* code = frame.code();
  for (const python::Instruction& instruction : frame.bytecode().instructions()) {
    if (instruction.opcode == python::Opcode::RESUME) break;
    if (instruction.opcode == python::Opcode::MAKE_CELL) {
      PyRef cell = PyRef::steal(PyCell_New(frame.local(instruction.argument)));
      frame.set_local(instruction.argument, std::move(cell));
    }
    if (instruction.opcode != python::Opcode::COPY_FREE_VARS) continue;
    PyObject* closure = PyFunction_GET_CLOSURE(frame.function());
    const int first = code->co_nlocalsplus - instruction.argument;
    for (int i = 0; i < instruction.argument; ++i) {
      frame.set_local(first + i, PyRef::borrow(PyTuple_GET_ITEM(closure, i)));
    }
  }
}

/// Puts the slots back as they were before the first instruction.
void RestoreProgram::undo_prologue(python::Frame& frame) const {
  PyCodeObject* code = frame.code();
  for (const python::Instruction& instruction : frame.bytecode().instructions()) {
    if (instruction.opcode == python::Opcode::RESUME) break;
    if (instruction.opcode == python::Opcode::MAKE_CELL) {
      PyObject* cell = frame.local(instruction.argument);
      frame.set_local(instruction.argument, PyRef::borrow(PyCell_GET(cell)));
    }
    if (instruction.opcode != python::Opcode::COPY_FREE_VARS) continue;
    const int first = code->co_nlocalsplus - instruction.argument;
    for (int i = 0; i < instruction.argument; ++i) frame.set_local(first + i, nullptr);
  }
}

bool RestoreProgram::apply_step(const ApplyStep& step, const std::vector<PyRef>& objects,
                                python::Frame& frame, PyRef& result) {
  const auto at = [&](std::int32_t slot) { return slot < 0 ? nullptr : objects[slot].get(); };
  PyObject* target = at(step.target);
  PyObject* value = at(step.value);
  using Kind = Restore::Kind;
  switch (step.kind) {
    case Kind::local:
      frame.set_local(step.index, PyRef::borrow(value));
      return true;
    case Kind::unbind:
      if (target != nullptr) return PyCell_Set(target, nullptr) == 0;
      frame.set_local(step.index, nullptr);
      return true;
    case Kind::stack:
      frame.set_stack(frame.depth() - 1 - step.index, PyRef::borrow(value));
      return true;
    case Kind::result:
      result = PyRef::borrow(value);
      return true;
    case Kind::cell:
      if (step.index >= 0) {
        frame.set_cell_content(step.index, PyRef::borrow(value));
        return true;
      }
      return PyCell_Set(target, value) == 0;
    case Kind::set_global:
    case Kind::delete_global: {
      PyObject* globals = target == nullptr ? frame.globals() : PyFunction_GetGlobals(target);
      if (globals == nullptr) return false;
      return step.kind == Kind::set_global ? PyDict_SetItem(globals, step.name, value) == 0
                                           : PyDict_DelItem(globals, step.name) == 0;
    }
    default:
      return apply_to_object(step, target, at(step.key), value);
  }
}

bool RestoreProgram::apply_to_object(const ApplyStep& step, PyObject* target, PyObject* key,
                                     PyObject* value) {
  using Kind = Restore::Kind;
  switch (step.kind) {
    case Kind::set_attribute:
      return store_attribute(target, step.name, value);
    case Kind::delete_attribute:
      return store_attribute(target, step.name, nullptr);
    case Kind::set_item:
      return store_item(target, key, value);
    case Kind::delete_item:
      return store_item(target, key, nullptr);
    case Kind::append:
      return call_method(target, "append", value, nullptr);
    case Kind::extend:
      return call_method(target, "extend", value, nullptr);
    case Kind::insert:
      return call_method(target, "insert", key, value);
    case Kind::pop:
      return call_method(target, "pop", key, nullptr);
    case Kind::clear:
      return call_method(target, "clear", nullptr, nullptr);
    case Kind::update:
      return call_method(target, "update", value, nullptr);
    case Kind::add:
      return call_method(target, "add", value, nullptr);
    case Kind::remove:
      // discard() is recorded as this too: what is not there is no error.
      return PySet_Check(target) ? PySet_Discard(target, value) >= 0
                                 : call_method(target, "remove", value, nullptr);
    case Kind::contents:
      return replace_contents(target, value);
    default:
      return false;
  }
}

}  // namespace penstock::jit
