#include "record/walk.h"

#include "policy/roots.h"
#include "policy/shown_code.h"
#include "python/bytecode.h"
#include "python/literal.h"
#include "record/constructor.h"
#include "record/objects/exception.h"
#include "record/objects/torch_call.h"
#include "record/polyfills.h"
#include "record/results.h"
#include "record/rules/rules.h"
#include "record/variables.h"

#include <utility>

namespace penstock::record {

using python::Frame;
using python::PyRef;

Walk::Walk(const torch::TensorBridge& bridge, torch::SchemaTable& schema_table,
           const policy::CompileApi& api, policy::Callables& known_callables,
           const ChangedNumbers* changed, DynamicSizes dynamic, bool keep_examples, bool runs)
    : schemas(schema_table),
      compile_api(api),
      callables(known_callables),
      recorder(bridge, keep_examples, changed, dynamic, [this] { return here(); }),
      verdict(*this),
      facts(*this),
      objects(*this),
      effects(objects),
      gradients(effects),
      sizes(*this, changed),
      context(*this, runs),
      generators(*this) {}
Walk::~Walk() = default;

namespace {

constexpr int kCellFlag = 0x40, kFreeFlag = 0x80;  // CO_FAST_CELL, CO_FAST_FREE

int slot_kind(PyCodeObject* code, int slot) {
  return static_cast<unsigned char>(PyBytes_AS_STRING(code->co_localspluskinds)[slot]);
}

/// What CPython makes of a call's other arguments, whoever calls: a tuple for *args and a dict for
/// **kwargs.
void settle_collected_arguments(RecordedGuards& guards, const FrameShadow& shadow,
                                PyCodeObject* code) {
  int slot = code->co_argcount + code->co_kwonlyargcount;
  const auto settle = [&](int flag, PyTypeObject* type) {
    if ((code->co_flags & flag) == 0) return;
    const Shadow collected = shadow.locals[static_cast<std::size_t>(slot++)];
    if (collected.is(Shadow::Kind::sourced)) {
      guards.always_holds(GuardKind::type_is, collected.index, reinterpret_cast<PyObject*>(type));
    }
  };
  settle(CO_VARARGS, &PyTuple_Type);
  settle(CO_VARKEYWORDS, &PyDict_Type);
}

}  // namespace

bool is_cell_slot(PyCodeObject* code, int slot) {
  return (slot_kind(code, slot) & (kCellFlag | kFreeFlag)) != 0;
}

FrameShadow& Walk::start(Frame& frame) {
  frames_.push_back(std::make_unique<FrameShadow>());
  FrameShadow& shadow = *frames_.back();
  shadow.frame = &frame;
  shadow.function = PyRef::borrow(frame.function());
  start_ = innermost_ = &shadow;
  recorder.name_arguments(policy::shown_arguments(frame));
  start_unit_ = frame.unit();
  start_location_ = frame.bytecode().location(frame.instruction());
  if (start_location_.line == 0) start_location_.line = frame.code()->co_firstlineno;
  const bool at_start = frame.unit() == 0;
  for (int slot = 0; slot < frame.slot_count(); ++slot) {
    const std::string name = python::text_of(python::slot_name(frame.code(), slot));
    PyObject* object = frame.local(slot);
    shadow.was_bound.push_back(object != nullptr);
    if (object == nullptr) {
      shadow.locals.push_back(Shadow::null());
    } else if (!at_start && is_cell_slot(frame.code(), slot) && PyCell_Check(object)) {
      const SourceId content = recorder.guards().source(SourceKind::cell, kNoSource, name, slot);
      Shadow cell = objects.fresh(object, {Shadow::sourced(content)});
      ObjectShadow& contents = objects.object(cell.index);
      contents.origin = Shadow::sourced(content);
      contents.own_slot = slot;
      if (PyCell_GET(object) == nullptr) contents.items[0] = Shadow::null();
      shadow.locals.push_back(cell);
    } else {
      shadow.locals.push_back(
          Shadow::sourced(recorder.guards().source(SourceKind::local, kNoSource, name, slot)));
    }
  }
  if (at_start) settle_collected_arguments(recorder.guards(), shadow, frame.code());
  for (int i = 0; i < frame.depth(); ++i) {
    shadow.push(frame.stack()[i] == nullptr ? Shadow::null()
                                            : Shadow::sourced(recorder.guards().source(
                                                  SourceKind::stack, kNoSource, {}, i)));
  }
  return shadow;
}

bool Walk::before(FrameShadow& frame, const python::Instruction& instruction) {
  frame.instruction = &instruction;
  frame.finish = nullptr;
  frame.expected = Expected{};
  effects.begin_instruction();
  const bool goes_on = apply_rule(*this, frame, instruction);
  if (recorder.guards().unholdable() && !verdict.spoiled()) {
    verdict.spoil_here(
        "no call fits a segment that relies on this: " + *recorder.guards().unholdable(),
        Code::PS0313);
  }
  if (!goes_on && !verdict.spoiled()) return false;
  ++frame.steps;
  return true;
}

void Walk::after(FrameShadow& frame) {
  raising_ = {};  // what C code raised and caught
  if (frame.finish) {
    auto finish = std::move(frame.finish);
    finish(*this, frame);
  }
  frame.expected = Expected{};
  if (!generators.empty()) generators.release_abandoned();
  // A rule of ours that pushes or pops otherwise than Python must not reach the program.
  if (!verdict.spoiled() && static_cast<int>(frame.stack.size()) != frame.frame->depth()) {
    verdict.spoil("what is known of the operand stack does not fit it");
  }
}

bool Walk::expects(Frame& frame) const {
  const Expected& expected = innermost_->expected;
  // C code that the instruction runs may call the same function for reasons of its own, further
  // down.
  if (frame.caller() != innermost_->frame->visible()) return false;
  if (frame.is_generator()) {
    return expected.generator != nullptr && frame.generator() == expected.generator;
  }
  return expected.function != nullptr && frame.function() == expected.function &&
         (expected.arrived == 0 || expected.repeats);
}

namespace {

/// FrameShadow::path of what the frame's instruction calls.
std::size_t path_below(const FrameShadow& f) {
  const auto mixed = [](std::size_t hash, std::size_t more) {
    return (hash ^ more) * 0x9e3779b97f4a7c15u + (hash >> 29);
  };
  return mixed(mixed(f.path, reinterpret_cast<std::size_t>(f.frame->code())),
               static_cast<std::size_t>(f.instruction->offset) + 1);
}

/// Code of torch's or of Python's own library, which others run as well. Asked while an exception
/// may be under way, which a look into a dict of CPython's would drop.
bool is_shared(const FrameShadow& f) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const std::string_view module = policy::module_name(f.frame->globals());
  const std::string_view package = module.substr(0, module.find('.'));
  const PyRef name = PyRef::steal(
      PyUnicode_FromStringAndSize(package.data(), static_cast<Py_ssize_t>(package.size())));
  PyObject* own = PySys_GetObject("stdlib_module_names");
  const bool is =
      package == "torch" || (name && own != nullptr && PySet_Contains(own, name.get()) == 1);
  PyErr_Restore(type, value, traceback);
  return is;
}

/// Of a call with one, whether a parameter takes it or `*args` does.
PyObject* first_argument(const Frame& frame) {
  const PyCodeObject* code = frame.code();
  if (code->co_argcount > 0 || (code->co_flags & CO_VARARGS) == 0) return frame.local(0);
  PyObject* all = frame.local(code->co_kwonlyargcount);
  return PyTuple_Check(all) && PyTuple_GET_SIZE(all) > 0 ? PyTuple_GET_ITEM(all, 0) : nullptr;
}

}  // namespace

