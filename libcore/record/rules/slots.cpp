// Rules of the instructions that move values without looking at them, and of jumps.

#include "python/literal.h"
#include "record/objects/demand.h"
#include "record/objects/truth.h"
#include "record/polyfills.h"
#include "record/results.h"
#include "record/rules/rules.h"
#include "record/variables.h"

namespace penstock::record {

using python::Instruction;
using python::Opcode;
using python::PyRef;
using python::text_of;

namespace {

#define PS_RULE(name) bool name(Walk& walk, FrameShadow& f, const Instruction& i)
// Not every rule looks at all of its parameters.
#pragma GCC diagnostic ignored "-Wunused-parameter"

PS_RULE(nothing) {
  return true;
}

PS_RULE(pop_top) {
  f.pop();
  return true;
}
PS_RULE(push_null) {
  f.push(Shadow::null());
  return true;
}
PS_RULE(copy) {
  f.push(f.top(i.argument - 1));
  return true;
}
PS_RULE(swap) {
  std::swap(f.top(), f.top(i.argument - 1));
  return true;
}
PS_RULE(load_const) {
  f.push(Shadow::constant());
  return true;
}

PS_RULE(load_fast) {
  f.push(f.locals[i.argument]);
  return true;
}
/// What a slot lets go of may run code of its own, which the program expects here and now.
bool lets_go(Walk& walk, FrameShadow& f, PyObject* held) {
  f.is_op_time = held != nullptr && Py_REFCNT(held) == 1 && walk.is_tensor(held);
  if (held == nullptr ||
      (Py_TYPE(held)->tp_finalize == nullptr && Py_TYPE(held)->tp_del == nullptr))
    return true;
  if (PyGen_CheckExact(held) || PyCoro_CheckExact(held)) return true;
  return walk.verdict.broke(Code::PS0303, std::string("a ") + Py_TYPE(held)->tp_name +
                                              ", whose class has __del__, is let go of");
}

bool lets_go(Walk& walk, FrameShadow& f, int slot) {
  return lets_go(walk, f, f.frame->local(slot));
}

PS_RULE(store_fast) {
  if (!lets_go(walk, f, i.argument)) return false;
  f.locals[i.argument] = f.top();
  f.pop();
  return true;
}
PS_RULE(delete_fast) {
  if (!lets_go(walk, f, i.argument)) return false;
  f.locals[i.argument] = Shadow::null();
  return true;
}

PS_RULE(make_cell) {
  f.finish = [slot = i.argument](Walk& walk, FrameShadow& f) {
    f.locals[slot] = walk.objects.fresh(f.frame->local(slot), {f.locals[slot]});
    if (f.caller == nullptr) walk.objects.object(f.locals[slot].index).own_slot = slot;
  };
  return true;
}

/// The cells of a function's closure, in the order of its free variables.
PS_RULE(copy_free_vars) {
  f.finish = [count = i.argument](Walk& walk, FrameShadow& f) {
    const int first = f.frame->slot_count() - count;
    for (int k = 0; k < count; ++k) {
      const int slot = first + k;
      f.locals[slot] = free_variable(walk, f, f.frame->local(slot),
                                     python::slot_name(f.frame->code(), slot), slot, k);
    }
  };
  return true;
}

PS_RULE(load_closure) {
  f.push(f.locals[i.argument]);
  return true;
}

PS_RULE(load_deref) {
  const Shadow cell = f.locals[i.argument];
  if (!cell.is(Shadow::Kind::fresh)) {
    return walk.verdict.broke(Code::PS0302, "a variable of an enclosing function is not followed");
  }
  f.push(walk.objects.object(cell.index).items[0]);
  return true;
}

PS_RULE(store_deref) {
  const Shadow cell = f.locals[i.argument];
  if (!cell.is(Shadow::Kind::fresh)) {
    return walk.verdict.broke(Code::PS0302, "a variable of an enclosing function is not followed");
  }
  ObjectShadow& contents = walk.objects.object(cell.index);
  contents.items[0] = f.top();
  contents.written = true;
  f.pop();
  return true;
}

PS_RULE(delete_deref) {
  const Shadow cell = f.locals[i.argument];
  if (!cell.is(Shadow::Kind::fresh)) {
    return walk.verdict.broke(Code::PS0302, "a variable of an enclosing function is not followed");
  }
  ObjectShadow& contents = walk.objects.object(cell.index);
  contents.items[0] = Shadow::null();
  contents.written = true;
  return true;
}

PS_RULE(load_global) {
  PyObject* name = f.frame->name(i.argument >> 1);
  PyObject* value = find_global(*f.frame, name);
  if (value == nullptr) return walk.verdict.broke(Code::PS0304, "a name is not defined");
  const Shadow loaded = global_value(walk, f, name, value);
  if ((i.argument & 1) != 0) {
    f.push_called(loaded);
  } else {
    f.push(loaded);
  }
  return true;
}

PS_RULE(store_global) {
  PyObject* name = f.frame->name(i.argument);
  if (!lets_go(walk, f, PyDict_GetItemWithError(f.frame->globals(), name))) return false;
  store_global(walk, f, name, f.operand());
  f.pop();
  return true;
}

/// The names of a module's body are its globals; those of a class's are not.
bool names_globals(Walk& walk, const FrameShadow& f) {
  if (f.frame->names() == f.frame->globals()) return true;
  return walk.verdict.broke(Code::PS0303, "a class is made");
}

PS_RULE(load_name) {
  if (!names_globals(walk, f)) return false;
  PyObject* name = f.frame->name(i.argument);
  PyObject* value = find_global(*f.frame, name);
  if (value == nullptr) return walk.verdict.broke(Code::PS0304, "a name is not defined");
  f.push(global_value(walk, f, name, value));
  return true;
}

PS_RULE(store_name) {
  return names_globals(walk, f) && store_global(walk, f, i);
}

PS_RULE(jump) {
  return true;
}

PS_RULE(jump_if) {
  return branches(walk, f, [](FrameShadow& f) { f.pop(); });
}

PS_RULE(jump_if_none) {
  Operand operand = f.operand();
  if (operand.shadow.is(Shadow::Kind::sourced)) {
    walk.facts.add_guard(operand.object == Py_None ? GuardKind::is_none : GuardKind::not_none,
                         operand.shadow.index, {});
  } else if (operand.shadow.is(Shadow::Kind::unknown)) {
    return walk.facts.consume(operand);
  }
  f.pop();
  return true;
}

PS_RULE(jump_or_pop) {
  return branches(walk, f, [target = i.target](FrameShadow& f) {
    if (f.frame->unit() != target) f.pop();
  });
}

PS_RULE(return_value) {
  const Operand result = f.result_of(i);
  const Expected* asked = f.caller != nullptr ? &f.caller->expected : nullptr;
  f.declines = asked != nullptr && asked->may_decline && result.object == Py_NotImplemented;
  if (f.declines && !walk.facts.consume_identity(result)) return false;
  if (!f.declines && asked != nullptr && asked->asks_truth && !walk.facts.consume_truth(result))
    return false;
  f.result = result.shadow;
  if (i.opcode == Opcode::RETURN_CONST) f.push(f.result);  // as RETURN_VALUE finds it there
  return true;
}

PS_RULE(load_fast_and_clear) {
  f.push(f.locals[i.argument]);
  f.locals[i.argument] = Shadow::null();
  return true;
}
PS_RULE(load_fast_load_fast) {
  f.push(f.locals[python::first_of_two(i)]);
  f.push(f.locals[python::second_of_two(i)]);
  return true;
}
PS_RULE(store_fast_load_fast) {
  const int slot = python::first_of_two(i);
  if (!lets_go(walk, f, slot)) return false;
  f.locals[slot] = f.top();
  f.pop();
  f.push(f.locals[python::second_of_two(i)]);
  return true;
}
PS_RULE(store_fast_store_fast) {
  const int first = python::first_of_two(i), second = python::second_of_two(i);
  if (!lets_go(walk, f, first)) return false;
  const bool op_time = f.is_op_time;
  if (!lets_go(walk, f, second)) return false;
  f.is_op_time = f.is_op_time || op_time;
  f.locals[first] = f.top();
  f.locals[second] = f.top(1);
  f.pop(2);
  return true;
}

constexpr RuleRow kRows[] = {
    {Opcode::NOP, nothing},
    {Opcode::RESUME, nothing},
    {Opcode::CACHE, nothing},
    {Opcode::POP_TOP, pop_top},
    {Opcode::PUSH_NULL, push_null},
    {Opcode::COPY, copy},
    {Opcode::SWAP, swap},
    {Opcode::LOAD_CONST, load_const},
    {Opcode::LOAD_SMALL_INT, load_const},
    {Opcode::LOAD_COMMON_CONSTANT, load_const},
    {Opcode::LOAD_FAST, load_fast},
    {Opcode::STORE_FAST, store_fast},
    {Opcode::DELETE_FAST, delete_fast},
    {Opcode::MAKE_CELL, make_cell},
    {Opcode::COPY_FREE_VARS, copy_free_vars},
    {Opcode::LOAD_CLOSURE, load_closure},
    {Opcode::LOAD_DEREF, load_deref},
    {Opcode::STORE_DEREF, store_deref},
    {Opcode::DELETE_DEREF, delete_deref},
    {Opcode::LOAD_GLOBAL, load_global},
    {Opcode::STORE_GLOBAL, store_global},
    {Opcode::LOAD_NAME, load_name},
    {Opcode::STORE_NAME, store_name},
    {Opcode::JUMP_FORWARD, jump},
    {Opcode::JUMP_BACKWARD, jump},
    {Opcode::JUMP_BACKWARD_NO_INTERRUPT, jump},
    {Opcode::POP_JUMP_FORWARD_IF_FALSE, jump_if},
    {Opcode::POP_JUMP_FORWARD_IF_TRUE, jump_if},
    {Opcode::POP_JUMP_BACKWARD_IF_FALSE, jump_if},
    {Opcode::POP_JUMP_BACKWARD_IF_TRUE, jump_if},
    {Opcode::POP_JUMP_FORWARD_IF_NONE, jump_if_none},
    {Opcode::POP_JUMP_FORWARD_IF_NOT_NONE, jump_if_none},
    {Opcode::POP_JUMP_BACKWARD_IF_NONE, jump_if_none},
    {Opcode::POP_JUMP_BACKWARD_IF_NOT_NONE, jump_if_none},
    {Opcode::JUMP_IF_FALSE_OR_POP, jump_or_pop},
    {Opcode::JUMP_IF_TRUE_OR_POP, jump_or_pop},
    {Opcode::RETURN_VALUE, return_value},
    {Opcode::RETURN_CONST, return_value},
    {Opcode::LOAD_FAST_AND_CLEAR, load_fast_and_clear},
    {Opcode::LOAD_FAST_LOAD_FAST, load_fast_load_fast},
    {Opcode::STORE_FAST_LOAD_FAST, store_fast_load_fast},
    {Opcode::STORE_FAST_STORE_FAST, store_fast_store_fast},
};

}  // namespace

std::span<const RuleRow> slot_rules() {
  return kRows;
}

bool Walk::reads_data(const FrameShadow& f, int begin, int end) const {
  const python::Bytecode& code = f.frame->bytecode();
  for (const Instruction* i = code.at(begin); i != nullptr && i->offset < end;
       i = code.at(i->next)) {
    const auto is_data = [&](int slot) {
      const Shadow local = f.locals[slot];
      const bool data = local.is(Shadow::Kind::sourced) || local.is(Shadow::Kind::unknown);
      return data && !is_tensor(f.frame->local(slot));
    };
    if (i->opcode == Opcode::LOAD_FAST) {
      if (is_data(i->argument)) return true;
    } else if (i->opcode == Opcode::LOAD_FAST_LOAD_FAST) {
      if (is_data(python::first_of_two(*i)) || is_data(python::second_of_two(*i))) return true;
    } else if (i->opcode == Opcode::STORE_FAST_LOAD_FAST) {
      if (is_data(python::second_of_two(*i))) return true;
    } else if (i->opcode == Opcode::LOAD_DEREF) {
      return true;
    } else if (i->opcode == Opcode::LOAD_GLOBAL) {
      PyObject* value =
          PyDict_GetItemWithError(f.frame->globals(), f.frame->name(i->argument >> 1));
      if (value != nullptr && PyCallable_Check(value) == 0 && !PyModule_Check(value) &&
          !is_tensor(value))
        return true;
      PyErr_Clear();
    }
  }
  return false;
}

Shadow free_variable(Walk& walk, const FrameShadow& f, PyObject* cell, PyObject* name, int slot,
                     int index) {
  if (walk.objects.find(cell) != nullptr) return Shadow::fresh(walk.objects.id_of(cell));
  const bool root = &f == &walk.root();
  const SourceId function = f.function_shadow.source();
  Shadow content = Shadow::constant();
  if (root) {
    content = Shadow::sourced(
        walk.recorder.guards().source(SourceKind::cell, kNoSource, text_of(name), slot));
  } else if (function != kNoSource) {
    content =
        Shadow::sourced(walk.recorder.guards().source(SourceKind::closure, function, {}, index));
  } else if (!is_polyfill(f.frame->globals())) {
    content = Shadow{};
  }
  const Shadow made = walk.objects.fresh(cell, {content});
  ObjectShadow& contents = walk.objects.object(made.index);
  contents.origin = content;
  if (root) contents.own_slot = slot;
  return made;
}

namespace {

/// The module whose namespace `globals` is, by its name in sys.modules; empty when there is none.
std::string module_of(PyObject* globals) {
  PyObject* name = PyDict_GetItemString(globals, "__name__");
  if (name == nullptr || !PyUnicode_Check(name)) return {};
  PyObject* module = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  if (module == nullptr || !PyModule_Check(module) || PyModule_GetDict(module) != globals) {
    PyErr_Clear();
    return {};
  }
  return text_of(name);
}

}  // namespace

PyObject* find_global(const python::Frame& frame, PyObject* name) {
  PyObject* value = PyDict_GetItemWithError(frame.globals(), name);
  if (value == nullptr && PyDict_CheckExact(frame.builtins()))
    value = PyDict_GetItemWithError(frame.builtins(), name);
  PyErr_Clear();
  return value;
}

Shadow global_value(Walk& walk, FrameShadow& f, PyObject* name, PyObject* value) {
  PyObject* globals = f.frame->globals();
  const std::string text = text_of(name);
  if (ObjectShadow* known = walk.objects.find(globals)) {
    PyObject* at = known->keys ? PyDict_GetItemWithError(known->keys.get(), name) : nullptr;
    if (at != nullptr) return known->values[PyLong_AsSsize_t(at)];
  }
  if (globals == walk.root().frame->globals()) {
    return Shadow::sourced(walk.recorder.guards().source(SourceKind::global, kNoSource, text));
  }
  const bool own = PyDict_Contains(globals, name) == 1;
  if (!own)
    return Shadow::sourced(walk.recorder.guards().source(SourceKind::builtin, kNoSource, text));
  if (const std::string module = module_of(globals); !module.empty()) {
    const SourceId base = walk.recorder.guards().source(SourceKind::module, kNoSource, module);
    return Shadow::sourced(walk.recorder.guards().source(SourceKind::instance, base, text));
  }
  const SourceId function = f.function_shadow.source();
  if (function == kNoSource) {
    const bool may_change = python::is_immutable_literal(value) && !is_polyfill(globals);
    return may_change ? Shadow{} : Shadow::constant();
  }
  const SourceId base =
      walk.recorder.guards().source(SourceKind::attribute, function, "__globals__");
  return Shadow::sourced(
      walk.recorder.guards().source(SourceStep{SourceKind::dict_item, base, {}, 0, text}));
}

void store_global(Walk& walk, FrameShadow& f, PyObject* name, Operand value) {
  PyObject* globals = f.frame->globals();
  if (walk.objects.find(globals) == nullptr) {
    walk.objects.fresh(globals);
    walk.objects.object(walk.objects.id_of(globals)).origin = Shadow::constant();
  }
  // Those of the segment's own frame are found without its function.
  const Operand function = &f == &walk.root() ? Operand{Shadow::null(), nullptr}
                                              : Operand{f.function_shadow, f.function.get()};
  walk.effects.add(Restore::Kind::set_global, function, text_of(name), {}, value);
  walk.objects.dict_store(walk.objects.id_of(globals), name, value.shadow);
}

}  // namespace penstock::record
