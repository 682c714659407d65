// Generators that a segment makes and goes over. Their frames are followed as those of calls are, a
// resume at a time.
//
// Only what a graph, the frames and the effects hold is there when an entry runs: a generator of
// the segment is not. One that the program lets go of while it is suspended inside a `try …
// finally` or `with` runs the rest of that block, where plain Python would: then the recording is
// given up, and the next one ends before the generator is made.

#include <algorithm>

#include "python/bytecode.h"
#include "record/objects/iteration.h"
#include "record/rules/rules.h"
#include "record/variables.h"
#include "record/walk.h"

namespace penstock::record {

using python::Opcode;
using python::PyRef;

bool make_generator(FrameShadow& f, Expected expected, int pops) {
  std::vector<PyRef> names;  // the instruction lets go of a dict that it unpacks
  for (const auto& [name, operand] : expected.keywords) names.push_back(PyRef::borrow(name));
  f.finish = [pops, names = std::move(names), expected = std::move(expected)](Walk& walk,
                                                                              FrameShadow& f) {
    const Shadow made = adopt_generator(walk, f.object(), expected);
    f.pop(pops);
    f.push(made);
  };
  return true;
}

Shadow adopt_generator(Walk& walk, PyObject* generator, const Expected& call) {
  const Shadow made = walk.objects.fresh(generator);
  walk.objects.object(made.index).made_at = walk.program_place(walk.innermost());
  auto body = std::make_unique<FrameShadow>();
  body->function = PyRef::borrow(call.function);
  body->function_shadow = call.function_shadow;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(call.function));
  const BoundArguments arguments{code, python::generator_slots(generator), true};
  bind_arguments(walk, *body, arguments, call);
  const int first_free = code->co_nlocalsplus - code->co_nfreevars;
  for (int slot = 0; slot < code->co_nlocalsplus; ++slot) {
    PyObject* cell = arguments.slots[slot];
    if (slot >= first_free) {
      body->locals[slot] =
          free_variable(walk, *body, cell, python::slot_name(code, slot), slot, slot - first_free);
    } else if (is_cell_slot(code, slot)) {
      body->locals[slot] = walk.objects.fresh(cell, {body->locals[slot]});
    }
  }
  walk.objects.object(made.index).generator = std::move(body);
  return made;
}

namespace {

/// True unless a clause for `type` takes what closing a generator raises in it.
bool passes_exit(PyObject* type) {
  return type != nullptr && PyExceptionClass_Check(type) &&
         !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit),
                           reinterpret_cast<PyTypeObject*>(type));
}

/// The instruction by which a handler raises GeneratorExit again when none of its clauses takes it,
/// all of them being `except NAME` or `except (NAME, …)`. Null where it does anything else.
const python::Instruction* raises_exit_again(const python::Frame& frame, int unit) {
  const python::Bytecode& code = frame.bytecode();
  const auto behind = [&code](const python::Instruction* i) { return code.at(i->next); };
  const python::Instruction* i = code.at(unit);
  if (i != nullptr &&
      i->opcode == Opcode::COPY) {  // behind the clauses: the exception handled before is put back
    i = behind(i);
    if (i != nullptr && i->opcode == Opcode::POP_EXCEPT) i = behind(i);
    return i != nullptr && i->opcode == Opcode::RERAISE ? i : nullptr;
  }
  if (i != nullptr && i->opcode == Opcode::CALL_INTRINSIC_1 && i->argument == kStopIterationError) {
    i = behind(i);
    return i != nullptr && i->opcode == Opcode::RERAISE ? i : nullptr;
  }
  if (i != nullptr && i->opcode == Opcode::CLEANUP_THROW) return i;
  if (i == nullptr || i->opcode != Opcode::PUSH_EXC_INFO) return nullptr;
  i = behind(i);
  while (i != nullptr && i->opcode != Opcode::RERAISE) {
    if (i->opcode != Opcode::LOAD_GLOBAL) return nullptr;
    for (; i != nullptr && i->opcode == Opcode::LOAD_GLOBAL; i = behind(i)) {
      if (!passes_exit(find_global(frame, frame.name(i->argument >> 1)))) return nullptr;
    }
    if (i != nullptr && i->opcode == Opcode::BUILD_TUPLE) i = behind(i);
    if (i == nullptr || i->opcode != Opcode::CHECK_EXC_MATCH) return nullptr;
    i = behind(i);
    if (i == nullptr || python::jumps_on(i->opcode) != false) return nullptr;
    i = code.at(i->target);
  }
  return i;
}

/// True where nothing of the program's runs when a generator that is suspended there is closed:
/// `finally`, `with` and clauses for GeneratorExit and its bases would run.
bool closes_silently(const python::Frame& frame, int unit) {
  const python::Handler* handler = frame.bytecode().handler(unit);
  for (int depth = 0; handler != nullptr && depth < 20; ++depth) {  // CPython nests no more blocks
    const python::Instruction* again = raises_exit_again(frame, handler->target);
    if (again == nullptr) return false;
    handler = frame.bytecode().handler(again->at);
  }
  return handler == nullptr;
}

}  // namespace

void SuspendedGenerators::suspend(std::unique_ptr<FrameShadow> frame) {
  ObjectShadow* generator = walk_.objects.find(frame->frame->generator());
  if (generator == nullptr) return;
  suspended_.push_back(walk_.objects.id_of(generator->object.get()));
  generator->is_in_block = !closes_silently(*frame->frame, frame->instruction->at);
  // The walk keeps that iterator, so nobody would notice when the program lets go of both.
  if (generator->is_in_block && generator->is_gone_over) {
    walk_.verdict.spoil_here("an iterator goes over a generator that is suspended inside a block");
  }
  frame->frame = nullptr;
  generator->generator = std::move(frame);
}

std::unique_ptr<FrameShadow> SuspendedGenerators::resume(PyObject* generator) {
  std::erase(suspended_, walk_.objects.id_of(generator));
  return std::move(walk_.objects.find(generator)->generator);
}

void SuspendedGenerators::release_abandoned() {
  while (release_suspended()) {  // what only those held is abandoned next
  }
}

bool SuspendedGenerators::release_suspended() {
  constexpr std::size_t kLatest = 16;  // looked at after every instruction
  const auto first = suspended_.size() - std::min(suspended_.size(), kLatest);
  const auto begin = suspended_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto is_abandoned = [&](ObjectId id) {
    return Py_REFCNT(walk_.objects.object(id).object.get()) == 1;
  };
  const auto found = std::find_if(begin, suspended_.end(), is_abandoned);
  if (found == suspended_.end()) return false;
  const ObjectId id = *found;
  suspended_.erase(found);
  const ObjectShadow& generator = walk_.objects.object(id);
  if (generator.is_in_block) {
    walk_.verdict.spoil("a generator that is suspended inside a block is let go of",
                        generator.made_at);
  }
  const PyRef last = walk_.objects.release(id);
  return true;
}

std::optional<RaisePlace> SuspendedGenerators::open_block() const {
  const auto found = std::ranges::find_if(
      suspended_, [&](ObjectId id) { return walk_.objects.object(id).is_in_block; });
  return found == suspended_.end() ? std::nullopt
                                   : std::optional(walk_.objects.object(*found).made_at);
}

}  // namespace penstock::record
