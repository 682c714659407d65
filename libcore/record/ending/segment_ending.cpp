// How a segment ends: what stands in its frames, its result and its effects becomes records to
// restore, each with a recipe for the value.

#include <algorithm>

#include "policy/shown_code.h"
#include "python/bytecode.h"
#include "python/literal.h"
#include "record/constructor.h"
#include "record/ending/segment_ending.h"
#include "record/local_variables.h"
#include "record/rules/rules.h"
#include "torch/state.h"

namespace penstock::record {

using python::text_of;

/// The variable is set again: the token is what that gives.
Recipe SegmentEnding::token(const OpenContext& context) {
  static PyObject* const set =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyContextVar_Type), "set");
  Recipe recipe;
  recipe.kind = Recipe::Kind::call;
  recipe.items = {live(set), live(context.variable.get())};
  recipe.items.push_back(this->recipe({context.value, context.value_object.get()}));
  return recipe;
}

/// Stands for a class whose __init__ is under way: goes on in it with the object that there is.
Recipe SegmentEnding::constructor(const Expected& call) {
  const Shadow made = call.new_self ? Shadow::fresh(walk_.objects.id_of(call.self)) : call.made;
  Recipe recipe;
  recipe.kind = Recipe::Kind::call;
  recipe.items = {live(construct_function()), live(call.function)};
  recipe.items.push_back(this->recipe({made, walk_.objects.object(made.index).object.get()}));
  return recipe;
}

/// Whether the frame goes on without reading what the slot holds.
bool SegmentEnding::is_unread(FrameShadow& f, int slot) const {
  return !may_see_variables(f.frame->code()) &&
         !is_read_behind(f.frame->bytecode(), f.instruction->offset, slot);
}

void SegmentEnding::slot(FrameShadow& f, int slot, std::vector<Restore>& restore) {
  PyObject* object = f.frame->local(slot);
  const Shadow shadow = f.locals[slot];
  Restore record;
  record.index = slot;
  record.name = text_of(python::slot_name(f.frame->code(), slot));
  if (object == nullptr) {
    if (f.was_bound.empty() || !f.was_bound[slot]) return;
    record.kind = Restore::Kind::unbind;
    restore.push_back(std::move(record));
    return;
  }
  // The root's own cells are there; what is in them is among the effects.
  const bool root = f.caller == nullptr;
  if (root && is_cell_slot(f.frame->code(), slot) && PyCell_Check(object) &&
      shadow.is(Shadow::Kind::fresh)) {
    return;
  }
  if (shadow.is(Shadow::Kind::sourced) && f.caller == nullptr) {
    const SourceStep& step = interface_.sources[shadow.index];
    if (step.kind == SourceKind::local && step.index == slot) return;  // as it was
  }
  record.kind = Restore::Kind::local;
  const bool described = !failed_;
  // Nobody asks for gradients of what a variable holds that the code reads no more. A view has no
  // node of its own that could be told.
  const bool unread = shadow.is(Shadow::Kind::node) && pending_gradients(object) &&
                      !name_of_grad_fn(object).empty() && is_unread(f, slot);
  record.value = unread ? spent({shadow, object}) : recipe({shadow, object});
  if (described && failed_) reason_ += ", '" + record.name + "'";
  restore.push_back(std::move(record));
}

void SegmentEnding::frame(FrameShadow& f, std::vector<Restore>& restore) {
  for (int slot = 0; slot < f.frame->slot_count(); ++slot) this->slot(f, slot, restore);
  const bool constructs = &f != walk_.innermost() && f.expected.is_constructing();
  const int callable = constructs ? callable_position(*f.frame, *f.instruction) : -1;
  for (int i = 0; i < f.frame->depth(); ++i) {
    PyObject* object = f.frame->stack()[i];
    const Shadow shadow = f.stack[i];
    if (object == nullptr) continue;  // a slot without a record is null behind the segment
    Restore record;
    record.kind = Restore::Kind::stack;
    record.index = i;
    if (i == callable && PyType_Check(object)) {
      record.value = constructor(f.expected);
      restore.push_back(std::move(record));
      continue;
    }
    const bool described = !failed_;
    record.value = recipe({shadow, object});
    if (described && failed_)
      reason_ += ", an operand of '" + text_of(f.frame->code()->co_qualname) + "',";
    restore.push_back(std::move(record));
  }
}

