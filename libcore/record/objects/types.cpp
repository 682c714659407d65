// Calls of classes: the models of those that rules name, any other by its constructors.

#include <algorithm>
#include <cstring>

#include "policy/roots.h"
#include "python/hook.h"
#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/objects/attribute.h"
#include "record/objects/builtin_call.h"
#include "record/objects/call.h"
#include "record/objects/container.h"
#include "record/objects/decided_size.h"
#include "record/objects/exception.h"
#include "record/objects/iteration.h"
#include "record/objects/number.h"
#include "record/objects/torch_tensor.h"
#include "record/objects/truth.h"
#include "record/polyfills.h"
#include "record/results.h"
#include "record/walk.h"

namespace penstock::record {

using python::PyRef;
using python::qualified_name;
using python::type_lookup;

using Keywords = std::vector<std::pair<PyObject*, Operand>>;

bool consume_all(Walk& walk, const std::vector<Operand>& positional, const Keywords& keywords) {
  for (Operand operand : positional) {
    if (!walk.facts.consume(operand)) return false;
  }
  for (const auto& [name, operand] : keywords) {
    if (!walk.facts.consume(operand)) return false;
  }
  return true;
}

bool call_type(Walk& walk, FrameShadow& f, Operand type, std::vector<Operand> positional,
               Keywords keywords, int pops) {
  if (!walk.facts.consume_identity(type)) return false;
  auto* object = reinterpret_cast<PyTypeObject*>(type.object);
  const CallRule& rule = walk.callables.of_class(object);
  const std::string name = qualified_name(type.object);
  if (leaves_to_python(rule.action)) return walk.verdict.broke(rule, name);
  BuiltinCall call{walk, f, {}, name, name, rule, type, positional, keywords, pops};
  if (rule.action == CallAction::constant)
    return consume_all(walk, positional, keywords) && gives_value(call);
  const FunctionModel* model =
      rule.action == CallAction::model ? find_function_model(rule.handler) : nullptr;
  if (model != nullptr) return call_model(*model, call);
  return call_class(walk, f, type, std::move(positional), std::move(keywords), pops);
}

namespace {

/// type(x); with three arguments it makes a class.
bool make_type(BuiltinCall& c) {
  if (c.positional.size() != 1) return c.walk.verdict.broke(Code::PS0306, "a class is made");
  return c.walk.facts.consume_type(c.positional[0]) && gives_constant(c.frame, c.pops);
}

bool make_super(BuiltinCall& c) {
  return call_super(c.walk, c.frame, c.positional, c.pops);
}

/// object(), and a set, whose items are constants.
bool make_object(BuiltinCall& c) {
  if (c.positional.size() == 1 && c.keywords.empty()) {
    PyObject* from = c.positional[0].object;
    const bool at_hand =
        PyList_CheckExact(from) || PyTuple_Check(from) || PyAnySet_CheckExact(from);
    const auto done = at_hand
                          ? std::nullopt
                          : call_polyfill(c.walk, c.frame, c.function, c.positional, {}, c.pops);
    if (done) return *done;
  }
  return consume_all(c.walk, c.positional, c.keywords) && gives_fresh(c.frame, c.pops, {});
}

/// list and tuple.
bool make_sequence(BuiltinCall& c) {
  if (c.positional.empty()) return gives_fresh(c.frame, c.pops, {});
  const Operand from = c.positional[0];
  const bool tuple = c.function.object == reinterpret_cast<PyObject*>(&PyTuple_Type);
  if (tuple && PyTuple_CheckExact(from.object)) return gives(c.frame, c.pops, from.shadow);
  if (gathers(c.walk, c.frame, from, c.pops)) return true;
  return iterates_in_python(from) &&
         call_polyfill(c.walk, c.frame, c.function, c.positional, c.keywords, c.pops)
             .value_or(false);
}

/// dict. What goes over pairs (zip, a generator) is gone over in Python.
bool make_dict(BuiltinCall& c) {
  const bool of_pairs = c.positional.size() == 1 && PyIter_Check(c.positional[0].object);
  if (of_pairs) {
    if (const auto done =
            call_polyfill(c.walk, c.frame, c.function, c.positional, c.keywords, c.pops))
      return *done;
  }
  return make_dict(c.walk, c.frame, c.positional, c.keywords, c.pops);
}

/// enumerate and zip.
bool make_iterator(BuiltinCall& c) {
  if (make_iterator(c.walk, c.frame, c.function.object, c.positional, c.keywords, c.pops))
    return true;
  return call_polyfill(c.walk, c.frame, c.function, c.positional, c.keywords, c.pops)
      .value_or(false);
}

/// itertools.repeat.
bool repeat(BuiltinCall& c) {
  if (c.positional.size() != 2 || !c.keywords.empty()) return polyfill(c);
  if (!c.walk.facts.consume(c.positional[1])) return false;
  auto over = std::make_unique<IteratorShadow>();
  over->kind = IteratorShadow::Kind::same;
  over->shadow = c.positional[0].shadow;
  over->object = PyRef::borrow(c.positional[0].object);
  return gives_iterator(c.frame, c.pops, std::move(over));
}

/// int, float and bool of a tensor: the number is a constant where the guards determine the
/// element, else one that int reads before each run.
bool number_of_tensor(BuiltinCall& c) {
  const bool alone = c.positional.size() == 1 && c.keywords.empty();
  if (alone &&
      (c.walk.facts.is_known_tensor(c.positional[0]) || ask_elements(c.walk, c.positional[0])))
    return gives_constant(c.frame, c.pops);
  if (alone && c.function.object == reinterpret_cast<PyObject*>(&PyLong_Type)) {
    if (const auto done = element_number(c.walk, c.frame, c.positional[0], c.pops)) return *done;
    if (const auto done = decided_number(c.walk, c.frame, c.positional[0], c.pops)) return *done;
  }
  return c.walk.verdict.broke(Code::PS0301, "a tensor is turned into a Python number");
}

/// int and float.
bool make_number(BuiltinCall& c) {
  if (!c.positional.empty() && c.walk.is_tensor(c.positional[0].object)) return number_of_tensor(c);
  if (c.positional.size() == 1 && c.keywords.empty()) {
    const bool whole = c.function.object == reinterpret_cast<PyObject*>(&PyLong_Type);
    const NumberOp op = whole ? NumberOp::to_int : NumberOp::to_float;
    if (const auto done = number_operation(c.walk, c.frame, op, c.positional[0], nullptr, c.pops))
      return *done;
  }
  return consume_all(c.walk, c.positional, c.keywords) && gives_constant(c.frame, c.pops);
}

bool make_truth(BuiltinCall& c) {
  if (c.positional.size() != 1) return make_number(c);
  if (c.walk.is_tensor(c.positional[0].object)) return number_of_tensor(c);
  if (truth_method(c.positional[0].object) != nullptr)
    return asks_truth(c.walk, c.frame, c.positional[0], c.pops);
  return c.walk.facts.consume_truth(c.positional[0]).has_value() && gives_constant(c.frame, c.pops);
}

bool is_given_tensor(const BuiltinCall& c) {
  return std::ranges::any_of(c.positional,
                             [&](Operand given) { return c.walk.is_tensor(given.object); });
}

bool make_text(BuiltinCall& c) {
  if (is_given_tensor(c))
    return c.walk.verdict.broke(Code::PS0301, "a tensor is printed into a string", true);
  if (c.positional.size() == 1 && c.keywords.empty()) {
    const Operand of = c.positional[0];
    bool known = false;
    if (of.shadow.is(Shadow::Kind::fresh) &&
        call_special(c.walk, c.frame, of, "__str__", {}, c.pops, known))
      return true;
    if (known) return false;
    if (PyExceptionInstance_Check(of.object))
      return consume_message(c.walk, of) && gives_constant(c.frame, c.pops);
  }
  return consume_all(c.walk, c.positional, c.keywords) && gives_constant(c.frame, c.pops);
}

/// What is made of constants alone, and of tensors never: bytes, complex, range.
bool make_value(BuiltinCall& c) {
  if (is_given_tensor(c)) return refuse(c);
  return consume_all(c.walk, c.positional, c.keywords) && gives_constant(c.frame, c.pops);
}

bool make_slice(BuiltinCall& c) {
  std::vector<Shadow> parts;
  for (Operand operand : c.positional) parts.push_back(operand.shadow);
  if (parts.size() == 1) parts = {Shadow::constant(), parts[0], Shadow::constant()};
  if (parts.size() == 2) parts.push_back(Shadow::constant());
  return gives_fresh(c.frame, c.pops, std::move(parts));
}

/// functools.partial: the function, its arguments, then those given by name, in order.
bool make_partial(BuiltinCall& c) {
  if (c.positional.empty() ||
      Py_TYPE(c.positional[0].object) == reinterpret_cast<PyTypeObject*>(c.function.object)) {
    return refuse(c);  // one of a partial is one of its function
  }
  std::vector<Shadow> parts;
  for (Operand operand : c.positional) parts.push_back(operand.shadow);
  for (const auto& [name, operand] : c.keywords) parts.push_back(operand.shadow);
  return gives_fresh(c.frame, c.pops, std::move(parts));
}

/// reversed: of what is gone over by its places, from the end on.
bool make_reversed(BuiltinCall& c) {
  if (c.positional.size() != 1 || !c.keywords.empty()) return refuse(c);
  const Operand of = c.positional[0];
  const bool by_place = PyList_CheckExact(of.object) || PyTuple_CheckExact(of.object) ||
                        python::is_torch_size(of.object) || python::is_deque(of.object);
  if (!by_place) return polyfill(c);
  auto over = iteration_of(c.walk, of);
  if (over == nullptr) return not_iterable(c.walk, of);
  over->next = c.walk.objects.guard_length(of) - 1;
  over->step = -1;
  return gives_iterator(c.frame, c.pops, std::move(over));
}

/// types.MethodType: a function and what it is bound to. And __get__ of a function, which may be
/// told the class too.
bool make_method(BuiltinCall& c) {
  const bool bound = c.positional.size() == 3 && PyFunction_Check(c.positional[0].object);
  if ((c.positional.size() != 2 && !bound) || !c.keywords.empty()) return refuse(c);
  if (c.positional[1].object == Py_None) return refuse(c);
  return gives_fresh(c.frame, c.pops, {c.positional[0].shadow, c.positional[1].shadow});
}

/// type.__call__, which a metaclass's own __call__ comes to.
bool make_instance(BuiltinCall& c) {
  const Operand type = c.positional[0];
  if (!PyType_Check(type.object) || !c.walk.facts.consume_identity(type)) return refuse(c);
  return call_constructors(c.walk, c.frame, type, {c.positional.begin() + 1, c.positional.end()},
                           c.keywords, c.pops);
}

/// weakref.ref of an object that is older than the segment, of which there is one. One that the
/// segment made would live as long as the recording.
bool make_reference(BuiltinCall& c) {
  const Operand of = c.positional[0];
  if (!of.shadow.is(Shadow::Kind::sourced) && !of.shadow.is(Shadow::Kind::constant))
    return refuse(c);
  c.frame.finish = [pops = c.pops, shadow = of.shadow, type = PyRef::borrow(c.function.object),
                    held = PyRef::borrow(of.object)](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    if (const ObjectShadow* known = walk.objects.find(f.object())) return f.push(known->origin);
    f.push(walk.objects.fresh(f.object()));
    auto call = std::make_unique<PureCall>(PureCall{type, {}});
    call->arguments.emplace_back(shadow, held);
    walk.objects.find(f.object())->made_by = std::move(call);
  };
  return true;
}

constexpr FunctionModel kModels[] = {
    {"make_reference", make_reference, 1, 1},
    {"make_instance", make_instance, 1},
    {"make_partial", make_partial},
    {"make_method", make_method},
    {"make_reversed", make_reversed},
    {"make_type", make_type},
    {"make_super", make_super},
    {"make_object", make_object},
    {"make_sequence", make_sequence},
    {"make_dict", make_dict},
    {"make_iterator", make_iterator},
    {"repeat", repeat},
    {"make_number", make_number},
    {"make_truth", make_truth},
    {"make_text", make_text},
    {"make_value", make_value},
    {"make_slice", make_slice},
};

}  // namespace

std::span<const FunctionModel> class_models() {
  return kModels;
}

namespace {

/// A subclass of dict that is filled as a dict is.
bool call_dict_class(Walk& walk, FrameShadow& f, Operand type,
                     const std::vector<Operand>& positional, const Keywords& keywords, int pops) {
  const bool of_pairs = positional.size() == 1 && PyIter_Check(positional[0].object);
  if (of_pairs && type.object == reinterpret_cast<PyObject*>(&PyODict_Type)) {
    if (const auto done = call_polyfill(walk, f, type, positional, keywords, pops)) return *done;
  }
  PyObject* maker = type_lookup(reinterpret_cast<PyTypeObject*>(type.object), "__new__");
  PyRef made = PyRef::steal(PyObject_CallOneArg(maker, type.object));
  PyErr_Clear();
  // What update() does calls the class's own __setitem__ for an OrderedDict.
  const bool plain =
      made && (!PyODict_Check(made.get()) || has_dict_slot(made.get(), "__setitem__"));
  if (plain || (positional.empty() && keywords.empty()))
    return make_dict(walk, f, positional, keywords, pops);
  return walk.verdict.broke(Code::PS0303,
                            qualified_name(type.object) + " fills itself by its own __setitem__");
}

/// True for a subclass of list that is filled as a list is.
bool is_list_class(PyTypeObject* type) {
  return type->tp_new == PyList_Type.tp_new &&
         type_lookup(type, "__init__") == type_lookup(&PyList_Type, "__init__");
}

/// Of nothing, or of what is in a list or tuple.
bool call_list_class(Walk& walk, FrameShadow& f, Operand type,
                     const std::vector<Operand>& positional, const Keywords& keywords, int pops) {
  if (positional.empty() && keywords.empty()) return gives_fresh(f, pops, {});
  const bool one = positional.size() == 1 && keywords.empty();
  if (one && (PyList_CheckExact(positional[0].object) || PyTuple_CheckExact(positional[0].object)))
    return gives_fresh(f, pops, walk.objects.items(positional[0]));
  return walk.verdict.broke(Code::PS0306,
                            qualified_name(type.object) + " is filled by an iterator");
}

}  // namespace

/// Why no instance of the class is made in a segment. Where no tensor of the program's is at work,
/// a module is a part of a model that is being built.
std::optional<std::string> why_not_made(Walk& walk, PyTypeObject* type) {
  PyObject* object = reinterpret_cast<PyObject*>(type);
  if (policy::makes_optimizer(type)) return "an optimizer is made: " + qualified_name(object);
  if (policy::makes_module(type) && walk.recorder.graph().interface.inputs.empty())
    return "a module is made: " + qualified_name(object);
  if (type->tp_finalize != nullptr || type->tp_del != nullptr) {
    return "instances of " + qualified_name(object) + " run code when they are dropped";
  }
  return std::nullopt;
}

namespace {

/// Of flags: the member of several flags at once, which enum makes when it is asked for the first
/// time, and keeps. False where the class has a way of its own.
bool make_flags(PyObject* type, PyObject* value) {
  const python::HookPause pause;
  const PyRef missing = PyRef::steal(PyObject_GetAttrString(type, "_missing_"));
  PyObject* function =
      missing && PyMethod_Check(missing.get()) ? PyMethod_GET_FUNCTION(missing.get()) : nullptr;
  const bool of_enum = function != nullptr && qualified_name(function) == "enum.Flag._missing_";
  const PyRef member = of_enum ? PyRef::steal(PyObject_CallOneArg(type, value)) : PyRef();
  PyErr_Clear();
  return static_cast<bool>(member);
}

/// Color(2): the member of an enumeration that has the value. Nothing where there is none.
std::optional<bool> find_member(Walk& walk, FrameShadow& f, Operand type,
                                const std::vector<Operand>& positional, const Keywords& keywords,
                                int pops) {
  const auto* meta = reinterpret_cast<PyObject*>(Py_TYPE(type.object));
  if (positional.size() != 1 || !keywords.empty() ||
      qualified_name(const_cast<PyObject*>(meta)) != "enum.EnumType" ||
      !python::is_immutable_literal(positional[0].object))
    return std::nullopt;
  const auto has_member = [&] {
    const PyRef members = PyRef::steal(PyObject_GetAttrString(type.object, "_value2member_map_"));
    const bool has = members && PyDict_Check(members.get()) &&
                     PyDict_Contains(members.get(), positional[0].object) == 1;
    PyErr_Clear();
    return has;
  };
  const bool known =
      has_member() || (make_flags(type.object, positional[0].object) && has_member());
  if (!known) return std::nullopt;
  return walk.facts.consume(positional[0]) && gives_constant(f, pops);
}

}  // namespace

bool call_class(Walk& walk, FrameShadow& f, Operand type, std::vector<Operand> positional,
                Keywords keywords, int pops) {
  if (const auto done = find_member(walk, f, type, positional, keywords, pops)) return *done;
  PyObject* meta_call = type_lookup(Py_TYPE(type.object), "__call__");
  if (meta_call == nullptr || !PyFunction_Check(meta_call))
    return call_constructors(walk, f, type, std::move(positional), std::move(keywords), pops);
  // The metaclass has a way of its own, which may come to type.__call__.
  walk.facts.guard_type_version(type);
  positional.insert(positional.begin(), type);
  return call_function(walk, f, {class_attribute(walk, type, "__call__"), meta_call},
                       std::move(positional), std::move(keywords), pops);
}

bool call_constructors(Walk& walk, FrameShadow& f, Operand type, std::vector<Operand> positional,
                       Keywords keywords, int pops) {
  auto* object = reinterpret_cast<PyTypeObject*>(type.object);
  if (const auto done = call_exception(walk, f, type, positional, keywords, pops)) return *done;
  if (const auto reason = why_not_made(walk, object))
    return walk.verdict.broke(Code::PS0306, *reason);
  PyObject* maker = type_lookup(object, "__new__");
  PyObject* init = type_lookup(object, "__init__");
  static PyObject* const object_init = type_lookup(&PyBaseObject_Type, "__init__");
  const bool makes_dict = object->tp_new == PyDict_Type.tp_new;
  if (makes_dict && (init == type_lookup(&PyDict_Type, "__init__") ||
                     init == type_lookup(&PyODict_Type, "__init__")))
    return call_dict_class(walk, f, type, positional, keywords, pops);
  walk.facts.guard_class_version(type);
  if (is_list_class(object)) return call_list_class(walk, f, type, positional, keywords, pops);
  const bool makes_property = object->tp_new == PyProperty_Type.tp_new;
  if (object->tp_new == PyBaseObject_Type.tp_new || makes_dict || makes_property) {
    if (init == object_init) return gives_fresh(f, pops, {});
    if (!PyFunction_Check(init)) {
      return walk.verdict.broke(Code::PS0306,
                                qualified_name(type.object) + " is made by unknown C code");
    }
    Expected expected;
    expected.function = init;
    expected.function_shadow = attribute_of_class(walk, type, "__init__");
    expected.new_self = true;
    expected.positional.push_back({Shadow{}, nullptr});
    expected.positional.insert(expected.positional.end(), positional.begin(), positional.end());
    expected.keywords = std::move(keywords);
    f.expected = std::move(expected);
    return gives_call_result(f, pops);
  }
  PyRef function;
  if (maker != nullptr && std::strcmp(Py_TYPE(maker)->tp_name, "staticmethod") == 0) {
    function = PyRef::steal(PyObject_GetAttrString(maker, "__func__"));
  }
  const bool python_init = init != object_init && PyFunction_Check(init);
  if (!function || !PyFunction_Check(function.get()) || (init != object_init && !python_init)) {
    return walk.verdict.broke(Code::PS0306,
                              qualified_name(type.object) + " is made by unknown C code");
  }
  positional.insert(positional.begin(), type);
  f.expected.function = function.get();
  f.expected.init = python_init ? init : nullptr;
  f.expected.init_shadow = attribute_of_class(walk, type, "__init__");
  f.expected.function_shadow = attribute_of_class(walk, type, "__new__");
  f.expected.positional = std::move(positional);
  f.expected.keywords = std::move(keywords);
  return gives_call_result(f, pops);
}

bool call_super(Walk& walk, FrameShadow& f, const std::vector<Operand>& positional, int pops) {
  Shadow self = positional.size() == 2 ? positional[1].shadow : Shadow{};
  if (positional.empty()) {
    if (f.locals.empty()) return walk.verdict.broke(Code::PS0306, "super() without arguments");
    self = f.locals[0];
    // The first argument may live in a cell.
    if (PyObject* cell = f.frame->local(0);
        cell != nullptr && PyCell_Check(cell) && self.is(Shadow::Kind::fresh)) {
      self = walk.objects.object(self.index).items[0];
    }
  } else if (positional.size() != 2) {
    return walk.verdict.broke(Code::PS0306, "super with one argument");
  }
  return gives_fresh(f, pops, {Shadow::constant(), self});
}

bool make_dict(Walk& walk, FrameShadow& f, const std::vector<Operand>& positional,
               const Keywords& keywords, int pops) {
  std::vector<std::pair<PyRef, Shadow>> pairs;
  if (!positional.empty()) {
    auto given = pairs_of(walk, positional[0]);
    if (!given) return false;
    pairs = std::move(*given);
  }
  for (const auto& [name, operand] : keywords) {
    pairs.emplace_back(PyRef::borrow(name), operand.shadow);
  }
  return gives_dict(f, pops, std::move(pairs));
}

std::optional<std::vector<std::pair<PyRef, Shadow>>> pairs_of(Walk& walk, Operand source) {
  PyObject* object = source.object;
  if (is_merged_by_key(object)) {
    if (!walk.facts.consume_type(source) || !walk.objects.consume_keys(source)) return std::nullopt;
    return all_pairs(walk, source);
  }
  if (ObjectShadow* known = walk.objects.find(object);
      known != nullptr && PyDictItems_Check(object) && known->iterator) {
    return all_pairs(walk, {known->iterator->shadow, known->iterator->object.get()});
  }
  if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
    std::vector<std::pair<PyRef, Shadow>> pairs;
    const std::vector<Shadow> all = walk.objects.items(source);
    for (std::size_t i = 0; i < all.size(); ++i) {
      PyObject* pair = PySequence_Fast_GET_ITEM(object, static_cast<Py_ssize_t>(i));
      if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) break;
      const std::vector<Shadow> parts = walk.objects.items({all[i], pair});
      if (!walk.facts.consume({parts[0], PyTuple_GET_ITEM(pair, 0)})) return std::nullopt;
      pairs.emplace_back(PyRef::borrow(PyTuple_GET_ITEM(pair, 0)), parts[1]);
    }
    if (pairs.size() == all.size()) return pairs;
  }
  walk.verdict.broke(Code::PS0306, "a dict is made of pairs");
  return std::nullopt;
}

