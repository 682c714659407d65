// Calls. A call of a Python function lets the real call happen: the callee's frame reaches the
// walker through the hook, finds what its caller expects, and gets its arguments' shadows.

#include <algorithm>
#include <cstring>

#include "python/getter.h"
#include "python/layout.h"
#include "python/literal.h"
#include "python/numpy_scalar.h"
#include "python/type_lookup.h"
#include "record/objects/attribute.h"
#include "record/objects/call.h"
#include "record/objects/getter.h"
#include "record/objects/iteration.h"
#include "record/objects/torch_call.h"
#include "record/polyfills.h"
#include "record/results.h"
#include "record/variables.h"
#include "record/walk.h"

namespace penstock::record {

using python::PyRef;
using python::text_of;
using python::type_lookup;

using Keywords = std::vector<std::pair<PyObject*, Operand>>;

namespace {

bool is_partial(PyObject* object) {
  return std::strcmp(Py_TYPE(object)->tp_name, "functools.partial") == 0;
}

/// What functools.lru_cache makes.
bool is_cached(PyObject* object) {
  return std::strcmp(Py_TYPE(object)->tp_name, "functools._lru_cache_wrapper") == 0;
}

/// A function that is made anew by each call of the one around it: its code says what it does.
bool is_nested(PyObject* function) {
  PyObject* name = reinterpret_cast<PyFunctionObject*>(function)->func_qualname;
  return text_of(name).find("<locals>") != std::string::npos;
}

}  // namespace

bool call(Walk& walk, FrameShadow& f, Operand callable, std::vector<Operand> positional,
          Keywords keywords, int pops) {
  PyObject* object = callable.object;
  if (callable.shadow.is(Shadow::Kind::unknown)) return walk.facts.consume(callable);
  if (PyFunction_Check(object)) {
    return call_function(walk, f, callable, std::move(positional), std::move(keywords), pops);
  }
  if (PyMethod_Check(object)) {
    positional.insert(positional.begin(), method_part(walk, callable, 1));
    return call(walk, f, method_part(walk, callable, 0), std::move(positional), std::move(keywords),
                pops);
  }
  if (PyType_Check(object)) {
    if (const auto done = call_tensor_class(walk, f, callable, positional, keywords, pops))
      return *done;
    return call_type(walk, f, callable, std::move(positional), std::move(keywords), pops);
  }
  if (is_partial(object)) {
    return call_partial(walk, f, callable, std::move(positional), std::move(keywords), pops);
  }
  if (python::is_getter(object)) return call_getter(walk, f, callable, positional, keywords, pops);
  if (is_cached(object)) return call_cached(walk, f, callable, positional, keywords, pops);
  if (PyCFunction_Check(object) || Py_TYPE(object) == &PyMethodDescr_Type ||
      Py_TYPE(object) == &PyWrapperDescr_Type || Py_TYPE(object) == python::method_wrapper_type() ||
      Py_TYPE(object) == &PyClassMethodDescr_Type || python::is_numpy_function(object)) {
    return call_builtin(walk, f, callable, std::move(positional), std::move(keywords), pops);
  }
  if (PyWeakref_CheckRefExact(object) && positional.empty() && keywords.empty())
    return call_weak_reference(walk, f, callable, pops);
  if (const auto done = call_operator(walk, f, callable, positional, keywords, pops)) return *done;
  std::vector<Operand> all = std::move(positional);
  PyObject* method = type_lookup(Py_TYPE(object), "__call__");
  if (method != nullptr && PyFunction_Check(method)) {
    walk.facts.guard_type_version(callable);
    all.insert(all.begin(), callable);
    PyRef name = PyRef::steal(PyUnicode_InternFromString("__call__"));
    return call_function(walk, f, {class_attribute(walk, callable, name.get()), method},
                         std::move(all), std::move(keywords), pops);
  }
  return walk.verdict.broke(Code::PS0306, std::string("a call of an object of type ") +
                                              Py_TYPE(object)->tp_name + " is not followed");
}

namespace {

/// The object as the segment came by it: in the frame's locals, or where its attributes were looked
/// into.
Shadow known_instance(Walk& walk, const FrameShadow& f, PyObject* object) {
  for (std::size_t i = 0; i < f.locals.size(); ++i) {
    if (f.frame->local(static_cast<int>(i)) == object && f.locals[i].is(Shadow::Kind::sourced))
      return f.locals[i];
  }
  PyObject* dict = python::instance_dict(object);
  const ObjectShadow* attributes = dict == nullptr ? nullptr : walk.objects.find(dict);
  const bool known = attributes != nullptr && attributes->is_instance_dict &&
                     attributes->owner.is(Shadow::Kind::sourced);
  return known ? attributes->owner : Shadow{};
}

}  // namespace

/// A weak reference leads to one object as long as that lives: where that is at hand, it is known
/// by what it is reached by.
bool call_weak_reference(Walk& walk, FrameShadow& f, Operand reference, int pops) {
  PyObject* object = PyWeakref_GET_OBJECT(reference.object);
  const PureCall* call = reference.shadow.is(Shadow::Kind::fresh)
                             ? walk.objects.object(reference.shadow.index).made_by.get()
                             : nullptr;
  if (call != nullptr && object != Py_None) return gives(f, pops, call->arguments[0].first);
  if (!walk.facts.consume_identity(reference)) return false;
  const Operand known{object == Py_None ? Shadow{} : known_instance(walk, f, object), object};
  if (known.shadow.is(Shadow::Kind::sourced))
    return walk.facts.consume_identity(known) && gives(f, pops, known.shadow);
  return walk.verdict.broke(Code::PS0306, "a weak reference to what is not at hand is called");
}

Operand method_part(Walk& walk, Operand method, int part) {
  PyObject* object =
      part == 0 ? PyMethod_GET_FUNCTION(method.object) : PyMethod_GET_SELF(method.object);
  if (method.shadow.is(Shadow::Kind::fresh)) {
    return {walk.objects.object(method.shadow.index).items[part], object};
  }
  const SourceId source = method.shadow.source();
  if (source == kNoSource) return {Shadow::constant(), object};
  walk.facts.consume_type(method);
  const SourceKind kind = part == 0 ? SourceKind::function : SourceKind::self;
  return {Shadow::sourced(walk.recorder.guards().source(kind, source)), object};
}

bool consume_function(Walk& walk, Operand function) {
  if (!function.shadow.is(Shadow::Kind::sourced)) return true;
  if (!is_nested(function.object)) return walk.facts.consume_identity(function);
  const SourceId code = walk.recorder.guards().source(SourceKind::code, function.shadow.index);
  PyObject* object = PyFunction_GET_CODE(function.object);
  // The name is the function's: a code object has no module.
  if (walk.recorder.guards().stands(GuardKind::identity, code, object)) return true;
  walk.facts.add_guard(GuardKind::identity, code, python::qualified_name(function.object), object);
  return true;
}

bool call_function(Walk& walk, FrameShadow& f, Operand function, std::vector<Operand> positional,
                   Keywords keywords, int pops) {
  if (!consume_function(walk, function)) return false;
  if (auto known = call_known_python(walk, f, function, positional, keywords, pops)) return *known;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.object));
  Expected expected;
  expected.function = function.object;
  expected.function_shadow = function.shadow;
  expected.positional = std::move(positional);
  expected.keywords = std::move(keywords);
  if (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) {
    return walk.verdict.broke(Code::PS0306, "a coroutine is made");
  }
  if (code->co_flags & CO_GENERATOR) return make_generator(f, std::move(expected), pops);
  f.expected = std::move(expected);
  return gives_call_result(f, pops);
}