FrameShadow& Walk::enter(Frame& frame) {
  Expected& expected = innermost_->expected;
  ++expected.arrived;
  if (frame.is_generator()) {
    frames_.push_back(generators.resume(frame.generator()));
  } else {
    frames_.push_back(std::make_unique<FrameShadow>());
    frames_.back()->function = PyRef::borrow(expected.function);
    frames_.back()->function_shadow = expected.function_shadow;
  }
  FrameShadow& shadow = *frames_.back();
  shadow.frame = &frame;
  shadow.caller = innermost_;
  shadow.path = path_below(*innermost_);
  shadow.steps = 0;
  if (frame.is_generator()) {
    while (static_cast<int>(shadow.stack.size()) < frame.depth()) shadow.push(Shadow::constant());
  } else {
    if (const int at = expected.unpacked_at; at >= 0) {
      innermost_->top(at) = objects.fresh(innermost_->object(at), expected.unpacked);
    }
    if (expected.new_self) {
      expected.self = first_argument(frame);
      expected.positional[0] = {objects.fresh(expected.self), expected.self};
      objects.find(expected.self)->made_at = program_place(innermost_);
      if (keeps_arguments(Py_TYPE(expected.self))) {
        std::vector<Shadow> arguments;
        for (std::size_t i = 1; i < expected.positional.size(); ++i)
          arguments.push_back(expected.positional[i].shadow);
        know_arguments(*this, expected.self, std::move(arguments));
      }
    }
    if (expected.new_tuple)
      expected.positional[1].shadow = objects.fresh(frame.local(1), *expected.new_tuple);
    bind_arguments(*this, shadow, {frame.code(), frame.slots(), false}, expected);
  }
  innermost_ = &shadow;
  return shadow;
}

