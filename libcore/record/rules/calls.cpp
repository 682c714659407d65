// Rules of calls, attributes, functions, iteration, with and raise.

#include <cstring>

#include "policy/roots.h"
#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/objects/attribute.h"
#include "record/objects/call.h"
#include "record/objects/iteration.h"
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
#pragma GCC diagnostic ignored "-Wunused-parameter"

PS_RULE(load_attr) {
  return load_attribute(walk, f, f.frame->name(i.argument), false);
}
PS_RULE(load_method) {
  return load_attribute(walk, f, f.frame->name(i.argument), true);
}
PS_RULE(store_attr) {
  return store_attribute(walk, f, f.frame->name(i.argument));
}
PS_RULE(delete_attr) {
  return delete_attribute(walk, f, f.frame->name(i.argument));
}

PS_RULE(call) {
  const int count = i.argument;
  const auto operands = python::call_operands(count, [&](int below) { return f.object(below); });
  const bool method = operands.has_self;
  const Operand callable = f.operand(operands.callable);
  const int total = count + (method ? 1 : 0);
  PyObject* names = i.keyword_names < 0 ? nullptr : f.frame->constant(i.keyword_names);
  const int named = names == nullptr ? 0 : static_cast<int>(PyTuple_GET_SIZE(names));
  std::vector<Operand> positional;
  for (int k = total - 1; k >= named; --k) positional.push_back(f.operand(k));
  std::vector<std::pair<PyObject*, Operand>> keywords;
  for (int k = 0; k < named; ++k) {
    keywords.emplace_back(PyTuple_GET_ITEM(names, k), f.operand(named - 1 - k));
  }
  const std::size_t depth = f.stack.size();
  if (!call(walk, f, callable, std::move(positional), std::move(keywords), count + 2)) return false;
  // While it is called, a bound method's function and self lie in its place.
  const bool under_way = f.stack.size() == depth && f.finish != nullptr;
  if (under_way && !method && PyMethod_Check(callable.object)) {
    f.top(count + 1) = method_part(walk, callable, 0).shadow;
    f.top(count) = method_part(walk, callable, 1).shadow;
  }
  return true;
}

PS_RULE(call_function_ex) {
  const auto operands =
      python::unpacking_operands(i.argument, [&](int below) { return f.object(below); });
  const bool has_keywords = operands.has_keywords;
  const Operand args = f.operand(operands.arguments);
  const Operand callable = f.operand(operands.callable);
  // Of a tuple's subclass, such as torch.Size, what the tuple's own iterator gives.
  const bool tuple =
      PyTuple_Check(args.object) && Py_TYPE(args.object)->tp_iter == PyTuple_Type.tp_iter;
  if (!has_keywords && PyGen_CheckExact(args.object))
    return call_unpacking(walk, f, callable, operands.arguments, operands.count);
  if (!tuple && !PyList_CheckExact(args.object)) {
    return walk.verdict.broke(Code::PS0306, "a call unpacks an iterator into its arguments");
  }
  std::vector<Operand> positional;
  const std::vector<Shadow> shadows = walk.objects.items(args);
  for (std::size_t k = 0; k < shadows.size(); ++k) {
    positional.push_back(
        {shadows[k], PySequence_Fast_GET_ITEM(args.object, static_cast<Py_ssize_t>(k))});
  }
  std::vector<std::pair<PyObject*, Operand>> keywords;
  if (has_keywords) {
    const Operand dict = f.operand();
    if (!PyDict_CheckExact(dict.object)) {
      return walk.verdict.broke(Code::PS0306, "a call unpacks a mapping that is no dict");
    }
    if (!walk.objects.consume_keys(dict)) return false;
    const ObjectId id = walk.objects.contents(dict);
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(dict.object, &at, &key, &value);) {
      keywords.emplace_back(key, Operand{walk.objects.dict_value(id, key, value), value});
    }
  }
  // Beside the callable stands a null.
  return call(walk, f, callable, std::move(positional), std::move(keywords), operands.count);
}