namespace {

/// The function of Python that alone makes what a class gives, as a namedtuple's __new__ does;
/// null: there is none.
PyRef function_that_makes(Walk& walk, PyObject* type) {
  auto* object = reinterpret_cast<PyTypeObject*>(type);
  PyObject* maker = type_lookup(object, "__new__");
  const bool of_python =
      maker != nullptr && is_own_type(maker, "staticmethod") &&
      type_lookup(object, "__init__") == type_lookup(&PyBaseObject_Type, "__init__");
  if (!of_python || why_not_made(walk, object)) return {};
  PyRef function = PyRef::steal(PyObject_GetAttrString(maker, "__func__"));
  PyErr_Clear();
  return function && PyFunction_Check(function.get()) ? std::move(function) : PyRef();
}

}  // namespace

bool call_unpacking(Walk& walk, FrameShadow& f, Operand callable, int arguments, int pops) {
  const Operand generator = f.operand(arguments);
  const auto refuse = [&] {
    return walk.verdict.broke(Code::PS0306, "a call unpacks an iterator into its arguments");
  };
  const auto over = iteration_of(walk, generator);
  if (over == nullptr || over->kind != IteratorShadow::Kind::generator) return refuse();
  auto call = std::make_shared<Expected>();
  Operand function = callable;
  PyRef maker;
  if (callable.shadow.is(Shadow::Kind::unknown)) return walk.facts.consume(callable);
  if (PyMethod_Check(callable.object)) {
    function = method_part(walk, callable, 0);
    call->positional = {method_part(walk, callable, 1)};
  } else if (PyType_Check(callable.object)) {
    maker = function_that_makes(walk, callable.object);
    if (!maker) return refuse();
    walk.facts.guard_class_version(callable);
    function = {attribute_of_class(walk, callable, "__new__"), maker.get()};
    call->positional = {callable};
  } else if (!PyFunction_Check(callable.object)) {
    PyObject* method = type_lookup(Py_TYPE(callable.object), "__call__");
    if (method == nullptr || !PyFunction_Check(method)) return refuse();
    walk.facts.guard_type_version(callable);
    PyRef name = PyRef::steal(PyUnicode_InternFromString("__call__"));
    function = {class_attribute(walk, callable, name.get()), method};
    call->positional = {callable};
  }
  if (!PyFunction_Check(function.object) || !consume_function(walk, function)) return refuse();
  // What such a function does with its arguments cannot be told before they are there.
  std::vector<Operand> unknown = call->positional;
  unknown.push_back({Shadow{}, Py_None});
  if (call_known_python(walk, f, function, unknown, {}, pops)) return refuse();
  const int flags = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.object))->co_flags;
  if (flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) return refuse();
  call->function = function.object;
  call->function_shadow = function.shadow;
  call->unpacked_at = arguments;
  if (!goes_over_all(walk, f, *over)) return false;
  f.expected.then = std::move(call);
  return gives_call_result(f, pops);
}