namespace {

/// Whether the instruction that runs the frame goes on behind the exception that is set.
bool goes_on_behind_error(const Expected& expected) {
  if (expected.otherwise.object != nullptr) return PyErr_ExceptionMatches(PyExc_AttributeError);
  switch (expected.caught) {
    case Caught::none:
      return false;
    case Caught::no_attribute:
      return PyErr_ExceptionMatches(PyExc_AttributeError);
    case Caught::end_of_iterator:
      return PyErr_ExceptionMatches(PyExc_StopIteration);
    case Caught::end_of_sequence:
      return PyErr_ExceptionMatches(PyExc_StopIteration) ||
             PyErr_ExceptionMatches(PyExc_IndexError);
  }
  return false;
}

}  // namespace

void Walk::leave(FrameShadow& frame, bool yielded, bool raised) {
  FrameShadow* caller = frame.caller;
  innermost_ = caller;
  if (caller == nullptr) return;
  objects.release_dead();
  if (raised && goes_on_behind_error(caller->expected)) {
    Expected& expected = caller->expected;
    expected.raised = expected.otherwise.object == nullptr;
    raising_ = {};
    if (!expected.raised) {
      expected.function = std::exchange(expected.otherwise.object, nullptr);
      expected.function_shadow = expected.otherwise.shadow;
      expected.positional = std::move(expected.otherwise_arguments);
      expected.arrived = 0;
      frames_.pop_back();
      return;
    }
  }
  if (caller->expected.init != nullptr && !raised) {
    // __new__ is done; type.__call__ goes on to __init__ with the same arguments.
    caller->expected.function = std::exchange(caller->expected.init, nullptr);
    caller->expected.function_shadow = caller->expected.init_shadow;
    caller->expected.positional[0].shadow = caller->expected.made = frame.result;
    caller->expected.arrived = 0;
    frames_.pop_back();
    return;
  }
  if (frame.declines && !raised) {
    caller->expected.unanswered = caller->expected.declined == nullptr;
    if (!caller->expected.unanswered) {
      caller->expected = Expected(*std::exchange(caller->expected.declined, nullptr));
      frames_.pop_back();
      return;
    }
  }
  if (caller->expected.then != nullptr && !yielded && !raised) {
    Expected call = std::move(*caller->expected.then);
    call.unpacked = std::move(caller->expected.results);
    if (caller->expected.generator == nullptr) call.unpacked = {frame.result};
    for (Shadow item : call.unpacked) call.positional.push_back({item, nullptr});
    caller->expected = std::move(call);
    frames_.pop_back();
    return;
  }
  caller->expected.result = frame.result;
  if (caller->expected.repeats && !raised) caller->expected.results.push_back(frame.result);
  if (yielded) {
    frame.pop();
    generators.suspend(std::move(frames_.back()));
  }
  frames_.pop_back();
}

void Walk::raised(FrameShadow& frame, bool again) {
  frame.finish = nullptr;
  if (&frame == innermost_ && effects.of_instruction()) {
    verdict.spoil("an instruction that changes an object raised", place_of(frame));
  }
  if (again && !frame.handling.empty()) raising_ = frame.handling.back();
  if (raising_.code == nullptr) raising_ = place_of(frame);
}

