// Builtin functions and the methods of builtin types, by name: one row each. A function without a row
// is unknown C code, and a break.

#include <algorithm>
#include <cstring>
#include <string_view>

#include "capture/literal.h"
#include "capture/walk.h"

namespace penstock::capture {

using python::PyRef;
using Keywords = std::vector<std::pair<PyObject*, Operand>>;

/// A call of a builtin as its rule sees it; for a method, positional[0] is self.
struct BuiltinCall {
  Walk& walk;
  FrameShadow& frame;
  std::string_view owner, name;
  std::vector<Operand>& positional;
  Keywords& keywords;
  int pops;
};

namespace {

using BuiltinRule = bool (*)(BuiltinCall&);
constexpr std::size_t kAny = ~std::size_t{0};
struct BuiltinRow {
  std::string_view owner;  ///< "builtins", a type's name, a module
  std::string_view names;  ///< separated by spaces; "*": all
  BuiltinRule rule;
  std::size_t least = 1;           ///< arguments, self included …
  std::size_t most = kAny;         ///< … without keywords, unless any number is taken
};

bool refuse(BuiltinCall& c) {
  return c.walk.broke(Code::PS0306, "this use of " + std::string(c.name) + " is not followed");
}

/// The function of numbers that a call is, if it is one that is followed.
std::optional<bool> number_function(BuiltinCall& c) {
  using Form = NumberOpFacts::Form;
  if (!c.keywords.empty() || c.positional.empty() || c.positional.size() > 2) return std::nullopt;
  const bool two = c.positional.size() == 2;
  const std::string name = c.owner == "math" ? "math." + std::string(c.name) : std::string(c.name);
  const auto op = number_op(name, two ? Form::binary : Form::unary);
  const bool known = c.owner == "math" || c.owner == "builtins";
  if (!op || !known) return std::nullopt;
  return c.walk.number_operation(c.frame, *op, c.positional[0], two ? &c.positional[1] : nullptr,
                                 c.pops);
}

/// A function of values without effects: called for real, on arguments that guards determine.
bool pure(BuiltinCall& c) {
  if (const auto done = number_function(c)) return *done;
  for (Operand operand : c.positional) {
    if (!c.walk.consume(operand)) return false;
  }
  for (auto& [name, operand] : c.keywords) {
    if (!c.walk.consume(operand)) return false;
  }
  return c.walk.gives_constant(c.frame, c.pops);
}

/// What is the same wherever ops run plainly (python/torch_state.h), or is guarded by every graph.
bool plain_state(BuiltinCall& c) { return c.walk.gives_constant(c.frame, c.pops); }

/// A setting of torch: guarded by asking for it again.
bool setting(BuiltinCall& c) {
  if (!c.positional.empty()) return refuse(c);
  return c.walk.guard_setting(c.name) && c.walk.gives_constant(c.frame, c.pops);
}

/// What raises without a usable CUDA driver does so as long as the process lives.
bool stream_capture(BuiltinCall& c) {
  if (!c.positional.empty()) return refuse(c);
  const bool answers = c.walk.guard_setting(c.name);
  return (answers || c.walk.is_handled(c.frame)) && c.walk.gives_constant(c.frame, c.pops);
}

bool length(BuiltinCall& c) {
  Operand of = c.positional[0];
  if (c.walk.is_tensor(of.object)) {
    return c.walk.tensor_length(c.frame, of, c.pops);
  }
  if (const Shadow length = c.walk.followed_length(of); length.is(Shadow::Kind::sourced)) {
    return c.walk.gives(c.frame, c.pops, length);
  }
  if (PyList_CheckExact(of.object) || PyTuple_Check(of.object)) {
    c.walk.items(of);
    return c.walk.gives_constant(c.frame, c.pops);
  }
  if (has_dict_slot(of.object, "__len__") || PyAnySet_CheckExact(of.object)) {
    return c.walk.guard_size(of) && c.walk.gives_constant(c.frame, c.pops);
  }
  if (Py_TYPE(of.object) == &PyDictProxy_Type && of.shadow.is(Shadow::Kind::fresh)) {
    return c.walk.gives_constant(c.frame, c.pops);
  }
  bool known = false;
  if (c.walk.call_special(c.frame, of, "__len__", {}, c.pops, known)) return true;
  if (known) return false;
  return pure(c);
}

bool is_instance(BuiltinCall& c) {
  if (c.positional.size() != 2 || !c.walk.consume_type(c.positional[0])) return false;
  return c.walk.consume(c.positional[1]) && c.walk.gives_constant(c.frame, c.pops);
}

/// getattr, hasattr and object.__getattribute__: what LOAD_ATTR does, and what happens without.
bool get_attribute(BuiltinCall& c) {
  if (c.positional.size() < 2 || !c.walk.consume(c.positional[1])) return refuse(c);
  const Operand self = c.positional[0];
  PyObject* name = c.positional[1].object;
  AttributeUse use{.pops = c.pops, .test = c.name == "hasattr"};
  if (c.positional.size() > 2) {
    use.has_fallback = true;
    use.fallback = c.positional[2].shadow;
  }
  if (c.walk.is_tensor(self.object)) {
    if (!use.test) return c.walk.broke(Code::PS0306, "getattr of a tensor");
    return c.walk.consume_tensor_type(self) && c.walk.gives_constant(c.frame, c.pops);
  }
  if (c.name != "__getattribute__") return c.walk.load_attribute(c.frame, self, name, use);
  use.generic = true;
  return c.walk.consume_type(self) && c.walk.load_generic_attribute(c.frame, self, name, use);
}

/// setattr, delattr, object.__setattr__ and object.__delattr__.
bool set_attribute(BuiltinCall& c) {
  const bool sets = c.name == "setattr" || c.name == "__setattr__";
  if (c.positional.size() != (sets ? 3 : 2) || !c.walk.consume(c.positional[1])) return refuse(c);
  const Operand value = sets ? c.positional[2] : Operand{};
  PyObject* name = c.positional[1].object;
  if (c.name.starts_with("__")) {
    return c.walk.store_generic_attribute(c.frame, c.positional[0], name, value, c.pops, true);
  }
  return c.walk.store_attribute(c.frame, c.positional[0], name, value, c.pops, true);
}

bool call_iter(BuiltinCall& c) {
  if (c.positional.size() != 1) return refuse(c);
  if (ObjectShadow* known = c.walk.find(c.positional[0].object);
      known != nullptr && (known->iterator != nullptr || known->generator != nullptr)) {
    return c.walk.gives(c.frame, c.pops, c.positional[0].shadow);
  }
  if (auto over = c.walk.iteration_of(c.positional[0])) {
    return c.walk.gives_iterator(c.frame, c.pops, std::move(over));
  }
  bool known = false;
  if (c.walk.call_special(c.frame, c.positional[0], "__iter__", {}, c.pops, known)) return true;
  return known ? false : c.walk.not_iterable(c.positional[0]);
}

bool call_next(BuiltinCall& c) {
  ObjectShadow* known = c.walk.find(c.positional[0].object);
  if (known == nullptr || (known->iterator == nullptr && known->generator == nullptr)) {
    return refuse(c);
  }
  if (known->iterator == nullptr) {
    c.frame.expected.generator = c.positional[0].object;
  } else {
    c.frame.expected.generator = c.walk.generator_in(*known->iterator);
  }
  PyObject* iterator = c.positional[0].object;
  PyObject* fallback = c.positional.size() > 1 ? c.positional[1].object : nullptr;
  const Shadow fallback_shadow = fallback ? c.positional[1].shadow : Shadow::constant();
  c.frame.finish = [=, pops = c.pops](Walk& walk, FrameShadow& f) {
    const Shadow yielded = f.expected.result;
    f.pop(pops);
    ObjectShadow* known = walk.find(iterator);
    if (fallback != nullptr && f.object() == fallback) {
      f.push(fallback_shadow);
    } else {
      f.push(known->iterator ? walk.advance(*known->iterator, f.object()) : yielded);
    }
  };
  return true;
}

/// any, all, sum, min, max, sorted: of values that guards determine.
bool reduce(BuiltinCall& c) {
  Operand over = c.positional[0];
  if (c.positional.size() > 1 || PyGen_CheckExact(over.object)) {
    if (c.positional.size() > 1 && !PyGen_CheckExact(over.object)) return pure(c);
    return c.walk.reduces_generator(c.frame, over, c.pops);
  }
  if (PyList_CheckExact(over.object) || PyTuple_Check(over.object)) {
    const std::vector<Shadow> all = c.walk.items(over);
    for (std::size_t i = 0; i < all.size(); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(over.object, static_cast<Py_ssize_t>(i));
      if (c.name == "any" || c.name == "all") {
        if (!c.walk.consume_truth({all[i], item})) return false;
      } else if (!c.walk.consume({all[i], item})) {
        return false;
      }
    }
    if (!c.keywords.empty() && c.name != "sum") return refuse(c);
    return c.walk.gives_constant(c.frame, c.pops);
  }
  return pure(c);
}

/// What the program does to the world is never put off behind a graph.
bool output(BuiltinCall& c) {
  return c.walk.broke(Code::PS0307, std::string(c.name) + " reads or writes outside the program", true);
}

bool identity_known(BuiltinCall& c) {
  return c.walk.consume_type(c.positional[0]) && c.walk.gives_constant(c.frame, c.pops);
}

/// object.__new__(cls) and dict.__new__(cls), by way of super(); tuple.__new__(cls, items).
bool make_object(BuiltinCall& c) {
  if (!PyType_Check(c.positional[0].object) || !c.walk.consume(c.positional[0])) return refuse(c);
  auto* type = reinterpret_cast<PyTypeObject*>(c.positional[0].object);
  if (PyType_IsSubtype(type, &PyTuple_Type)) {
    if (c.positional.size() != 2) return refuse(c);
    const Operand from = c.positional[1];
    if (!PyTuple_CheckExact(from.object) && !PyList_CheckExact(from.object)) return refuse(c);
    return c.walk.gives_fresh(c.frame, c.pops, c.walk.items(from));
  }
  const bool dict = PyType_IsSubtype(type, &PyDict_Type);
  if (!dict && !(PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && type->tp_base != nullptr)) return refuse(c);
  return c.walk.gives_fresh(c.frame, c.pops, {});
}

/// object.__init__ of an object alone does nothing.
bool initialize_nothing(BuiltinCall& c) {
  if (c.positional.size() != 1 || !c.keywords.empty()) return refuse(c);
  return c.walk.gives_constant(c.frame, c.pops);
}

bool context_variable(BuiltinCall& c) {
  const Operand variable = c.positional[0];
  if (!c.keywords.empty() || !c.walk.consume_identity(variable)) return refuse(c);
  if (c.name == "get" && c.positional.size() <= 2) return c.walk.get_context(c.frame, variable, c.pops);
  if (c.positional.size() != 2) return refuse(c);
  return c.name == "set" ? c.walk.set_context(c.frame, variable, c.positional[1], c.pops)
                         : c.walk.reset_context(c.frame, variable, c.positional[1], c.pops);
}

/// Gradient mode is put back before most segments end; one that ends with another mode than it
/// started with is not used.
bool set_grad_mode(BuiltinCall& c) {
  if (!c.walk.consume(c.positional[0])) return false;
  const int enabled = PyObject_IsTrue(c.positional[0].object);
  if (enabled < 0) PyErr_Clear();
  return c.walk.sets_grad_mode(enabled == 1) && c.walk.gives_constant(c.frame, c.pops);
}

// -- list --------------------------------------------------------------------------------------------

bool list_append(BuiltinCall& c) {
  Operand list = c.positional[0], item = c.positional[1];
  const ObjectId id = c.walk.contents(list);
  if (!list.shadow.is(Shadow::Kind::fresh)) {
    c.walk.consume_type(list);
    c.walk.effect(Restore::Kind::append, list, {}, {}, item);
  }
  ObjectShadow& known = c.walk.object(id);
  known.items.push_back(item.shadow);
  return c.walk.gives_constant(c.frame, c.pops);
}

bool list_extend(BuiltinCall& c) {
  Operand list = c.positional[0], more = c.positional[1];
  if (!PyList_CheckExact(more.object) && !PyTuple_CheckExact(more.object)) return refuse(c);
  const std::vector<Shadow> items = c.walk.items(more);
  const ObjectId id = c.walk.contents(list);
  if (!list.shadow.is(Shadow::Kind::fresh)) {
    c.walk.consume_type(list);
    c.walk.effect(Restore::Kind::extend, list, {}, {}, more);
  }
  ObjectShadow& known = c.walk.object(id);
  known.items.insert(known.items.end(), items.begin(), items.end());
  return c.walk.gives_constant(c.frame, c.pops);
}

bool list_insert(BuiltinCall& c) {
  Operand list = c.positional[0], at = c.positional[1], item = c.positional[2];
  if (!c.walk.consume(at)) return false;
  c.walk.items(list);
  ObjectShadow& known = c.walk.object(c.walk.contents(list));
  const auto size = static_cast<Py_ssize_t>(known.items.size());
  Py_ssize_t index = PyNumber_AsSsize_t(at.object, nullptr);
  index = std::clamp(index < 0 ? index + size : index, Py_ssize_t{0}, size);
  if (!list.shadow.is(Shadow::Kind::fresh)) {
    c.walk.effect(Restore::Kind::insert, list, {}, at, item);
  }
  known.items.insert(known.items.begin() + index, item.shadow);
  return c.walk.gives_constant(c.frame, c.pops);
}

bool list_pop(BuiltinCall& c) {
  Operand list = c.positional[0];
  c.walk.items(list);
  ObjectShadow& known = c.walk.object(c.walk.contents(list));
  const auto size = static_cast<Py_ssize_t>(known.items.size());
  Py_ssize_t index = size - 1;
  if (c.positional.size() > 1) {
    if (!c.walk.consume(c.positional[1])) return false;
    index = PyNumber_AsSsize_t(c.positional[1].object, nullptr);
    if (index < 0) index += size;
  }
  if (index < 0 || index >= size) return c.walk.gives_constant(c.frame, c.pops);  // IndexError
  if (!list.shadow.is(Shadow::Kind::fresh)) {
    Operand key;
    if (c.positional.size() > 1) key = c.positional[1];
    c.walk.effect(Restore::Kind::pop, list, {}, key, {});
  }
  const Shadow item = known.items[index];
  known.items.erase(known.items.begin() + index);
  return c.walk.gives(c.frame, c.pops, item);
}

bool copy_sequence(BuiltinCall& c) {
  return c.walk.gives_fresh(c.frame, c.pops, c.walk.items(c.positional[0]));
}

// -- dict --------------------------------------------------------------------------------------------

bool dict_get(BuiltinCall& c) {
  Operand dict = c.positional[0], key = c.positional[1];
  if (!c.walk.consume(key) || !c.walk.consume_type(dict)) return false;
  PyObject* value = PyDict_GetItemWithError(dict.object, key.object);
  PyErr_Clear();
  const Shadow found = c.walk.dict_value(c.walk.contents(dict), key.object, value);
  if (value != nullptr) return c.walk.gives(c.frame, c.pops, found);
  return c.walk.gives(c.frame, c.pops,
                      c.positional.size() > 2 ? c.positional[2].shadow : Shadow::constant());
}

bool dict_view(BuiltinCall& c) {
  Operand dict = c.positional[0];
  if (!c.walk.consume_type(dict) || !c.walk.consume_keys(dict)) return false;
  auto over = std::make_unique<IteratorShadow>();
  over->kind = c.name == "items"    ? IteratorShadow::Kind::pairs
               : c.name == "values" ? IteratorShadow::Kind::values
                                    : IteratorShadow::Kind::keys;
  over->shadow = dict.shadow;
  over->object = PyRef::borrow(dict.object);
  over->key_list = keys_in_order(dict.object);
  return c.walk.gives_iterator(c.frame, c.pops, std::move(over));
}

bool dict_pop(BuiltinCall& c) {
  Operand dict = c.positional[0], key = c.positional[1];
  if (!c.walk.consume(key) || !c.walk.consume_type(dict)) return false;
  PyObject* value = PyDict_GetItemWithError(dict.object, key.object);
  PyErr_Clear();
  const ObjectId id = c.walk.contents(dict);
  const Shadow found = c.walk.dict_value(id, key.object, value);
  if (value == nullptr) {
    return c.walk.gives(c.frame, c.pops,
                        c.positional.size() > 2 ? c.positional[2].shadow : Shadow::constant());
  }
  if (!dict.shadow.is(Shadow::Kind::fresh)) {
    c.walk.effect(Restore::Kind::delete_item, dict, {}, key, {});
  }
  c.walk.dict_store(id, key.object, Shadow::null());
  return c.walk.gives(c.frame, c.pops, found);
}

bool dict_set_default(BuiltinCall& c) {
  Operand dict = c.positional[0], key = c.positional[1];
  if (!c.walk.consume(key) || !c.walk.consume_type(dict)) return false;
  PyObject* value = PyDict_GetItemWithError(dict.object, key.object);
  PyErr_Clear();
  const ObjectId id = c.walk.contents(dict);
  const Shadow found = c.walk.dict_value(id, key.object, value);
  if (value != nullptr) return c.walk.gives(c.frame, c.pops, found);
  Operand given{Shadow::constant(), Py_None};
  if (c.positional.size() > 2) given = c.positional[2];
  if (!dict.shadow.is(Shadow::Kind::fresh)) {
    c.walk.effect(Restore::Kind::set_item, dict, {}, key, given);
  }
  c.walk.dict_store(id, key.object, given.shadow);
  return c.walk.gives(c.frame, c.pops, given.shadow);
}

/// What OrderedDict.update() and __init__() store goes through the class's own __setitem__.
bool stores_itself(Operand dict) {
  return PyODict_Check(dict.object) && !has_dict_slot(dict.object, "__setitem__");
}

/// dict.update and dict.__init__.
bool dict_update(BuiltinCall& c) {
  Operand dict = c.positional[0];
  const bool empty = c.positional.size() == 1 && c.keywords.empty();
  if (c.positional.size() > 2 || !c.walk.consume_type(dict) || (!empty && stores_itself(dict))) return refuse(c);
  const ObjectId id = c.walk.contents(dict);
  if (c.positional.size() > 1) {
    Operand more = c.positional[1];
    if (!PyDict_CheckExact(more.object) || !c.walk.consume_keys(more)) return refuse(c);
    if (!dict.shadow.is(Shadow::Kind::fresh)) {
      c.walk.effect(Restore::Kind::update, dict, {}, {}, more);
    }
    c.walk.copy_items(id, more);
  }
  for (auto& [name, value] : c.keywords) {
    const Operand key{Shadow::constant(), name};
    if (!dict.shadow.is(Shadow::Kind::fresh)) {
      c.walk.effect(Restore::Kind::set_item, dict, {}, key, value);
    }
    c.walk.dict_store(id, name, value.shadow);
  }
  return c.walk.gives_constant(c.frame, c.pops);
}

bool dict_copy(BuiltinCall& c) {
  Operand dict = c.positional[0];
  if (!PyDict_CheckExact(dict.object) && !PyODict_CheckExact(dict.object)) return refuse(c);
  if (!c.walk.consume_type(dict) || !c.walk.consume_keys(dict)) return false;
  return c.walk.gives_dict(c.frame, c.pops, c.walk.all_pairs(dict));
}

/// The slots of dict, called by name.
bool dict_slot(BuiltinCall& c) {
  const Operand dict = c.positional[0];
  const std::size_t count = c.positional.size();
  if (!c.keywords.empty()) return refuse(c);
  if (c.name == "__getitem__" && count == 2) return c.walk.dict_get_item(c.frame, dict, c.positional[1], c.pops);
  if (c.name == "__contains__" && count == 2) return c.walk.dict_contains(c.frame, dict, c.positional[1], c.pops);
  if (c.name == "__delitem__" && count == 2) {
    return c.walk.dict_delete_item(c.frame, dict, c.positional[1], c.pops, true);
  }
  if (c.name == "__setitem__" && count == 3) {
    return c.walk.dict_set_item(c.frame, dict, c.positional[1], c.positional[2], c.pops, true);
  }
  if (c.name == "__len__" && count == 1) {
    return c.walk.consume_type(dict) && c.walk.guard_size(dict) && c.walk.gives_constant(c.frame, c.pops);
  }
  if (c.name != "__iter__" || count != 1 || !c.walk.consume_type(dict) || !c.walk.consume_keys(dict)) {
    return refuse(c);
  }
  auto over = std::make_unique<IteratorShadow>();
  over->kind = IteratorShadow::Kind::keys;
  over->shadow = dict.shadow;
  over->object = PyRef::borrow(dict.object);
  over->key_list = keys_in_order(dict.object);
  return c.walk.gives_iterator(c.frame, c.pops, std::move(over));
}

bool dict_clear(BuiltinCall& c) {
  const Operand dict = c.positional[0];
  if (!c.walk.consume_type(dict) || !c.walk.consume_keys(dict)) return false;
  if (!dict.shadow.is(Shadow::Kind::fresh)) c.walk.effect(Restore::Kind::clear, dict, {}, {}, {});
  const ObjectId id = c.walk.contents(dict);
  for (const auto& [key, value] : c.walk.all_pairs(dict)) c.walk.dict_store(id, key.get(), Shadow::null());
  return c.walk.gives_constant(c.frame, c.pops);
}

/// dict.popitem: the last one.
bool dict_pop_item(BuiltinCall& c) {
  const Operand dict = c.positional[0];
  if (c.positional.size() != 1 || !c.keywords.empty() || !c.walk.consume_type(dict) ||
      !c.walk.consume_keys(dict)) {
    return refuse(c);
  }
  PyRef keys = keys_in_order(dict.object);
  const Py_ssize_t count = keys ? PyList_GET_SIZE(keys.get()) : 0;
  if (count == 0) return c.walk.gives_constant(c.frame, c.pops);  // KeyError
  const Operand key{Shadow::constant(), PyList_GET_ITEM(keys.get(), count - 1)};
  const ObjectId id = c.walk.contents(dict);
  const Shadow value = c.walk.dict_value(id, key.object, PyDict_GetItemWithError(dict.object, key.object));
  if (!dict.shadow.is(Shadow::Kind::fresh)) c.walk.effect(Restore::Kind::delete_item, dict, {}, key, {});
  c.walk.dict_store(id, key.object, Shadow::null());
  return c.walk.gives_fresh(c.frame, c.pops, {Shadow::constant(), value});
}

/// set.add and its like on a set of constants; a set that was made here may hold known objects.
bool set_change(BuiltinCall& c) {
  Operand set = c.positional[0];
  if (c.positional.size() != 2) return refuse(c);
  const bool fresh = set.shadow.is(Shadow::Kind::fresh);
  if (!(fresh ? c.walk.consume_hashed(c.positional[1]) : c.walk.consume(c.positional[1]))) return refuse(c);
  if (!fresh) {
    c.walk.effect(c.name == "add" ? Restore::Kind::add : Restore::Kind::remove, set, {}, {},
                  c.positional[1]);
  }
  return c.walk.gives_constant(c.frame, c.pops);
}

constexpr BuiltinRow kRows[] = {
    {"builtins", "len", length, 1, 1},
    {"builtins", "isinstance issubclass", is_instance, 2, 2},
    {"builtins", "getattr", get_attribute, 2, 3},
    {"builtins", "hasattr", get_attribute, 2, 2},
    {"builtins", "setattr delattr", set_attribute},
    {"builtins", "iter", call_iter},
    {"builtins", "next", call_next, 1, 2},
    {"builtins", "any all sum min max sorted", reduce},
    {"builtins", "abs round divmod pow ord chr repr format ascii bin hex oct hash", pure},
    {"builtins", "callable id", identity_known, 1, 1},
    {"builtins", "print open input", output},
    {"math", "*", pure},
    {"_operator", "index add sub mul truediv floordiv mod neg", pure},
    {"str", "*", pure},
    {"int", "*", pure},
    {"float", "*", pure},
    {"bytes", "*", pure},
    {"tuple", "index count", pure},
    {"torch.Size", "numel index count", pure},
    {"list", "append", list_append, 2, 2},
    {"list", "extend", list_extend, 2, 2},
    {"list", "insert", list_insert, 3, 3},
    {"list", "pop", list_pop, 1, 2},
    {"list", "copy", copy_sequence, 1, 1},
    {"list", "index count", pure},
    {"dict", "get", dict_get, 2, 3},
    {"dict", "keys values items", dict_view, 1, 1},
    {"dict", "pop", dict_pop, 2, 3},
    {"dict", "popitem", dict_pop_item},
    {"dict", "setdefault", dict_set_default, 2, 3},
    {"dict", "update __init__", dict_update},
    {"dict", "copy", dict_copy, 1, 1},
    {"dict", "clear", dict_clear, 1, 1},
    {"dict", "__getitem__ __setitem__ __delitem__ __contains__ __len__ __iter__", dict_slot},
    {"collections.OrderedDict", "get", dict_get, 2, 3},
    {"collections.OrderedDict", "keys values items", dict_view, 1, 1},
    {"collections.OrderedDict", "pop", dict_pop, 2, 3},
    {"collections.OrderedDict", "popitem", dict_pop_item},
    {"collections.OrderedDict", "setdefault", dict_set_default, 2, 3},
    {"collections.OrderedDict", "update __init__", dict_update},
    {"collections.OrderedDict", "clear", dict_clear, 1, 1},
    {"collections.OrderedDict", "__getitem__ __setitem__ __delitem__ __contains__ __len__ __iter__", dict_slot},
    {"_contextvars.ContextVar", "get set reset", context_variable},
    {"set", "add discard remove", set_change, 2, 2},
    {"object", "__setattr__ __delattr__", set_attribute},
    {"object", "__init__", initialize_nothing},
    {"type", "__new__", make_object},
    {"torch._C", "_set_grad_enabled", set_grad_mode, 1, 1},
    {"object", "__getattribute__", get_attribute, 2, 2},
    {"torch._C", "_has_torch_function _has_torch_function_unary _has_torch_function_variadic "
                 "is_grad_enabled _is_tracing _get_tracing_state _is_torch_function_enabled "
                 "_get_privateuse1_backend_name _len_torch_function_stack "
                 "is_autocast_enabled is_autocast_cpu_enabled _is_torch_function_mode_enabled",
     plain_state},
    {"torch._C", "is_inference_mode_enabled is_anomaly_enabled _get_deterministic_algorithms "
                 "_get_cudnn_enabled _get_mkldnn_enabled _get_flash_sdp_enabled "
                 "_get_math_sdp_enabled _get_mem_efficient_sdp_enabled get_default_dtype",
     setting},
    {"torch._C", "_cuda_isCurrentStreamCapturing", stream_capture},
};

std::string_view owner_of(PyObject* function) {
  if (Py_TYPE(function) == &PyMethodDescr_Type || Py_TYPE(function) == &PyWrapperDescr_Type ||
      Py_TYPE(function) == &PyClassMethodDescr_Type) {
    return reinterpret_cast<PyDescrObject*>(function)->d_type->tp_name;
  }
  if (Py_TYPE(function) == &_PyMethodWrapper_Type) {
    PyRef owner = PyRef::steal(PyObject_GetAttrString(function, "__objclass__"));
    if (owner && PyType_Check(owner.get())) return reinterpret_cast<PyTypeObject*>(owner.get())->tp_name;
    PyErr_Clear();
    return {};
  }
  auto* c = reinterpret_cast<PyCFunctionObject*>(function);
  if (c->m_self == nullptr) return {};
  if (PyModule_Check(c->m_self)) return PyModule_GetName(c->m_self);
  // pybind11's functions hold a record of theirs where others hold the module.
  if (c->m_module != nullptr && PyUnicode_Check(c->m_module)) return PyUnicode_AsUTF8(c->m_module);
  // A method is named by the class in which it stands, not by the subclass that it was bound to.
  PyObject* order = Py_TYPE(c->m_self)->tp_mro;
  for (Py_ssize_t i = 0; order != nullptr && i < PyTuple_GET_SIZE(order); ++i) {
    auto* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, i));
    PyObject* own = type->tp_dict == nullptr ? nullptr : PyDict_GetItemString(type->tp_dict, c->m_ml->ml_name);
    const bool found = own != nullptr && Py_TYPE(own) == &PyMethodDescr_Type &&
                       reinterpret_cast<PyMethodDescrObject*>(own)->d_method == c->m_ml;
    if (found) return type->tp_name;
  }
  return Py_TYPE(c->m_self)->tp_name;
}