namespace {

/// A functools.partial that the segment made: its shadow has the parts in order (types.cpp).
bool call_made_partial(Walk& walk, FrameShadow& f, Operand partial,
                       const std::vector<Operand>& positional, Keywords keywords, int pops) {
  const PyRef function = PyRef::steal(PyObject_GetAttrString(partial.object, "func"));
  const PyRef args = PyRef::steal(PyObject_GetAttrString(partial.object, "args"));
  const PyRef named = PyRef::steal(PyObject_GetAttrString(partial.object, "keywords"));
  const std::vector<Shadow>& parts = walk.objects.object(partial.shadow.index).items;
  if (parts.size() !=
      1 + static_cast<std::size_t>(PyTuple_GET_SIZE(args.get()) + PyDict_GET_SIZE(named.get()))) {
    return walk.verdict.broke(Code::PS0306, "a functools.partial that was changed is called");
  }
  std::size_t at = 1;
  std::vector<Operand> all;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i)
    all.push_back({parts[at++], PyTuple_GET_ITEM(args.get(), i)});
  all.insert(all.end(), positional.begin(), positional.end());
  PyObject *key, *value;
  const Keywords given = keywords;
  for (Py_ssize_t place = 0; PyDict_Next(named.get(), &place, &key, &value); ++at) {
    const bool over = std::ranges::any_of(
        given, [&](const auto& one) { return PyUnicode_Compare(one.first, key) == 0; });
    if (!over) keywords.emplace_back(key, Operand{parts[at], value});
  }
  return call(walk, f, {parts[0], function.get()}, std::move(all), std::move(keywords), pops);
}

}  // namespace

bool call_partial(Walk& walk, FrameShadow& f, Operand partial, std::vector<Operand> positional,
                  Keywords keywords, int pops) {
  const SourceId source = partial.shadow.source();
  auto part = [&](const char* name) {
    PyRef object = PyRef::steal(PyObject_GetAttrString(partial.object, name));
    Shadow shadow = Shadow::constant();
    if (source != kNoSource) {
      shadow = Shadow::sourced(walk.recorder.guards().source(SourceKind::attribute, source, name));
    }
    return std::pair(shadow, object);
  };
  if (partial.shadow.is(Shadow::Kind::fresh))
    return call_made_partial(walk, f, partial, positional, std::move(keywords), pops);
  if (!walk.facts.consume_type(partial)) return false;
  auto [function_shadow, function] = part("func");
  auto [args_shadow, args] = part("args");
  auto [keywords_shadow, own] = part("keywords");
  std::vector<Operand> all;
  const Operand bound{args_shadow, args.get()};
  const std::vector<Shadow> shadows = walk.objects.items(bound);
  for (std::size_t i = 0; i < shadows.size(); ++i) {
    all.push_back({shadows[i], PyTuple_GET_ITEM(args.get(), i)});
  }
  all.insert(all.end(), positional.begin(), positional.end());
  const Operand dict{keywords_shadow, own.get()};
  if (!walk.objects.consume_keys(dict)) return false;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(own.get(), &at, &key, &value);) {
    bool given = false;
    for (const auto& [name, operand] : keywords) {
      given = given || PyUnicode_Compare(name, key) == 0;
    }
    if (!given)
      keywords.emplace_back(
          key, Operand{walk.objects.dict_value(walk.objects.contents(dict), key, value), value});
  }
  return call(walk, f, {function_shadow, function.get()}, std::move(all), std::move(keywords),
              pops);
}