PS_RULE(make_function) {
  int below = 0;
  std::vector<Shadow> items;
  const int pops = 1 + __builtin_popcount(i.argument & 15);
  for (; below < pops; ++below) items.push_back(f.top(below));
  return gives_fresh(f, pops, std::move(items));
}

/// The function holds one part more.
PS_RULE(set_function_attribute) {
  ObjectShadow* function = walk.objects.find(f.object());
  if (function == nullptr) return walk.verdict.broke(Code::PS0303, "a function is changed");
  function->items.push_back(f.top(1));
  const Shadow made = f.top();
  f.pop(2);
  f.push(made);
  return true;
}

/// super().name and super(class, self).name, in which no super object comes to lie on the stack.
PS_RULE(load_super_attr) {
  if (f.object(2) != reinterpret_cast<PyObject*>(&PySuper_Type))
    return walk.verdict.broke(Code::PS0306, "a super that is not the builtin is called");
  if (!walk.facts.consume_identity(f.operand(2)) || !walk.facts.consume_identity(f.operand(1)))
    return false;
  PyObject* arguments[] = {f.object(1), f.object(0)};
  const PyRef super = PyRef::steal(PyObject_Vectorcall(f.object(2), arguments, 2, nullptr));
  if (!super) {
    PyErr_Clear();
    return walk.verdict.broke(Code::PS0304, "an attribute of super does not exist");
  }
  return load_super_attribute(walk, f, super.get(), f.top(), f.frame->name(i.argument >> 2),
                              {.pops = 3, .method = (i.argument & 1) != 0});
}

PS_RULE(get_iter) {
  return get_iterator(walk, f);
}
PS_RULE(for_iter) {
  return next_item(walk, f);
}

/// The lock that functools.cached_property holds before Python 3.12 while it computes a value,
/// which would be the same if two threads did.
bool enter_lock(Walk& walk, FrameShadow& f, Operand manager) {
  if (std::strcmp(Py_TYPE(manager.object)->tp_name, "_thread.RLock") != 0 ||
      policy::module_name(f.frame->globals()) != "functools")
    return false;
  if (!walk.facts.consume_type(manager)) return false;
  f.finish = [manager = manager.shadow](Walk& walk, FrameShadow& f) {
    f.pop();
    f.push(walk.objects.fresh(f.object(1), {Shadow::constant(), manager}));
    f.push(Shadow::constant());
  };
  return true;
}

PS_RULE(before_with) {
  const Operand manager = f.operand();
  if (enter_lock(walk, f, manager)) return true;
  bool known = false;
  if (!call_special(walk, f, manager, "__enter__", {}, 0, known)) {
    if (known) return false;
    return walk.verdict.broke(Code::PS0306, std::string("the context manager ") +
                                                Py_TYPE(manager.object)->tp_name +
                                                " is not followed");
  }
  f.finish = [manager = manager.shadow](Walk& walk, FrameShadow& f) {
    const Shadow entered = f.expected.result;
    f.pop();
    f.push(walk.objects.fresh(f.object(1), {Shadow::constant(), manager}));
    f.push(entered);
  };
  return true;
}

/// A part of `with`: what is loaded is called by an instruction of its own.
PS_RULE(load_special) {
  const Operand manager = f.operand();
  const PyRef name = PyRef::steal(PyUnicode_InternFromString(python::kSpecialMethods[i.argument]));
  PyObject* method =
      python::type_lookup(Py_TYPE(manager.object), python::kSpecialMethods[i.argument]);
  if (!name || method == nullptr || !PyFunction_Check(method)) {
    return walk.verdict.broke(Code::PS0306, std::string("the context manager ") +
                                                Py_TYPE(manager.object)->tp_name +
                                                " is not followed");
  }
  walk.facts.guard_type_version(manager);
  const Shadow found = class_attribute(walk, manager, name.get());
  f.pop();
  f.push(found);
  f.push(manager.shadow);
  return true;
}

