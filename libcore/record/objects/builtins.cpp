// Calls of C functions, by their rules (capture.rules), and the models of those that rules name.

#include <algorithm>
#include <cstring>
#include <string_view>

#include "policy/dynamo_state.h"
#include "policy/roots.h"
#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/objects/attribute.h"
#include "record/objects/backward.h"
#include "record/objects/builtin_call.h"
#include "record/objects/call.h"
#include "record/objects/container.h"
#include "record/objects/decided_size.h"
#include "record/objects/iteration.h"
#include "record/objects/number.h"
#include "record/objects/torch_call.h"
#include "record/objects/torch_tensor.h"
#include "record/objects/truth.h"
#include "record/polyfills.h"
#include "record/results.h"
#include "record/variables.h"

namespace penstock::record {

using policy::KnownFunction;
using python::PyRef;
using python::text_of;

using Keywords = std::vector<std::pair<PyObject*, Operand>>;

bool refuse(BuiltinCall& c) {
  if (!c.rule.reason.empty()) return c.walk.verdict.broke(c.rule, c.shown);
  return c.walk.verdict.broke(Code::PS0306,
                              "this use of " + std::string(c.name) + " is not followed");
}

bool polyfill(BuiltinCall& c) {
  const auto done = call_polyfill(c.walk, c.frame, c.function, c.positional, c.keywords, c.pops);
  return done ? *done : refuse(c);
}

namespace {

constexpr std::size_t kAny = ~std::size_t{0};

/// The function of numbers that a call is, if it is one that is followed.
std::optional<bool> number_function(BuiltinCall& c) {
  using Form = NumberOpFacts::Form;
  if (!c.keywords.empty() || c.positional.empty() || c.positional.size() > 2) return std::nullopt;
  const bool two = c.positional.size() == 2;
  const std::string name = c.owner == "math" ? "math." + std::string(c.name) : std::string(c.name);
  const auto op = number_op(name, two ? Form::binary : Form::unary);
  const bool known = c.owner == "math" || c.owner == "builtins";
  if (!op || !known) return std::nullopt;
  return number_operation(c.walk, c.frame, *op, c.positional[0], two ? &c.positional[1] : nullptr,
                          c.pops);
}

/// A function of values without effects: called for real, on arguments that guards determine. On
/// others its Python form is followed, if there is one.
bool pure(BuiltinCall& c) {
  if (const auto done = number_function(c)) return *done;
  if (const auto done = method_of_builtin(c)) return *done;
  const bool plain = std::ranges::all_of(
      c.positional, [](const Operand& one) { return python::is_immutable_literal(one.object); });
  const bool chooses = c.name == "min" || c.name == "max";
  if (!plain && !chooses) {
    const auto done = call_polyfill(c.walk, c.frame, c.function, c.positional, c.keywords, c.pops);
    if (done) return *done;
  }
  for (Operand operand : c.positional) {
    const bool gives_tensor = c.name == "min" || c.name == "max";  // a graph can choose
    const bool decides = !gives_tensor && (c.owner == "builtins" || c.owner == "math");
    if (decides && c.walk.is_tensor(operand.object) && !c.walk.facts.is_known_tensor(operand)) {
      return c.walk.verdict.broke(
          Code::PS0301, "the elements of a tensor decide what " + std::string(c.name) + " gives",
          true);
    }
    if (!c.walk.facts.consume(operand)) return false;
  }
  for (auto& [name, operand] : c.keywords) {
    if (!c.walk.facts.consume(operand)) return false;
  }
  return gives_value(c);
}

/// re.sub and its like, whose replacement may be a function of the program's.
bool substitute(BuiltinCall& c) {
  const bool by_name = std::ranges::any_of(c.keywords, [](const auto& one) {
    return text_of(one.first) == "repl" && !python::is_immutable_literal(one.second.object);
  });
  const bool by_place =
      c.positional.size() > 1 && !python::is_immutable_literal(c.positional[1].object);
  return by_name || by_place ? refuse(c) : pure(c);
}

/// A setting of torch: guarded by asking for it again.
bool setting(BuiltinCall& c) {
  if (!c.positional.empty() || !c.keywords.empty()) return refuse(c);
  return c.walk.context.guard_setting(c.name, c.owner) && gives_constant(c.frame, c.pops);
}

/// What raises without a usable CUDA driver does so as long as the process lives.
bool stream_capture(BuiltinCall& c) {
  if (!c.positional.empty()) return refuse(c);
  const bool answers = c.walk.context.guard_setting(c.name);
  return (answers || is_handled(c.frame)) && gives_constant(c.frame, c.pops);
}

bool length(BuiltinCall& c) {
  Operand of = c.positional[0];
  if (c.walk.is_tensor(of.object)) {
    return tensor_length(c.walk, c.frame, of, c.pops);
  }
  if (const Shadow length = c.walk.sizes.followed_length(of); length.is(Shadow::Kind::sourced)) {
    return gives(c.frame, c.pops, length);
  }
  if (has_list_slots(of.object) || has_tuple_slots(of.object)) {
    c.walk.objects.items(of);
    return gives_constant(c.frame, c.pops);
  }
  if (python::is_deque(of.object)) {
    if (!is_known_deque(c.walk, of)) return false;
    c.walk.objects.guard_length(of);
    return gives_constant(c.frame, c.pops);
  }
  if (has_dict_slot(of.object, "__len__") || PyAnySet_CheckExact(of.object)) {
    return c.walk.objects.guard_size(of) && gives_constant(c.frame, c.pops);
  }
  const bool is_view =
      PyDictKeys_Check(of.object) || PyDictValues_Check(of.object) || PyDictItems_Check(of.object);
  if (const ObjectShadow* view = c.walk.objects.find(of.object);
      is_view && view != nullptr && view->iterator) {
    const Operand dict{view->iterator->shadow, view->iterator->object.get()};
    return c.walk.objects.guard_size(dict) && gives_constant(c.frame, c.pops);
  }
  if (Py_TYPE(of.object) == &PyDictProxy_Type && of.shadow.is(Shadow::Kind::fresh)) {
    return gives_constant(c.frame, c.pops);
  }
  bool known = false;
  if (call_special(c.walk, c.frame, of, "__len__", {}, c.pops, known)) return true;
  if (known) return false;
  return pure(c);
}

/// An object's type decides about isinstance, about issubclass the class itself.
bool is_instance(BuiltinCall& c) {
  return c.walk.facts.consume_type(c.positional[0]) && c.walk.facts.consume(c.positional[1]) &&
         gives_constant(c.frame, c.pops);
}

bool is_subclass(BuiltinCall& c) {
  return c.walk.facts.consume(c.positional[0]) && c.walk.facts.consume(c.positional[1]) &&
         gives_constant(c.frame, c.pops);
}

/// getattr: what LOAD_ATTR does, and what happens without.
bool get_attribute(BuiltinCall& c) {
  if (!c.walk.facts.consume(c.positional[1])) return refuse(c);
  AttributeUse use{.pops = c.pops};
  if (c.positional.size() > 2) {
    use.has_fallback = true;
    use.fallback = c.positional[2].shadow;
  }
  return load_attribute(c.walk, c.frame, c.positional[0], c.positional[1].object, use);
}

bool has_attribute(BuiltinCall& c) {
  if (!c.walk.facts.consume(c.positional[1])) return refuse(c);
  return load_attribute(c.walk, c.frame, c.positional[0], c.positional[1].object,
                        {.pops = c.pops, .test = true});
}

/// object.__getattribute__.
bool generic_get(BuiltinCall& c) {
  const Operand self = c.positional[0];
  if (!c.walk.facts.consume(c.positional[1]) || c.walk.is_tensor(self.object)) return refuse(c);
  AttributeUse use{.pops = c.pops};
  use.generic = true;
  return c.walk.facts.consume_type(self) &&
         load_generic_attribute(c.walk, c.frame, self, c.positional[1].object, use);
}

bool set_attribute(BuiltinCall& c) {
  if (!c.walk.facts.consume(c.positional[1])) return refuse(c);
  return store_attribute(c.walk, c.frame, c.positional[0], c.positional[1].object, c.positional[2],
                         c.pops, true);
}

bool delete_attribute(BuiltinCall& c) {
  if (!c.walk.facts.consume(c.positional[1])) return refuse(c);
  return store_attribute(c.walk, c.frame, c.positional[0], c.positional[1].object, {}, c.pops,
                         true);
}

/// object.__setattr__.
bool generic_set(BuiltinCall& c) {
  if (!c.walk.facts.consume(c.positional[1])) return refuse(c);
  return store_generic_attribute(c.walk, c.frame, c.positional[0], c.positional[1].object,
                                 c.positional[2], c.pops, true);
}

/// object.__delattr__.
bool generic_delete(BuiltinCall& c) {
  if (!c.walk.facts.consume(c.positional[1])) return refuse(c);
  return store_generic_attribute(c.walk, c.frame, c.positional[0], c.positional[1].object, {},
                                 c.pops, true);
}

bool call_iter(BuiltinCall& c) {
  if (c.positional.size() != 1) return refuse(c);
  ObjectShadow* known = c.walk.objects.find(c.positional[0].object);
  const bool followed =
      known != nullptr && (known->iterator != nullptr || known->generator != nullptr);
  if (followed && PyIter_Check(c.positional[0].object)) {  // a view of a dict gives a new iterator
    return gives(c.frame, c.pops, c.positional[0].shadow);
  }
  if (auto over = iteration_of(c.walk, c.positional[0])) {
    return gives_iterator(c.frame, c.pops, std::move(over));
  }
  bool in_python = false;
  if (call_special(c.walk, c.frame, c.positional[0], "__iter__", {}, c.pops, in_python))
    return true;
  return in_python ? false : not_iterable(c.walk, c.positional[0]);
}

bool call_next(BuiltinCall& c) {
  const Operand iterator = c.positional[0];
  if (!steps(c.walk, c.frame, iterator)) return refuse(c);
  // The instruction itself raises StopIteration where it has no default.
  if (c.positional.size() == 1) c.frame.expected.caught = Caught::none;
  PyObject* fallback = c.positional.size() > 1 ? c.positional[1].object : nullptr;
  const Shadow fallback_shadow = fallback ? c.positional[1].shadow : Shadow::constant();
  c.frame.finish = [=, pops = c.pops](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    const bool ended = fallback != nullptr && f.object() == fallback;
    f.push(ended ? fallback_shadow : stepped(walk, iterator, f.object()));
  };
  return true;
}

/// What a reduction is given besides what it goes over is a constant, and no code of the program is
/// run for each item.
bool consume_options(BuiltinCall& c) {
  for (auto& [name, operand] : c.keywords) {
    const bool calls =
        text_of(name) == "key" && operand.object != Py_None && !PyCFunction_Check(operand.object);
    if (calls || !c.walk.facts.consume(operand)) return calls ? refuse(c) : false;
  }
  const bool begins = c.name == "sum" && c.positional.size() == 2;
  return !begins || c.walk.facts.consume(c.positional[1]);
}

/// max and min by a key that is a function of the program's, or an object that is called.
bool ranks_by_python(const BuiltinCall& c) {
  return std::ranges::any_of(c.keywords, [](const auto& given) {
    return text_of(given.first) == "key" && given.second.object != Py_None &&
           !PyCFunction_Check(given.second.object) && !PyType_Check(given.second.object);
  });
}

/// any, all, sum, min, max, sorted: of values that guards determine.
bool reduce(BuiltinCall& c) {
  Operand over = c.positional[0];
  const bool by_python =
      c.name == "any" || c.name == "all" || c.name == "sum" || c.name == "sorted";
  if (by_python && (PyGen_CheckExact(over.object) || (!c.keywords.empty() && c.name == "sorted")))
    return polyfill(c);
  const bool begins_with_tensor =
      c.name == "sum" && c.positional.size() == 2 && c.walk.is_tensor(c.positional[1].object);
  if (begins_with_tensor || ((c.name == "max" || c.name == "min") && ranks_by_python(c)))
    return polyfill(c);
  if (!consume_options(c)) return false;
  if (c.positional.size() > 1 || PyGen_CheckExact(over.object)) {
    if (c.positional.size() > 1 && !PyGen_CheckExact(over.object)) return pure(c);
    return reduces_generator(c.walk, c.frame, over, c.pops);
  }
  if (has_list_slots(over.object) || has_tuple_slots(over.object)) {
    PyObject** objects = PySequence_Fast_ITEMS(over.object);
    const bool tensors = std::any_of(objects, objects + PySequence_Fast_GET_SIZE(over.object),
                                     [&](PyObject* item) { return c.walk.is_tensor(item); });
    if (tensors && c.name == "sorted") {
      return c.walk.verdict.broke(Code::PS0301, "the order depends on the elements of tensors",
                                  true);
    }
    const bool of_classes =
        c.name == "sum" &&
        std::any_of(objects, objects + PySequence_Fast_GET_SIZE(over.object), [](PyObject* item) {
          return PyType_HasFeature(Py_TYPE(item), Py_TPFLAGS_HEAPTYPE) &&
                 !python::is_immutable_literal(item);
        });
    const bool of_truths =
        (c.name == "any" || c.name == "all") &&
        std::any_of(objects, objects + PySequence_Fast_GET_SIZE(over.object),
                    [](PyObject* item) { return truth_method(item) != nullptr; });
    if ((tensors || of_classes || of_truths) && by_python) return polyfill(c);
    const std::vector<Shadow> all = c.walk.objects.items(over);
    for (std::size_t i = 0; i < all.size(); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(over.object, static_cast<Py_ssize_t>(i));
      if (c.name == "any" || c.name == "all") {
        if (!c.walk.facts.consume_truth({all[i], item})) return false;
      } else if (!c.walk.facts.consume({all[i], item})) {
        return false;
      }
    }
    return gives_value(c);
  }
  return pure(c);
}

bool is_callable(BuiltinCall& c) {
  return c.walk.facts.consume_type(c.positional[0]) && gives_constant(c.frame, c.pops);
}

/// id: known of an object that the guards can tell from every other.
bool identity_known(BuiltinCall& c) {
  return c.walk.facts.consume_address(c.positional[0]) && gives_constant(c.frame, c.pops);
}

/// object.__new__(cls) and dict.__new__(cls), by way of super(); tuple.__new__(cls, items).
bool new_object(BuiltinCall& c) {
  if (!PyType_Check(c.positional[0].object) || !c.walk.facts.consume(c.positional[0]))
    return refuse(c);
  auto* type = reinterpret_cast<PyTypeObject*>(c.positional[0].object);
  if (PyType_IsSubtype(type, &PyTuple_Type)) {
    if (c.positional.size() != 2) return refuse(c);
    const Operand from = c.positional[1];
    if (!PyTuple_CheckExact(from.object) && !PyList_CheckExact(from.object)) return polyfill(c);
    return gives_fresh(c.frame, c.pops, c.walk.objects.items(from));
  }
  const bool dict = PyType_IsSubtype(type, &PyDict_Type);
  if (!dict && !(PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && type->tp_base != nullptr))
    return refuse(c);
  return gives_fresh(c.frame, c.pops, {});
}

/// object.__init__ of an object alone does nothing.
bool initialize_nothing(BuiltinCall& c) {
  if (c.positional.size() != 1 || !c.keywords.empty()) return refuse(c);
  return gives_constant(c.frame, c.pops);
}

/// property.__init__ of an instance of a subclass: what it keeps is not looked at.
bool initialize_property(BuiltinCall& c) {
  const bool made = c.positional[0].shadow.is(Shadow::Kind::fresh) && c.keywords.empty();
  return made ? gives_constant(c.frame, c.pops) : refuse(c);
}

bool context_get(BuiltinCall& c) {
  if (!c.walk.facts.consume_identity(c.positional[0])) return refuse(c);
  return get_context(c.walk, c.frame, c.positional[0], c.pops);
}

bool context_set(BuiltinCall& c) {
  if (!c.walk.facts.consume_identity(c.positional[0])) return refuse(c);
  return set_context(c.frame, c.positional[0], c.positional[1], c.pops);
}

bool context_reset(BuiltinCall& c) {
  if (!c.walk.facts.consume_identity(c.positional[0])) return refuse(c);
  return reset_context(c.walk, c.frame, c.positional[0], c.positional[1], c.pops);
}

/// Gradient mode is put back before most segments end; one that ends with another mode than it
/// started with is not used.
bool set_grad_mode(BuiltinCall& c) {
  if (!c.walk.facts.consume(c.positional[0])) return false;
  const int enabled = PyObject_IsTrue(c.positional[0].object);
  if (enabled < 0) PyErr_Clear();
  // What is differentiated of a subgraph is all of it.
  const OpenSubgraphs& open = c.walk.recorder.subgraphs;
  if (open.any() && torch::grad_enabled() != (enabled == 1))
    return c.walk.verdict.broke(Code::PS0310, open.what() + " changes gradient mode");
  return c.walk.context.sets_grad_mode(enabled == 1) && gives_constant(c.frame, c.pops);
}

/// True where the call is of one tensor, whose element the guards determine.
bool is_of_known_element(BuiltinCall& c) {
  return c.walk.facts.is_known_tensor(c.positional[0]);
}

/// A method that gives the element of a tensor as a Python number, where that is known.
bool known_element(BuiltinCall& c) {
  const bool known = is_of_known_element(c) || ask_elements(c.walk, c.positional[0]).has_value();
  return known ? gives_constant(c.frame, c.pops) : refuse(c);
}

/// The same where it is a whole number: that of an input is read before each run.
bool element_number(BuiltinCall& c) {
  if (is_of_known_element(c) || ask_elements(c.walk, c.positional[0]))
    return gives_constant(c.frame, c.pops);
  auto done = element_number(c.walk, c.frame, c.positional[0], c.pops);
  if (!done) done = decided_number(c.walk, c.frame, c.positional[0], c.pops);
  return done ? *done : refuse(c);
}

/// Of the lock that functools.cached_property holds (before_with).
bool leave_lock(BuiltinCall& c) {
  const bool known = policy::module_name(c.frame.frame->globals()) == "functools";
  return known ? gives_constant(c.frame, c.pops) : refuse(c);
}

bool make_tensor(BuiltinCall& c) {
  return make_tensor(c.walk, c.frame, c.name, c.positional, c.keywords, c.pops);
}

/// Changes nothing where the tensor is so already, and makes a leaf of what the segment made.
bool require_gradients(BuiltinCall& c) {
  const Operand tensor = c.positional[0];
  if (c.positional.size() > 1 && !c.walk.facts.consume(c.positional[1])) return false;
  torch::TensorView view;
  const bool wanted = c.positional.size() < 2 || c.positional[1].object == Py_True;
  const bool known = c.keywords.empty() && c.walk.recorder.bridge().read(tensor.object, view);
  PyErr_Clear();
  if (!known || view.requires_grad != wanted) {
    if (known && wanted && can_become_leaf(c.walk, tensor))
      return makes_leaf(c.frame, tensor, c.pops, tensor.shadow);
    return c.walk.verdict.broke(Code::PS0305, "requires_grad of a tensor is set", true);
  }
  return consume_tensor_type(c.walk, tensor) && gives(c.frame, c.pops, tensor.shadow);
}

/// A range of torch's profilers begins (torch.profiler.record_function). Nobody sees it while none
/// watches, which is guarded. What stands for it cannot be made again: the segment ends before it,
/// or behind its end (model_end_range).
bool begin_range(BuiltinCall& c) {
  if (!c.name.starts_with("_record_function_enter")) return refuse(c);
  return c.walk.context.guard_setting("_profiler_enabled", "torch._C._autograd") &&
         gives(c.frame, c.pops, Shadow{});
}

/// A function that gives back its argument, unless that is no plain tensor.
bool gives_argument(BuiltinCall& c) {
  const bool plain = c.walk.recorder.bridge().is_plain_tensor(c.positional[0].object);
  return plain ? gives(c.frame, c.pops, c.positional[0].shadow) : refuse(c);
}

/// The apply of a class: bound to it by super() or, since torch 2.15, as its attribute.
bool apply_function(BuiltinCall& c) {
  PyObject* type =
      PyCFunction_Check(c.function.object) ? PyCFunction_GET_SELF(c.function.object) : nullptr;
  if (type == nullptr || !PyType_Check(type) || !c.keywords.empty()) return refuse(c);
  Shadow shadow = c.function.shadow;
  if (shadow.is(Shadow::Kind::fresh)) {
    shadow = c.walk.objects.object(shadow.index).items[1];
  } else if (shadow.is(Shadow::Kind::sourced)) {
    const SourceStep& step = c.walk.recorder.graph().interface.sources[shadow.index];
    if (step.kind != SourceKind::attribute || step.base == kNoSource) return refuse(c);
    shadow = Shadow::sourced(step.base);
  }
  return apply_function(c.walk, c.frame, {shadow, type}, c.positional, c.pops);
}

constexpr FunctionModel kModels[] = {
    {"length", length, 1, 1},
    {"is_instance", is_instance, 2, 2},
    {"is_subclass", is_subclass, 2, 2},
    {"get_attribute", get_attribute, 2, 3},
    {"has_attribute", has_attribute, 2, 2},
    {"generic_get", generic_get, 2, 2},
    {"set_attribute", set_attribute, 3, 3},
    {"generic_set", generic_set, 3, 3},
    {"delete_attribute", delete_attribute, 2, 2},
    {"generic_delete", generic_delete, 2, 2},
    {"iterate", call_iter, 1},
    {"advance", call_next, 1, 2},
    {"reduce", reduce, 1},
    {"is_callable", is_callable, 1, 1},
    {"identity", identity_known, 1, 1},
    {"context_get", context_get, 1, 2},
    {"context_set", context_set, 2, 2},
    {"context_reset", context_reset, 2, 2},
    {"element_number", element_number, 1, 1},
    {"known_element", known_element, 1, 1},
    {"substitute", substitute, 2},
    {"initialize_nothing", initialize_nothing, 1},
    {"initialize_property", initialize_property, 1},
    {"new_object", new_object, 1},
    {"make_class", make_class, 2},
    {"make_tensor", make_tensor},
    {"gives_argument", gives_argument, 1, 1},
    {"begin_range", begin_range, 1},
    {"require_gradients", require_gradients, 1},
    {"apply_function", apply_function, 0},
    {"set_grad_mode", set_grad_mode, 1, 1},
    {"stream_capture", stream_capture},
    {"leave_lock", leave_lock, 1},
};

}  // namespace

bool call_model(const FunctionModel& model, BuiltinCall& c) {
  const bool too_many =
      model.most != kAny && (c.positional.size() > model.most || !c.keywords.empty());
  if (too_many || c.positional.size() < model.least) return refuse(c);
  return model.rule(c);
}

const FunctionModel* find_function_model(std::string_view name) {
  for (const std::span<const FunctionModel> models :
       {std::span<const FunctionModel>(kModels), class_models(), container_models(), deque_models(),
        default_dict_models(), getter_models(), autocast_models(), exception_models(),
        numpy_models()}) {
    const auto found = std::ranges::find(models, name, &FunctionModel::name);
    if (found != models.end()) return &*found;
  }
  return nullptr;
}

/// Puts what a bound method was bound to in front of the arguments.
bool bind_self(Walk& walk, Operand function, std::vector<Operand>& positional) {
  PyObject* object = function.object;
  if (Py_TYPE(object) == python::method_wrapper_type()) {
    PyRef self = PyRef::steal(PyObject_GetAttrString(object, "__self__"));
    Shadow shadow = Shadow::constant();
    if (function.shadow.is(Shadow::Kind::fresh)) {
      shadow = walk.objects.object(function.shadow.index).items[1];
    }
    positional.insert(positional.begin(), {shadow, self.get()});
    return true;
  }
  if (!PyCFunction_Check(object)) return true;
  auto* c = reinterpret_cast<PyCFunctionObject*>(object);
  // "[].append" as one object.
  const bool bound = c->m_self != nullptr && c->m_module == nullptr && !PyModule_Check(c->m_self) &&
                     !PyType_Check(c->m_self);
  if (!bound) return true;
  Operand self{Shadow::constant(), c->m_self};
  if (function.shadow.is(Shadow::Kind::fresh)) {
    self.shadow = walk.objects.object(function.shadow.index).items[1];
  } else if (walk.is_tensor(c->m_self)) {
    return walk.verdict.broke(Code::PS0306, "a bound method of a tensor came from outside");
  } else if (function.shadow.source() != kNoSource) {
    self.shadow =
        Shadow::sourced(walk.recorder.guards().source(SourceKind::self, function.shadow.source()));
  }
  positional.insert(positional.begin(), self);
  return true;
}

bool call_builtin(Walk& walk, FrameShadow& f, Operand function, std::vector<Operand> positional,
                  Keywords keywords, int pops) {
  const std::shared_ptr<const KnownFunction> kept = walk.callables.of(function.object);
  const KnownFunction& known = *kept;
  const CallRule& rule = *known.rule;
  if (torch::in_compiled_region() && policy::in_graph(function.object) == policy::InGraph::never) {
    return walk.verdict.broke(
        Code::PS0312, known.shown + " is disallowed in graphs (torch._dynamo.disallow_in_graph)",
        true);
  }
  if (leaves_to_python(rule.action)) return walk.verdict.broke(rule, known.shown);
  if (!bind_self(walk, function, positional)) return false;
  if (known.method && (positional.empty() || !walk.is_tensor(positional[0].object))) {
    return walk.verdict.broke(Code::PS0306, "a tensor method is called on what is no tensor");
  }
  if (!consume_c_function(walk, function)) return false;
  BuiltinCall call{walk, f,        known.owner, known.name, known.shown,
                   rule, function, positional,  keywords,   pops};
  switch (rule.action) {
    case CallAction::fact:
      return place_keywords(keywords, positional) ? tell_fact(walk, f, known.name, positional, pops)
                                                  : refuse(call);
    case CallAction::constant:
      return pure(call);
    case CallAction::setting:
      return setting(call);
    case CallAction::fixed:
      return gives_constant(f, pops);
    case CallAction::model:
      if (const FunctionModel* model = find_function_model(rule.handler))
        return call_model(*model, call);
      return refuse(call);
    default:
      if (goes_over_lists(call)) return polyfill(call);
      return call_op(walk, f, known, function.object, positional, keywords, pops);
  }
}

}  // namespace penstock::record
