// Iterators. Their state is in the real iterators, which CPython advances; beside each stands what
// it goes over, so that every item gets its shadow. Items must come in an order that guards
// determine.

#include "record/objects/iteration.h"
#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/objects/attribute.h"
#include "record/objects/call.h"
#include "record/objects/container.h"
#include "record/objects/torch_tensor.h"
#include "record/walk.h"

namespace penstock::record {

using python::PyRef;
using python::type_lookup;
using Kind = IteratorShadow::Kind;

namespace {

std::unique_ptr<IteratorShadow> over(Kind kind, Operand operand) {
  auto result = std::make_unique<IteratorShadow>();
  result->kind = kind;
  result->shadow = operand.shadow;
  result->object = PyRef::borrow(operand.object);
  return result;
}

bool is_dict_view(PyObject* object) {
  return PyDictKeys_Check(object) || PyDictValues_Check(object) || PyDictItems_Check(object);
}

/// True for torch.nn.ModuleList and Sequential whose __iter__ is torch's own.
bool is_module_list(PyObject* object) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch.nn.modules.container");
  if (module == nullptr || !PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE)) return false;
  PyRef name = PyRef::steal(PyUnicode_InternFromString("__iter__"));
  PyObject* method = _PyType_Lookup(Py_TYPE(object), name.get());
  if (method == nullptr || !PyFunction_Check(method)) return false;
  for (const char* known : {"ModuleList", "Sequential"}) {
    PyObject* type = PyDict_GetItemString(PyModule_GetDict(module), known);
    if (type == nullptr || !PyType_Check(type)) continue;
    if (method == _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type), name.get())) return true;
  }
  return false;
}

/// True where the type's method is a function of Python that gives what it returns.
bool runs_python(PyObject* object, const char* name) {
  PyObject* method = type_lookup(Py_TYPE(object), name);
  if (method == nullptr || !PyFunction_Check(method)) return false;
  return (reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(method))->co_flags &
          (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) == 0;
}

}  // namespace

bool iterates_in_python(Operand operand) {
  const char* special =
      type_lookup(Py_TYPE(operand.object), "__iter__") != nullptr ? "__iter__" : "__getitem__";
  PyObject* method = type_lookup(Py_TYPE(operand.object), special);
  return method != nullptr && PyFunction_Check(method);
}

std::unique_ptr<IteratorShadow> iteration_of(Walk& walk, Operand operand) {
  PyObject* object = operand.object;
  if (walk.is_tensor(object)) return nullptr;
  if (ObjectShadow* known = walk.objects.find(object);
      known != nullptr && known->iterator != nullptr) {
    if (!is_dict_view(object)) return over(Kind::iterator, operand);
    // A view can be gone over again and again.
    const IteratorShadow& view = *known->iterator;
    auto again = over(view.kind, {view.shadow, view.object.get()});
    again->key_list = view.key_list;
    return again;
  }
  if (is_module_list(object)) {
    // Its __iter__ goes over the values of _modules; CPython runs it natively.
    PyRef name = PyRef::steal(PyUnicode_InternFromString("_modules"));
    const ObjectId own = walk.objects.instance_dict(operand);
    PyObject* modules = own == kNoSource ? nullptr
                                         : PyDict_GetItemWithError(
                                               walk.objects.object(own).object.get(), name.get());
    if (modules == nullptr) return nullptr;
    walk.facts.guard_type_version(operand);
    const Operand dict{walk.objects.dict_value(own, name.get(), modules), modules};
    if (!walk.facts.consume_type(dict) || !walk.objects.consume_keys(dict)) return nullptr;
    auto result = over(Kind::values, dict);
    result->key_list = PyRef::steal(PyDict_Keys(modules));
    return result;
  }
  if (has_list_slots(object) || has_tuple_slots(object) || python::is_deque(object)) {
    if (!is_known_deque(walk, operand)) return nullptr;
    walk.objects.guard_length(operand);
    return over(Kind::items, operand);
  }
  if (has_dict_slot(object, "__iter__")) {
    if (!walk.facts.consume_type(operand) || !walk.objects.consume_keys(operand)) return nullptr;
    auto result = over(Kind::keys, operand);
    result->key_list = keys_in_order(object);
    return result;
  }
  if (PyGen_CheckExact(object)) {
    ObjectShadow* known = walk.objects.find(object);
    if (known == nullptr || known->generator == nullptr) return nullptr;
    return over(Kind::generator, operand);
  }
  const bool is_constant_view = is_dict_view(object) && operand.shadow.is(Shadow::Kind::constant);
  if (is_constant_view || PyRange_Check(object) || PyUnicode_CheckExact(object) ||
      PyBytes_CheckExact(object)) {
    if (!walk.facts.consume(operand)) return nullptr;
    return over(Kind::numbers, operand);
  }
  if (PyAnySet_CheckExact(object) && !operand.shadow.is(Shadow::Kind::unknown)) {
    if (!walk.objects.consume_set(operand)) return nullptr;
    return over(Kind::numbers, operand);
  }
  const bool by_item =
      type_lookup(Py_TYPE(object), "__iter__") == nullptr && runs_python(object, "__getitem__");
  if (by_item && !operand.shadow.is(Shadow::Kind::unknown)) return over(Kind::sequence, operand);
  return nullptr;
}