PS_RULE(push_exc_info) {
  walk.enter_handler(f);
  const Shadow raised = f.top();
  f.pop();
  f.push(Shadow::constant());
  f.push(raised);
  return true;
}

PS_RULE(check_exc_match) {
  if (!walk.facts.consume(f.operand()) || !walk.facts.consume_type(f.operand(1))) return false;
  f.pop();
  f.push(Shadow::constant());
  return true;
}

/// What was handled before the segment is put back by the instruction itself, between two segments.
PS_RULE(pop_except) {
  if (f.handling.empty()) return walk.verdict.end_silently();
  f.handling.pop_back();
  f.pop();
  return true;
}

constexpr const char* kOlder = "an exception that is older than the segment is raised";

/// An exception that is older than the segment is not what it was in every call, and keeps what
/// raising it leaves in it.
bool is_older(Operand exception) {
  return !PyType_Check(exception.object) && !exception.shadow.is(Shadow::Kind::fresh) &&
         !exception.shadow.is(Shadow::Kind::constant);
}

/// `raise exception from cause`. Either may be named by its class alone, and is made then by the
/// instruction.
bool raises(Walk& walk, FrameShadow& f, Operand exception, Operand cause) {
  if (PyType_Check(exception.object)) {
    if (!walk.facts.consume_identity(exception)) return false;
    PyObject* init =
        python::type_lookup(reinterpret_cast<PyTypeObject*>(exception.object), "__init__");
    if (PyFunction_Check(init))
      return walk.verdict.broke(
          Code::PS0306, python::qualified_name(exception.object) + " is made by a raise statement");
  } else if (is_older(exception)) {
    return walk.verdict.broke(Code::PS0306, kOlder);
  } else if (cause.object != nullptr && PyType_Check(cause.object)) {
    return walk.verdict.broke(Code::PS0306, "a cause is made by a raise statement");
  }
  return cause.object == nullptr || walk.facts.consume_type(cause);
}

/// What a handler raises again was caught in the segment.
bool raises_again(Walk& walk, FrameShadow& f, const Instruction& i) {
  const bool older =
      i.opcode == Opcode::RERAISE ? is_older(f.operand()) : walk.open_handlers().empty();
  return !older || walk.verdict.broke(Code::PS0306, kOlder);
}

/// An exception that leaves the segment's own frame cannot be raised by a graph: it is raised by
/// Python, behind the segment.
PS_RULE(raise) {
  if (!is_handled(f)) return walk.verdict.end_silently();
  if (i.opcode == Opcode::RERAISE || i.argument == 0) return raises_again(walk, f, i);
  return raises(walk, f, f.operand(i.argument - 1), i.argument > 1 ? f.operand() : Operand{});
}

/// An exception leaves a generator.
PS_RULE(stop_iteration_error) {
  if (PyErr_GivenExceptionMatches(f.object(), PyExc_StopIteration) != 0)
    return walk.verdict.broke(Code::PS0306, "a StopIteration leaves a generator");
  return walk.facts.consume_type(f.operand());
}

/// An exception leaves a `with`: its manager is asked. The traceback that it gets is not known.
PS_RULE(with_except_start) {
  constexpr int kExit = python::kWithKeepsSelf ? 4 : 3;
  const Operand raised = f.operand();
  std::vector<Operand> positional;
  if (python::kWithKeepsSelf && f.object(3) != nullptr) positional.push_back(f.operand(3));
  const PyRef traceback = PyRef::steal(PyException_GetTraceback(raised.object));
  positional.push_back({Shadow::constant(), reinterpret_cast<PyObject*>(Py_TYPE(raised.object))});
  positional.push_back(raised);
  positional.push_back({Shadow{}, traceback ? traceback.get() : Py_None});
  return call(walk, f, f.operand(kExit), std::move(positional), {}, 0);
}