void SegmentEnding::effects() {
  for (const Effect& effect : walk_.effects.all()) {
    Restore record;
    record.kind = effect.kind;
    record.name = effect.name;
    if (effect.target_object) record.target = recipe({effect.target, effect.target_object.get()});
    if (effect.key_object) record.key = recipe({effect.key, effect.key_object.get()});
    if (effect.kind == Restore::Kind::contents) {  // what is in the object behind the segment
      record.value = items_of(Recipe::Kind::list, {effect.value, effect.value_object.get()});
    } else if (effect.value_object) {
      record.value = recipe({effect.value, effect.value_object.get()});
    }
    interface_.restore.push_back(std::move(record));
  }
  for (std::size_t i = 0; i < walk_.objects.count(); ++i) {
    const ObjectShadow& known = walk_.objects.object(static_cast<ObjectId>(i));
    if (known.object && PyCell_Check(known.object.get())) cell_content(known);
  }
}

InlinedFrame SegmentEnding::inlined(FrameShadow& f) {
  InlinedFrame inlined;
  inlined.function = recipe({f.function_shadow, f.function.get()});
  inlined.name = text_of(f.frame->code()->co_qualname);
  inlined.offset = f.instruction->offset;
  inlined.location = f.frame->bytecode().location(*f.instruction);
  frame(f, inlined.restore);
  return inlined;
}

CapturedSegment Walk::finish(SegmentEnd end, const Operand* result) {
  Interface& interface = recorder.graph().interface;
  python::Frame& root = *start_->frame;
  SegmentEnding ending(*this, result != nullptr);
  ending.effects();
  if (result != nullptr) {
    Restore record;
    record.kind = Restore::Kind::result;
    record.value = ending.recipe(*result);
    interface.returns = record.value;
    interface.restore.push_back(std::move(record));
  } else {
    ending.frame(*start_, interface.restore);
  }
  for (FrameShadow* f = innermost_; result == nullptr && f != nullptr && f != start_;
       f = f->caller) {
    // Only an instruction whose operands are still there can be executed again to make a frame
    // real.
    const FrameShadow& caller = *f->caller;
    const bool under_way = caller.frame->depth() < static_cast<int>(caller.stack.size());
    if (under_way || f->frame->is_generator()) {
      verdict.spoil("the segment ends inside what an instruction without operands runs",
                    place_of(caller));
    }
    interface.frames.insert(interface.frames.begin(), ending.inlined(*f));
  }
  if (const auto place = generators.open_block())
    verdict.spoil("a generator is left suspended inside a block", *place);
  for (const OpenContext& variable : context.variables()) {
    if (ending.describes(variable.token.get())) continue;
    verdict.spoil("a context variable is set whose token nothing holds", variable.place);
  }
  if (const auto place = context.grad_mode_change())
    verdict.spoil("gradient mode changed in the segment", *place);
  if (const auto place = context.open_autocast())
    verdict.spoil("a region of autocasting is left open by the segment", *place);
  if (ending.failed()) {
    const RaisePlace earlier = verdict.must_end_before();
    verdict.spoil("the segment leaves " + ending.reason() + " behind",
                  earlier.code == nullptr ? ending.culprit() : earlier);
  }
  interface.start_offset = start_unit_;
  interface.end = std::move(end);
  interface.name = text_of(root.code()->co_qualname);
  interface.location = start_location_;
  const bool at_start = start_location_.line == root.code()->co_firstlineno;
  if (policy::ShownCode shown = policy::shown_code(root); at_start && !shown.own) {
    interface.name = std::move(shown.name);
    interface.location = std::move(shown.location);
  }
  recorder.finish();
  CapturedSegment segment{std::move(recorder.graph()), root.code(), {}, {}, {}};
  if (context.for_backend())
    segment.written_down = WrittenDown{std::move(recorder.callables), recorder.written_inputs(),
                                       context.random_state()};
  segment.live = recorder.guards().take_live_objects();
  segment.inputs = std::move(recorder.input_objects);
  segment.outputs = std::move(recorder.output_objects);
  return segment;
}

}  // namespace penstock::record