std::vector<std::pair<PyRef, Shadow>> all_pairs(Walk& walk, Operand dict) {
  std::vector<std::pair<PyRef, Shadow>> pairs;
  const ObjectId id = walk.objects.contents(dict);
  PyRef keys = keys_in_order(dict.object);
  for (Py_ssize_t i = 0; keys && i < PyList_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyList_GET_ITEM(keys.get(), i);
    pairs.emplace_back(PyRef::borrow(key),
                       walk.objects.dict_value(id, key, PyDict_GetItemWithError(dict.object, key)));
  }
  return pairs;
}

/// A generator that zip() or enumerate() makes by the __iter__ of what it goes over.
struct MadeGenerator {
  std::size_t base;
  Expected call;
  PyRef function;
};

std::optional<MadeGenerator> iterates_by_generator(Walk& walk, Operand operand, std::size_t base) {
  PyObject* function = type_lookup(Py_TYPE(operand.object), "__iter__");
  if (function == nullptr || !PyFunction_Check(function) || walk.is_tensor(operand.object))
    return std::nullopt;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  if ((code->co_flags & CO_GENERATOR) == 0) return std::nullopt;
  walk.facts.guard_type_version(operand);
  Expected call;
  call.function = function;
  PyRef name = PyRef::steal(PyUnicode_InternFromString("__iter__"));
  call.function_shadow = class_attribute(walk, operand, name.get());
  call.positional = {operand};
  return MadeGenerator{base, std::move(call), PyRef::borrow(function)};
}