PS_RULE(load_assertion_error) {
  f.push(Shadow::constant());
  return true;
}

PS_RULE(load_build_class) {
  python::PyRef name = python::PyRef::steal(PyUnicode_InternFromString("__build_class__"));
  PyObject* builtins = f.frame->builtins();
  PyObject* value =
      name && PyDict_CheckExact(builtins) ? PyDict_GetItemWithError(builtins, name.get()) : nullptr;
  // A global of that name is not what the statement calls.
  const bool own = value != nullptr && PyDict_Contains(f.frame->globals(), name.get()) != 0;
  PyErr_Clear();
  if (value == nullptr || own) return walk.verdict.broke(Code::PS0306, "a class is made");
  f.push(global_value(walk, f, name.get(), value));
  return true;
}

PS_RULE(yield_value) {
  if (f.caller == nullptr) return walk.verdict.end_silently();
  if (f.caller->expected.consumes && !walk.facts.consume(f.operand())) return false;
  f.result = f.top();
  return true;
}

/// `yield from`: a generator is gone over as it is, of anything else an iterator.
PS_RULE(get_yield_from_iter) {
  if (PyCoro_CheckExact(f.object())) {
    return walk.verdict.broke(Code::PS0304, "a generator goes over a coroutine");
  }
  return get_iterator(walk, f);
}
PS_RULE(send) {
  return next_of_delegate(walk, f);
}

PS_RULE(end_send) {
  const Shadow value = f.top();
  f.pop(2);
  f.push(value);
  return true;
}

constexpr RuleRow kRows[] = {
    {Opcode::LOAD_ATTR, load_attr},
    {Opcode::LOAD_METHOD, load_method},
    {Opcode::STORE_ATTR, store_attr},
    {Opcode::DELETE_ATTR, delete_attr},
    {Opcode::CALL, call},
    {Opcode::CALL_FUNCTION_EX, call_function_ex},
    {Opcode::MAKE_FUNCTION, make_function},
    {Opcode::SET_FUNCTION_ATTRIBUTE, set_function_attribute},
    {Opcode::LOAD_SUPER_ATTR, load_super_attr},
    {Opcode::GET_ITER, get_iter},
    {Opcode::FOR_ITER, for_iter},
    {Opcode::BEFORE_WITH, before_with},
    {Opcode::LOAD_SPECIAL, load_special},
    {Opcode::PUSH_EXC_INFO, push_exc_info},
    {Opcode::CHECK_EXC_MATCH, check_exc_match},
    {Opcode::POP_EXCEPT, pop_except},
    {Opcode::RAISE_VARARGS, raise},
    {Opcode::RERAISE, raise},
    {Opcode::CALL_INTRINSIC_1, stop_iteration_error},
    {Opcode::WITH_EXCEPT_START, with_except_start},
    {Opcode::LOAD_ASSERTION_ERROR, load_assertion_error},
    {Opcode::LOAD_BUILD_CLASS, load_build_class},
    {Opcode::YIELD_VALUE, yield_value},
    {Opcode::GET_YIELD_FROM_ITER, get_yield_from_iter},
    {Opcode::SEND, send},
    {Opcode::END_SEND, end_send},
};

}  // namespace

std::span<const RuleRow> call_rules() {
  return kRows;
}

bool is_handled(const FrameShadow& f) {
  for (const FrameShadow* frame = &f; frame != nullptr; frame = frame->caller) {
    if (frame->frame->bytecode().handler(frame->instruction->at) != nullptr) return true;
    const Expected* call = frame->caller == nullptr ? nullptr : &frame->caller->expected;
    if (call != nullptr && (call->caught != Caught::none || call->otherwise.object != nullptr))
      return true;
  }
  return false;
}

}  // namespace penstock::record