const IteratorShadow* code_in(Walk& walk, const IteratorShadow& over) {
  if (over.kind == Kind::generator || over.kind == Kind::method || over.kind == Kind::sequence)
    return &over;
  if (over.kind == Kind::iterator) {
    return code_in(walk, *walk.objects.object(walk.objects.id_of(over.object.get())).iterator);
  }
  for (const auto& base : over.bases) {
    if (const IteratorShadow* code = code_in(walk, *base)) return code;
  }
  return nullptr;
}

bool expects_item(Walk& walk, FrameShadow& f, const IteratorShadow& over) {
  const IteratorShadow* code = code_in(walk, over);
  if (code == nullptr) return true;
  if (code->kind == Kind::generator) {
    f.expected.generator = code->object.get();
    return true;
  }
  const bool of_sequence = code->kind == Kind::sequence;
  const char* name = of_sequence ? "__getitem__" : "__next__";
  const Operand self{code->shadow, code->object.get()};
  PyObject* method = type_lookup(Py_TYPE(self.object), name);
  walk.facts.guard_type_version(self);
  PyRef text = PyRef::steal(PyUnicode_InternFromString(name));
  const Operand function{class_attribute(walk, self, text.get()), method};
  if (!consume_function(walk, function)) return false;
  f.expected.function = method;
  f.expected.function_shadow = function.shadow;
  f.expected.positional = {self};
  if (of_sequence) f.expected.positional.push_back({Shadow::constant(), nullptr});
  f.expected.caught = of_sequence ? Caught::end_of_sequence : Caught::end_of_iterator;
  return true;
}

bool goes_over_all(Walk& walk, FrameShadow& f, const IteratorShadow& over) {
  const IteratorShadow* code = code_in(walk, over);
  if (code == nullptr) return true;
  // What an enumerate or zip makes of what it yields is made while the instruction runs.
  if (&over != code) {
    return walk.verdict.broke(Code::PS0303, "an instruction goes over all that Python code gives");
  }
  if (!expects_item(walk, f, over)) return false;
  f.expected.repeats = true;
  return true;
}