const BuiltinRow* find_row(std::string_view owner, std::string_view name) {
  for (const BuiltinRow& row : kRows) {
    if (row.owner == owner && (row.names == "*" || is_word(row.names, name))) return &row;
  }
  return nullptr;
}

}  // namespace

bool Walk::call_builtin(FrameShadow& f, Operand function, std::vector<Operand> positional,
                        Keywords keywords, int pops, bool& known) {
  PyObject* object = function.object;
  if (auto done = call_torch(f, function, positional, keywords, pops)) {
    known = true;
    return *done;
  }
  std::string name;
  if (PyCFunction_Check(object)) {
    auto* c = reinterpret_cast<PyCFunctionObject*>(object);
    name = c->m_ml->ml_name;
    // A bound method of a builtin type: "[].append" as one object.
    const bool bound = c->m_self != nullptr && c->m_module == nullptr &&
                       !PyModule_Check(c->m_self) && !PyType_Check(c->m_self);
    if (bound) {
      Operand self{Shadow::constant(), c->m_self};
      if (function.shadow.is(Shadow::Kind::fresh)) {
        self.shadow = this->object(function.shadow.index).items[1];
      } else if (function.shadow.source() != kNoSource) {
        self.shadow = Shadow::sourced(recorder_.source(SourceKind::self, function.shadow.source()));
      }
      positional.insert(positional.begin(), self);
    }
  } else if (Py_TYPE(object) == &_PyMethodWrapper_Type) {
    PyRef text = PyRef::steal(PyObject_GetAttrString(object, "__name__"));
    PyRef self = PyRef::steal(PyObject_GetAttrString(object, "__self__"));
    name = text_of(text.get());
    Shadow shadow = Shadow::constant();
    if (function.shadow.is(Shadow::Kind::fresh)) {
      shadow = this->object(function.shadow.index).items[1];
    }
    positional.insert(positional.begin(), {shadow, self.get()});
  } else {
    name = text_of(reinterpret_cast<PyDescrObject*>(object)->d_name);
  }
  const BuiltinRow* row = find_row(owner_of(object), name);
  if (row == nullptr) return false;
  const bool of_nothing = row->rule == pure || row->rule == plain_state || row->rule == setting ||
                          row->rule == output || row->rule == stream_capture;
  const bool too_few = positional.size() < row->least && !of_nothing;
  const bool too_many = row->most != kAny && (positional.size() > row->most || !keywords.empty());
  if (too_few || too_many) return false;
  known = true;
  if (!consume_identity(function)) return false;
  BuiltinCall call{*this, f, owner_of(object), name, positional, keywords, pops};
  return row->rule(call);
}

}  // namespace penstock::capture