bool make_iterator(Walk& walk, FrameShadow& f, PyObject* type,
                   const std::vector<Operand>& positional, const Keywords& keywords, int pops) {
  const bool numbered = type == reinterpret_cast<PyObject*>(&PyEnum_Type);
  auto over = std::make_unique<IteratorShadow>();
  over->kind = numbered ? IteratorShadow::Kind::enumerate : IteratorShadow::Kind::zip;
  const std::size_t bases =
      numbered ? std::min<std::size_t>(1, positional.size()) : positional.size();
  std::optional<MadeGenerator> made;
  for (std::size_t i = 0; i < bases; ++i) {
    auto base = iteration_of(walk, positional[i]);
    auto generator = base == nullptr ? iterates_by_generator(walk, positional[i], i) : std::nullopt;
    if (base == nullptr && !generator) return not_iterable(walk, positional[i]);
    const bool runs = generator || code_in(walk, *base) != nullptr;
    if (runs && (made || code_in(walk, *over) != nullptr)) {
      return walk.verdict.broke(Code::PS0303, "two generators are gone over at once");
    }
    if (runs && !generator && PyGen_CheckExact(code_in(walk, *base)->object.get())) {
      walk.objects.find(code_in(walk, *base)->object.get())->is_gone_over = true;
    }
    if (generator) {
      base = std::make_unique<IteratorShadow>();
      base->kind = IteratorShadow::Kind::generator;
      made = std::move(generator);
    }
    over->bases.push_back(std::move(base));
  }
  for (std::size_t i = bases; i < positional.size(); ++i) {
    if (!walk.facts.consume(positional[i])) return false;
  }
  for (const auto& [name, operand] : keywords) {
    if (!walk.facts.consume(operand)) return false;
  }
  if (!gives_iterator(f, pops, std::move(over)) || !made) return f.finish != nullptr;
  f.finish = [finish = std::move(f.finish), made = std::move(*made)](Walk& walk, FrameShadow& f) {
    finish(walk, f);
    find_made_generator(walk, f.operand(), made);
  };
  return true;
}