bool call_special(Walk& walk, FrameShadow& f, Operand self, const char* name,
                  std::vector<Operand> arguments, int pops, bool& known) {
  PyObject* method = type_lookup(Py_TYPE(self.object), name);
  if (method == nullptr || !PyFunction_Check(method)) return false;
  known = true;
  walk.facts.guard_type_version(self);
  arguments.insert(arguments.begin(), self);
  PyRef text = PyRef::steal(PyUnicode_InternFromString(name));
  return call_function(walk, f, {class_attribute(walk, self, text.get()), method},
                       std::move(arguments), {}, pops);
}

namespace {

/// The value of a parameter that no argument was given for.
Shadow default_shadow(Walk& walk, const Expected& expected, PyObject* holder, SourceKind kind,
                      Py_ssize_t index, PyObject* key, PyObject* value) {
  if (value == nullptr) return Shadow::null();
  if (ObjectShadow* made = walk.objects.find(holder)) {
    if (key != nullptr) return walk.objects.dict_value(made->origin.index, key, value);
    if (index < static_cast<Py_ssize_t>(made->items.size())) return made->items[index];
  }
  // A function that is made by each call of the one around it is guarded by its code alone.
  const bool differs =
      expected.function_shadow.is(Shadow::Kind::sourced) && is_nested(expected.function);
  if (python::is_immutable_literal(value) && !differs) return Shadow::constant();
  const SourceId function = expected.function_shadow.source();
  if (function == kNoSource) {
    const bool stays =
        is_known_by_identity(value) || is_polyfill(PyFunction_GET_GLOBALS(expected.function));
    return stays ? Shadow::constant() : Shadow{};
  }
  const SourceId base = walk.recorder.guards().source(kind, function);
  if (key == nullptr) {
    return Shadow::sourced(walk.recorder.guards().source(SourceKind::item, base, {}, index));
  }
  SourceStep step{SourceKind::dict_item, base, {}, 0, text_of(key)};
  return Shadow::sourced(walk.recorder.guards().source(std::move(step)));
}

}  // namespace

void bind_arguments(Walk& walk, FrameShadow& f, const BoundArguments& arguments,
                    const Expected& expected) {
  PyCodeObject* code = arguments.code;
  f.locals.assign(code->co_nlocalsplus, Shadow::null());
  const int named = code->co_argcount + code->co_kwonlyargcount;
  const int given = static_cast<int>(expected.positional.size());
  std::vector<bool> bound(named);
  for (int i = 0; i < given && i < code->co_argcount; ++i) {
    f.locals[i] = expected.positional[i].shadow;
    bound[i] = true;
  }
  int slot = named;
  if (code->co_flags & CO_VARARGS) {
    std::vector<Shadow> rest;
    for (int i = code->co_argcount; i < given; ++i) rest.push_back(expected.positional[i].shadow);
    if (arguments.at(slot) != nullptr)
      f.locals[slot] = walk.objects.fresh(arguments.at(slot), rest);
    ++slot;
  }
  const bool takes_more = (code->co_flags & CO_VARKEYWORDS) && arguments.at(slot) != nullptr;
  if (takes_more) f.locals[slot] = walk.objects.fresh(arguments.at(slot));
  for (const auto& [name, operand] : expected.keywords) {
    int at = code->co_posonlyargcount;
    while (at < named && PyUnicode_Compare(python::slot_name(code, at), name) != 0) ++at;
    if (at < named) {
      f.locals[at] = operand.shadow;
      bound[at] = true;
    } else if (takes_more) {
      walk.objects.dict_store(f.locals[slot].index, name, operand.shadow);
    }
  }
  auto* function = reinterpret_cast<PyFunctionObject*>(expected.function);
  PyObject* defaults = function->func_defaults;
  const Py_ssize_t count = defaults == nullptr ? 0 : PyTuple_GET_SIZE(defaults);
  for (int i = 0; i < named; ++i) {
    if (bound[i]) continue;
    PyObject* value = arguments.at(i);
    if (i < code->co_argcount) {
      f.locals[i] = default_shadow(walk, expected, defaults, SourceKind::defaults,
                                   i - (code->co_argcount - count), nullptr, value);
    } else {
      f.locals[i] = default_shadow(walk, expected, function->func_kwdefaults,
                                   SourceKind::kwdefaults, 0, python::slot_name(code, i), value);
    }
  }
}

}  // namespace penstock::record