Shadow advance(Walk& walk, IteratorShadow& over, PyObject* item) {
  switch (over.kind) {
    case Kind::items: {
      const std::int64_t at = std::exchange(over.next, over.next + over.step);
      return walk.objects.item({over.shadow, over.object.get()}, at);
    }
    case Kind::keys:
      ++over.next;
      return Shadow::constant();
    case Kind::values:
    case Kind::pairs: {
      if (over.next >= PyList_GET_SIZE(over.key_list.get())) return Shadow{};
      PyObject* key = PyList_GET_ITEM(over.key_list.get(), over.next++);
      PyObject* value = PyDict_GetItemWithError(over.object.get(), key);
      const ObjectId dict = walk.objects.contents({over.shadow, over.object.get()});
      const Shadow shadow = walk.objects.dict_value(dict, key, value);
      return over.kind == Kind::values ? shadow
                                       : walk.objects.fresh(item, {Shadow::constant(), shadow});
    }
    case Kind::numbers:
      return Shadow::constant();
    case Kind::enumerate:
      return walk.objects.fresh(
          item, {Shadow::constant(), advance(walk, *over.bases[0], PyTuple_GET_ITEM(item, 1))});
    case Kind::zip: {
      std::vector<Shadow> parts;
      for (std::size_t i = 0; i < over.bases.size(); ++i) {
        parts.push_back(advance(walk, *over.bases[i], PyTuple_GET_ITEM(item, i)));
      }
      return walk.objects.fresh(item, std::move(parts));
    }
    case Kind::same:
      return over.shadow;
    case Kind::sequence:
      ++over.next;
      [[fallthrough]];
    case Kind::generator:
    case Kind::method:
      return walk.innermost()->expected.result;
    case Kind::iterator:
      return advance(walk, *walk.objects.find(over.object.get())->iterator, item);
  }
  return Shadow{};
}

bool not_iterable(Walk& walk, Operand operand) {
  if (walk.verdict.reason().code != Code::PS0601 && !walk.verdict.reason().reason.empty() &&
      is_dict_view(operand.object)) {
    return false;
  }
  if (walk.is_tensor(operand.object)) {
    return walk.verdict.broke(Code::PS0303, "a tensor is iterated over");
  }
  return walk.verdict.broke(
      Code::PS0303,
      std::string("iteration over a ") + Py_TYPE(operand.object)->tp_name + " is not followed");
}

bool gives_iterator(FrameShadow& f, int pops, std::unique_ptr<IteratorShadow> over) {
  f.finish = [pops, over = std::shared_ptr<IteratorShadow>(std::move(over))](Walk& walk,
                                                                             FrameShadow& f) {
    f.pop(pops);
    const Shadow iterator = walk.objects.fresh(f.object());
    auto own = std::make_unique<IteratorShadow>();
    *own = std::move(*over);
    walk.objects.object(iterator.index).iterator = std::move(own);
    f.push(iterator);
  };
  return true;
}

std::function<Shadow(PyObject*)> items_gone_over(Walk& walk, FrameShadow& f, IteratorShadow& over) {
  return [&walk, &over, yielded = f.expected.results, at = std::size_t{0}](PyObject* item) mutable {
    return at < yielded.size() ? yielded[at++] : advance(walk, over, item);
  };
}

std::function<Shadow(PyObject*)> items_of_result(Walk& walk, FrameShadow& f) {
  const Shadow iterator = f.expected.result;
  if (!iterator.is(Shadow::Kind::fresh) || walk.objects.object(iterator.index).iterator == nullptr)
    return [](PyObject*) { return Shadow{}; };
  return [&walk, iterator](PyObject* item) {
    return advance(walk, *walk.objects.object(iterator.index).iterator, item);
  };
}

bool get_iterator(Walk& walk, FrameShadow& f) {
  Operand operand = f.operand();
  if (PyIter_Check(operand.object)) {
    // An iterator is its own iterator, unless Python code says otherwise.
    if (ObjectShadow* known = walk.objects.find(operand.object);
        known != nullptr && (known->iterator != nullptr || known->generator != nullptr)) {
      return true;
    }
  }
  if (walk.is_tensor(operand.object)) return iterate_tensor(walk, f);
  if (auto over = iteration_of(walk, operand)) return gives_iterator(f, 1, std::move(over));
  bool known = false;
  if (call_special(walk, f, operand, "__iter__", {}, 1, known)) return true;
  if (known) return false;
  return not_iterable(walk, operand);
}