/// Finds in a new zip or enumerate the generator that it made.
void find_made_generator(Walk& walk, Operand iterator, const MadeGenerator& made) {
  PyRef state = PyRef::steal(PyObject_CallMethod(iterator.object, "__reduce__", nullptr));
  PyObject* parts =
      state && PyTuple_Check(state.get()) ? PyTuple_GET_ITEM(state.get(), 1) : nullptr;
  PyObject* generator = parts != nullptr && PyTuple_Check(parts) &&
                                static_cast<Py_ssize_t>(made.base) < PyTuple_GET_SIZE(parts)
                            ? PyTuple_GET_ITEM(parts, static_cast<Py_ssize_t>(made.base))
                            : nullptr;
  if (generator == nullptr || !PyGen_CheckExact(generator)) {
    PyErr_Clear();
    return walk.verdict.spoil("the generator that an iterator goes over was not found");
  }
  const Shadow shadow = adopt_generator(walk, generator, made.call);
  IteratorShadow& base = *walk.objects.find(iterator.object)->iterator->bases[made.base];
  base.object = PyRef::borrow(generator);
  base.shadow = shadow;
  walk.objects.object(shadow.index).is_gone_over = true;
}

bool reduces_generator(Walk& walk, FrameShadow& f, Operand generator, int pops) {
  auto over = iteration_of(walk, generator);
  if (over == nullptr) return not_iterable(walk, generator);
  if (!goes_over_all(walk, f, *over)) return false;
  f.expected.consumes = true;
  f.finish = [pops](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    f.push(made_of_constants(walk, f.object()).value_or(Shadow::constant()));
  };
  return true;
}

}  // namespace penstock::record