std::vector<RaisePlace> Walk::open_handlers() const {
  std::vector<RaisePlace> places;
  for (const FrameShadow* f = innermost_; f != nullptr; f = f->caller) {
    places.insert(places.end(), f->handling.begin(), f->handling.end());
  }
  return places;
}

namespace {

/// True for the constructor of a torch.nn.Module.
bool makes_module(const python::Frame& frame) {
  PyObject* self = frame.code()->co_argcount > 0 ? frame.local(0) : nullptr;
  if (self != nullptr && PyCell_Check(self)) self = PyCell_GET(self);
  return self != nullptr && policy::is_nn_module(self);
}

}  // namespace

std::optional<RaisePlace> Walk::open_constructor() const {
  std::optional<RaisePlace> outermost;
  for (const FrameShadow* f = innermost_; f != nullptr; f = f->caller) {
    if (f->caller == nullptr) continue;
    const FrameShadow& caller = *f->caller;
    if (!caller.expected.is_constructing()) continue;
    const int callable = callable_position(*caller.frame, *caller.instruction);
    const bool of_class = callable >= 0 && PyType_Check(caller.frame->stack()[callable]);
    if (!of_class || makes_module(*f->frame)) outermost = program_place(f->caller);
  }
  return outermost;
}

RaisePlace Walk::place_of(const FrameShadow& f) {
  return {f.frame->code(), f.instruction->offset, is_shared(f) ? f.path : 0};
}

RaisePlace Walk::program_place(const FrameShadow* f) const {
  const auto is_inner = [&] {
    return !follows_code(callables.of(f->frame->code(), f->frame->globals()).rule->action);
  };
  const FrameShadow* called = nullptr;
  while (f->caller != nullptr && is_inner()) {
    called = f;
    f = f->caller;
  }
  // Torch's code that calls modules stands before all of them: what it called is nearer.
  return place_of(called != nullptr && is_shared(*f) ? *called : *f);
}

void Walk::unwound(FrameShadow& frame, int depth) {
  frame.finish = nullptr;
  frame.expected = Expected{};
  // The handler finds the exception (and the failing instruction's number) on top.
  frame.stack.resize(depth, Shadow::constant());
  while (static_cast<int>(frame.stack.size()) < frame.frame->depth()) {
    frame.push(Shadow::constant());
  }
  if (PyExceptionInstance_Check(frame.object()))
    frame.top() = caught_exception(*this, frame.object());
  if (!generators.empty()) generators.release_abandoned();
}

Location Walk::here() const {
  if (innermost_ == nullptr || innermost_->instruction == nullptr) return {};
  // The program calls a function of C there.
  const FrameShadow* f = innermost_;
  while (f->caller != nullptr && is_polyfill(f->frame->globals())) f = f->caller;
  return f->frame->bytecode().location(*f->instruction);
}

bool gives(FrameShadow& frame, int pops, Shadow shadow) {
  frame.pop(pops);
  frame.push(shadow);
  return true;
}

bool gives_constant(FrameShadow& frame, int pops) {
  return gives(frame, pops, Shadow::constant());
}

bool gives_fresh(FrameShadow& frame, int pops, std::vector<Shadow> items) {
  frame.finish = [pops, items = std::move(items)](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    f.push(walk.objects.fresh(f.object(), items));
  };
  return true;
}

bool gives_call_result(FrameShadow& frame, int pops) {
  frame.finish = [pops](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    Shadow result = f.expected.result;
    if (f.expected.arrived == 0 && !f.expected.native) {
      walk.verdict.spoil("a Python frame that an instruction should run did not reach the walker");
    }
    if (f.expected.asks_truth) result = Shadow::constant();
    if (!f.expected.made.is(Shadow::Kind::unknown)) result = f.expected.made;
    if (f.expected.new_self) {
      // type.__call__ gives the object that __init__ got.
      if (ObjectShadow* made = walk.objects.find(f.object())) {
        result = Shadow::fresh(walk.objects.id_of(made->object.get()));
      }
    }
    f.push(result);
  };
  return true;
}

}  // namespace penstock::record
