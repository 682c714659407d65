#include "capture/walk.h"

#include "capture/constructor.h"
#include "capture/literal.h"
#include "capture/polyfills.h"
#include "capture/roots.h"
#include "capture/rules.h"
#include "python/bytecode.h"

#include <utility>

namespace penstock::capture {

using python::Frame;
using python::PyRef;

Walk::Walk(const python::TensorBridge& bridge, SchemaTable& schemas, const CompileApi& compile_api,
           Callables& callables, const ChangedNumbers* changed, DynamicSizes dynamic, bool keep_examples)
    : recorder_(bridge, keep_examples, changed, dynamic, [this] { return here(); }),
      schemas_(schemas),
      compile_api_(compile_api),
      callables_(callables),
      changed_(changed) {
  if (for_backend_) random_state_ = random_state();
}
Walk::~Walk() = default;

namespace {

constexpr int kCellFlag = 0x40, kFreeFlag = 0x80;  // CO_FAST_CELL, CO_FAST_FREE

int slot_kind(PyCodeObject* code, int slot) {
  return static_cast<unsigned char>(PyBytes_AS_STRING(code->co_localspluskinds)[slot]);
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
  start_unit_ = frame.unit();
  start_location_ = frame.bytecode().location(frame.instruction());
  if (start_location_.line == 0) start_location_.line = frame.code()->co_firstlineno;
  const bool at_start = frame.last_unit() < 0;
  for (int slot = 0; slot < frame.slot_count(); ++slot) {
    const std::string name = text_of(python::slot_name(frame.code(), slot));
    PyObject* object = frame.local(slot);
    shadow.was_bound.push_back(object != nullptr);
    if (object == nullptr) {
      shadow.locals.push_back(Shadow::null());
    } else if (!at_start && is_cell_slot(frame.code(), slot) && PyCell_Check(object)) {
      const SourceId content = recorder_.source(SourceKind::cell, kNoSource, name, slot);
      Shadow cell = fresh(object, {Shadow::sourced(content)});
      ObjectShadow& contents = this->object(cell.index);
      contents.origin = Shadow::sourced(content);
      contents.own_slot = slot;
      if (PyCell_GET(object) == nullptr) contents.items[0] = Shadow::null();
      shadow.locals.push_back(cell);
    } else {
      shadow.locals.push_back(
          Shadow::sourced(recorder_.source(SourceKind::local, kNoSource, name, slot)));
    }
  }
  for (int i = 0; i < frame.depth(); ++i) {
    shadow.push(frame.stack()[i] == nullptr
                    ? Shadow::null()
                    : Shadow::sourced(recorder_.source(SourceKind::stack, kNoSource, {}, i)));
  }
  return shadow;
}

bool Walk::before(FrameShadow& frame, const python::Instruction& instruction) {
  frame.instruction = &instruction;
  frame.finish = nullptr;
  frame.expected = Expected{};
  effects_before_ = effects_.size();
  const bool goes_on = apply_rule(*this, frame, instruction);
  if (recorder_.unholdable() && !spoiled()) {
    spoil_here("no call fits a segment that relies on this: " + *recorder_.unholdable(), Code::PS0313);
  }
  if (!goes_on && !spoiled()) return false;
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
  if (!suspended_.empty()) release_abandoned();
  // A rule of ours that pushes or pops otherwise than Python must not reach the program.
  if (!spoiled() && static_cast<int>(frame.stack.size()) != frame.frame->depth()) {
    spoil("what is known of the operand stack does not fit it");
  }
}

bool Walk::expects(Frame& frame) const {
  const Expected& expected = innermost_->expected;
  // C code that the instruction runs may call the same function for reasons of its own, further down.
  if (frame.caller() != innermost_->frame->visible() && !expected.through) return false;
  if (frame.is_generator()) {
    return expected.generator != nullptr && frame.generator() == expected.generator;
  }
  return expected.function != nullptr && frame.function() == expected.function &&
         (expected.arrived == 0 || expected.repeats);
}

namespace {

/// FrameShadow::path of what the frame's instruction calls.
std::size_t path_below(const FrameShadow& f) {
  const auto mixed = [](std::size_t hash, std::size_t more) { return (hash ^ more) * 0x9e3779b97f4a7c15u + (hash >> 29); };
  return mixed(mixed(f.path, reinterpret_cast<std::size_t>(f.frame->code())), static_cast<std::size_t>(f.instruction->offset) + 1);
}

/// Asked while an exception may be under way, which a look into a dict of CPython's would drop.
bool is_of_torch(const FrameShadow& f) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const bool is = module_name(f.frame->globals()).starts_with("torch.");
  PyErr_Restore(type, value, traceback);
  return is;
}

}  // namespace

FrameShadow& Walk::enter(Frame& frame) {
  Expected& expected = innermost_->expected;
  ++expected.arrived;
  if (frame.is_generator()) {
    frames_.push_back(resume_generator(frame.generator()));
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
      innermost_->top(at) = fresh(innermost_->object(at), expected.unpacked);
    }
    if (expected.new_self) {
      expected.self = frame.local(0);
      expected.positional[0] = {fresh(expected.self), expected.self};
      find(expected.self)->made_at = program_place(innermost_);
    }
    if (expected.rows_of) expected.positional[0].shadow = row(frame.local(0), *expected.rows_of, expected.arrived - 1);
    if (expected.new_tuple) expected.positional[1].shadow = fresh(frame.local(1), *expected.new_tuple);
    bind_arguments(shadow, {frame.code(), frame.slots(), false}, expected);
  }
  innermost_ = &shadow;
  return shadow;
}