bool steps(Walk& walk, FrameShadow& f, Operand iterator) {
  const ObjectShadow* known = walk.objects.find(iterator.object);
  if (known != nullptr && known->iterator != nullptr)
    return expects_item(walk, f, *known->iterator);
  if (known != nullptr && known->generator != nullptr && PyGen_CheckExact(iterator.object)) {
    f.expected.generator = iterator.object;
    return true;
  }
  const bool followed =
      runs_python(iterator.object, "__next__") && !iterator.shadow.is(Shadow::Kind::unknown);
  return followed && expects_item(walk, f, *over(Kind::method, iterator));
}

Shadow stepped(Walk& walk, Operand iterator, PyObject* item) {
  const ObjectShadow* known = walk.objects.find(iterator.object);
  if (known == nullptr || known->iterator == nullptr) return walk.innermost()->expected.result;
  return advance(walk, *known->iterator, item);
}

bool next_item(Walk& walk, FrameShadow& f) {
  // How far an iterator is that is older than the segment cannot be guarded. The segment ends here,
  // and the loop's body is a segment of its own.
  const ObjectShadow* known = walk.objects.find(f.object());
  const bool followed =
      known != nullptr && (known->iterator != nullptr || known->generator != nullptr);
  const bool made_here = known != nullptr && known->origin.is(Shadow::Kind::fresh);
  if (!followed && !(made_here && runs_python(f.object(), "__next__")))
    return walk.verdict.end_silently();
  if (!steps(walk, f, f.operand())) return false;
  f.finish = [target = f.instruction->target](Walk& walk, FrameShadow& f) {
    if (f.frame->unit() == target) return f.pop();
    // The item is on the operand stack, and nothing is known of it yet.
    f.push(stepped(walk, {f.top(), f.object(1)}, f.object()));
  };
  return true;
}

bool next_of_delegate(Walk& walk, FrameShadow& f) {
  const Operand delegate = f.operand(1);
  const ObjectShadow* known = walk.objects.find(delegate.object);
  // An iterator of the program's own may have a send, throw or close, which this would call.
  if (known == nullptr || (known->iterator == nullptr && known->generator == nullptr))
    return walk.verdict.end_silently();
  if (f.object() != Py_None) {
    return walk.verdict.broke(Code::PS0304, "a value is sent into a generator that delegates");
  }
  const bool is_generator = known->generator != nullptr;
  if (!steps(walk, f, delegate)) return false;
  f.finish = [is_generator, target = f.instruction->target](Walk& walk, FrameShadow& f) {
    if (f.frame->unit() == target) {
      const Shadow returned = is_generator ? f.expected.result : Shadow::constant();
      f.pop(2);
      return f.push(returned);
    }
    const Shadow item = stepped(walk, {f.top(1), f.object(1)}, f.object());
    f.pop();
    f.push(item);
  };
  return true;
}

bool gathers(Walk& walk, FrameShadow& f, Operand iterable, int pops) {
  auto over = iteration_of(walk, iterable);
  if (over == nullptr) return not_iterable(walk, iterable);
  if (!goes_over_all(walk, f, *over)) return false;
  f.finish = [pops, over = std::shared_ptr<IteratorShadow>(std::move(over))](Walk& walk,
                                                                             FrameShadow& f) {
    const auto next = items_gone_over(walk, f, *over);
    f.pop(pops);
    std::vector<Shadow> all;
    PyObject** made = PySequence_Fast_ITEMS(f.object());
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(f.object()); ++i)
      all.push_back(next(made[i]));
    f.push(walk.objects.fresh(f.object(), std::move(all)));
  };
  return true;
}

}  // namespace penstock::record