void Walk::leave(FrameShadow& frame, bool yielded, bool raised) {
  FrameShadow* caller = frame.caller;
  innermost_ = caller;
  if (caller == nullptr) return;
  release_dead();
  if (raised && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    Expected& expected = caller->expected;
    expected.raised = expected.otherwise.object == nullptr;
    if (!expected.raised) {
      raising_ = {};
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
    caller->expected.positional[0].shadow = caller->expected.made = frame.result;
    caller->expected.arrived = 0;
    frames_.pop_back();
    return;
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
  if (caller->expected.repeats) caller->expected.results.push_back(frame.result);
  if (yielded) {
    frame.pop();
    suspend_generator(frame);
  }
  frames_.pop_back();
}

void Walk::raised(FrameShadow& frame, bool again) {
  frame.finish = nullptr;
  if (&frame == innermost_ && effects_.size() > effects_before_) {
    spoil("an instruction that changes an object raised");
    end_place_ = place_of(frame);
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

std::optional<RaisePlace> Walk::open_constructor() const {
  std::optional<RaisePlace> outermost;
  for (const FrameShadow* f = innermost_; f != nullptr; f = f->caller) {
    if (f->caller == nullptr) continue;
    const FrameShadow& caller = *f->caller;
    if (!caller.expected.is_constructing()) continue;
    const int callable = callable_position(*caller.frame, *caller.instruction);
    const bool of_class = callable >= 0 && PyType_Check(caller.frame->stack()[callable]);
    if (!of_class) outermost = program_place(f->caller);
  }
  return outermost;
}

RaisePlace Walk::place_of(const FrameShadow& f) { return {f.frame->code(), f.instruction->offset, is_of_torch(f) ? f.path : 0}; }

RaisePlace Walk::program_place(const FrameShadow* f) const {
  const auto is_inner = [&] {
    return !follows_code(callables_.of(f->frame->code(), f->frame->globals()).rule->action);
  };
  const FrameShadow* called = nullptr;
  while (f->caller != nullptr && is_inner()) {
    called = f;
    f = f->caller;
  }
  // Torch's code that calls modules stands before all of them: what it called is nearer.
  return place_of(called != nullptr && is_of_torch(*f) ? *called : *f);
}

void Walk::unwound(FrameShadow& frame, int depth) {
  frame.finish = nullptr;
  frame.expected = Expected{};
  // The handler finds the exception (and the failing instruction's number) on top.
  frame.stack.resize(depth, Shadow::constant());
  while (static_cast<int>(frame.stack.size()) < frame.frame->depth()) {
    frame.push(Shadow::constant());
  }
  if (!suspended_.empty()) release_abandoned();
}

namespace {

/// True where torch's own Python code runs: TorchDynamo does not look into most of it, so a graph can hold its call.
bool is_inside_torch(const FrameShadow* f) {
  while (f != nullptr && f->caller != nullptr && is_polyfill(f->frame->globals())) f = f->caller;
  return f != nullptr && f->frame != nullptr && module_name(f->frame->globals()).starts_with("torch.");
}

}  // namespace

bool Walk::broke(Code code, std::string reason, bool anywhere) {
  reason_ = BreakReason{code, std::move(reason), false, anywhere && !is_inside_torch(innermost_), {}};
  return false;
}

bool Walk::broke(const CallRule& rule, std::string_view name) {
  const bool anywhere = rule.action == CallAction::outside && !is_inside_torch(innermost_);
  reason_ = BreakReason{rule.code, rule.reason_for(name), false, anywhere, rule.text()};
  return false;
}

void Walk::spoil_here(std::string why, Code code) {
  spoil(std::move(why));
  spoil_code_ = code;
  spoiled_at_ = program_place(innermost_);
}

bool Walk::end_silently() {
  reason_ = BreakReason{Code::PS0601, {}, true, false, {}};
  return false;
}

Location Walk::here() const {
  if (innermost_ == nullptr || innermost_->instruction == nullptr) return {};
  // The program calls a function of C there.
  const FrameShadow* f = innermost_;
  while (f->caller != nullptr && is_polyfill(f->frame->globals())) f = f->caller;
  return f->frame->bytecode().location(*f->instruction);
}

void Walk::add_guard(GuardKind kind, SourceId source, Argument expected, PyObject* live) {
  Guard guard{kind, source, kNoSource, std::move(expected), {}, {}, {}, -1};
  if (live != nullptr) guard.live = recorder_.live(live);
  recorder_.guard(std::move(guard), [this] { return here(); });
}

void Walk::add_live_guard(GuardKind kind, SourceId source, PyObject* object) {
  if (!recorder_.is_guarded(kind, source, object)) add_guard(kind, source, qualified_name(object), object);
}

bool Walk::consume_type(Operand operand) {
  if (operand.shadow.is(Shadow::Kind::unknown)) {
    return broke(Code::PS0302, "a value whose origin is not known is used here");
  }
  if (!operand.shadow.is(Shadow::Kind::sourced)) return true;
  if (operand.object == Py_None) return consume(operand);
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(operand.object));
  add_live_guard(GuardKind::type_is, operand.shadow.index, type);
  return true;
}

bool Walk::consume_identity(Operand operand) {
  if (is_computed(operand)) return consume(operand);
  if (operand.shadow.is(Shadow::Kind::unknown)) {
    return broke(Code::PS0302, "a value whose origin is not known is used here");
  }
  if (!operand.shadow.is(Shadow::Kind::sourced)) return true;
  if (operand.object == Py_None) return consume(operand);
  add_live_guard(GuardKind::identity, operand.shadow.index, operand.object);
  return true;
}

bool is_known_by_identity(PyObject* object) {
  return PyType_Check(object) || PyFunction_Check(object) || PyCFunction_Check(object) ||
         PyModule_Check(object) || PyCode_Check(object) || Py_TYPE(object) == &PyMethodDescr_Type ||
         Py_TYPE(object) == &PyWrapperDescr_Type || object == Py_NotImplemented;
}

bool Walk::consume_address(Operand operand) {
  PyObject* object = operand.object;
  if (operand.shadow.is(Shadow::Kind::unknown)) return consume(operand);
  const bool single = object == Py_None || object == Py_Ellipsis || PyBool_Check(object);
  if (single) return consume(operand);
  const bool made = operand.shadow.is(Shadow::Kind::fresh) || operand.shadow.is(Shadow::Kind::node);
  if (!made && is_known_by_identity(object)) return consume_identity(operand);
  // An argument mostly is another tensor each time. What takes no weak reference cannot be told from others.
  const bool passes = is_tensor(object) && Py_TYPE(object) != recorder_.bridge().parameter_type();
  const bool told = operand.shadow.is(Shadow::Kind::sourced) && PyType_SUPPORTS_WEAKREFS(Py_TYPE(object));
  if (told && !passes) return consume_identity(operand);
  return broke(Code::PS0303, std::string("the identity of a ") + Py_TYPE(object)->tp_name +
                                 " differs from call to call");
}

/// A list may be deep, or hold itself.
bool Walk::consume_items(Operand sequence) {
  constexpr int kDeepest = 64;
  if (consuming_ >= kDeepest) return broke(Code::PS0303, "a list that is nested too deeply is used as a plain value");
  ++consuming_;
  const std::vector<Shadow> all = items(sequence);
  bool known = true;
  for (std::size_t i = 0; known && i < all.size(); ++i) {
    known = consume({all[i], PySequence_Fast_GET_ITEM(sequence.object, static_cast<Py_ssize_t>(i))});
  }
  --consuming_;
  return known;
}

bool Walk::consume(Operand operand) {
  switch (operand.shadow.kind) {
    case Shadow::Kind::constant: return true;
    case Shadow::Kind::unknown:
    case Shadow::Kind::null:
      return broke(Code::PS0302, "a value whose origin is not known is used here");
    case Shadow::Kind::node:
      return broke(Code::PS0301, "the elements of a tensor decide what happens here");
    case Shadow::Kind::fresh:
    case Shadow::Kind::sourced: break;
  }
  PyObject* object = operand.object;
  if (PyTuple_Check(object) || PyList_CheckExact(object)) return consume_items(operand);
  if (PySlice_Check(object) && operand.shadow.is(Shadow::Kind::fresh)) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    const std::vector<Shadow> all = this->object(operand.shadow.index).items;
    return consume({all[0], slice->start}) && consume({all[1], slice->stop}) &&
           (all.size() < 3 || consume({all[2], slice->step}));
  }
  if (operand.shadow.is(Shadow::Kind::fresh)) {
    return broke(Code::PS0303, std::string("an object of type ") + Py_TYPE(object)->tp_name +
                                   " that was made here is used as a plain value");
  }
  if (is_tensor(object)) {
    return broke(Code::PS0301, "the elements of a tensor decide what happens here");
  }
  const SourceId source = operand.shadow.index;
  if (of_elements_.contains(source)) return broke(Code::PS0301, "the elements of a tensor decide what happens here");
  if (object == Py_None) {
    add_guard(GuardKind::is_none, source, {});
    return true;
  }
  if (is_known_by_identity(object)) return consume_identity(operand);
  if (!PyDict_CheckExact(object)) {
    if (auto literal = literal_of(object)) {
      add_guard(GuardKind::equals, source, std::move(*literal));
      return true;
    }
  }
  // A member of an enumeration, a singleton: the same object means the same value.
  if (Py_TYPE(object)->tp_as_number == nullptr || PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE)) {
    PyObject* meta = reinterpret_cast<PyObject*>(Py_TYPE(Py_TYPE(object)));
    if (qualified_name(meta) == "enum.EnumType") return consume_identity(operand);
  }
  return broke(Code::PS0303, std::string("a value of type ") + Py_TYPE(object)->tp_name +
                                 " cannot be checked before the segment runs");
}

bool Walk::consume_hashed(Operand operand) {
  const PyTypeObject* type = Py_TYPE(operand.object);
  const bool by_identity = type->tp_hash == PyBaseObject_Type.tp_hash && type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
  return by_identity && !is_tensor(operand.object) ? consume_identity(operand) : consume(operand);
}

std::optional<bool> Walk::consume_truth(Operand operand) {
  PyObject* object = operand.object;
  auto real_truth = [&]() -> std::optional<bool> {
    const int truth = PyObject_IsTrue(object);
    if (truth < 0) PyErr_Clear();
    return truth < 0 ? std::nullopt : std::optional(truth == 1);
  };
  if (is_tensor(object)) {
    const auto truth = is_known_tensor(operand) ? real_truth() : std::nullopt;
    if (!truth) broke(Code::PS0301, "the branch depends on the elements of a tensor", true);
    return truth;
  }
  if (operand.shadow.is(Shadow::Kind::constant)) return real_truth();
  if (object == Py_None || PyBool_Check(object)) {
    if (!consume(operand)) return std::nullopt;
    return real_truth();
  }
  if (PyLong_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object)) {
    if (operand.shadow.is(Shadow::Kind::sourced)) {
      const auto truth = real_truth();
      add_guard(GuardKind::truth, operand.shadow.index, *truth);
      return truth;
    }
    return real_truth();
  }
  if (PyList_CheckExact(object) || has_tuple_slots(object)) {
    items(operand);
    return real_truth();
  }
  if ((has_dict_slot(object, "__len__") && (Py_TYPE(object)->tp_as_number == nullptr ||
                                            Py_TYPE(object)->tp_as_number->nb_bool == nullptr)) ||
      PyAnySet_CheckExact(object)) {
    if (!size_is_known(operand, "truth")) return std::nullopt;
    if (operand.shadow.is(Shadow::Kind::sourced)) {
      const auto truth = real_truth();
      add_guard(GuardKind::truth, operand.shadow.index, *truth);
      return truth;
    }
    return real_truth();
  }
  PyTypeObject* type = Py_TYPE(object);
  const bool plain = (type->tp_as_number == nullptr || type->tp_as_number->nb_bool == nullptr) &&
                     (type->tp_as_mapping == nullptr || type->tp_as_mapping->mp_length == nullptr) &&
                     (type->tp_as_sequence == nullptr || type->tp_as_sequence->sq_length == nullptr);
  if (!plain) {
    broke(Code::PS0303, std::string("the truth of a ") + type->tp_name + " is not followed");
    return std::nullopt;
  }
  if (!consume_type(operand)) return std::nullopt;
  return true;
}

bool Walk::gives(FrameShadow& frame, int pops, Shadow shadow) {
  frame.pop(pops);
  frame.push(shadow);
  return true;
}

bool Walk::gives_constant(FrameShadow& frame, int pops) {
  return gives(frame, pops, Shadow::constant());
}

bool Walk::gives_fresh(FrameShadow& frame, int pops, std::vector<Shadow> items) {
  frame.finish = [pops, items = std::move(items)](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    f.push(walk.fresh(f.object(), items));
  };
  return true;
}

bool Walk::gives_call_result(FrameShadow& frame, int pops) {
  frame.finish = [pops](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    Shadow result = f.expected.result;
    if (f.expected.arrived == 0 && !f.expected.native) {
      walk.spoiled_ = "a Python frame that an instruction should run did not reach the walker";
    }
    if (f.expected.asks_truth) result = Shadow::constant();
    if (!f.expected.made.is(Shadow::Kind::unknown)) result = f.expected.made;
    if (f.expected.new_self) {
      // type.__call__ gives the object that __init__ got.
      if (ObjectShadow* made = walk.find(f.object())) {
        result = Shadow::fresh(walk.by_identity_[made->object.get()]);
      }
    }
    f.push(result);
  };
  return true;
}

}  // namespace penstock::capture
