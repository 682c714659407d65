// Rules of operators, subscripts, and of instructions that build containers.

#include "python/literal.h"
#include "python/numpy_scalar.h"
#include "python/type_lookup.h"
#include "python/type_union.h"
#include "record/objects/asked_methods.h"
#include "record/objects/call.h"
#include "record/objects/container.h"
#include "record/objects/exception.h"
#include "record/objects/iteration.h"
#include "record/objects/number.h"
#include "record/objects/torch_tensor.h"
#include "record/objects/truth.h"
#include "record/results.h"
#include "record/rules/rules.h"

namespace penstock::record {

using python::Instruction;
using python::Opcode;
using python::PyRef;

namespace {

#define PS_RULE(name) bool name(Walk& walk, FrameShadow& f, const Instruction& i)
#pragma GCC diagnostic ignored "-Wunused-parameter"

// -- binary operators

/// By BINARY_OP's argument; 13 to 25 are the same in place.
constexpr OperatorName kOperators[] = {{"__add__", "__radd__", "__iadd__"},
                                       {"__and__", "__rand__", "__iand__"},
                                       {"__floordiv__", "__rfloordiv__", "__ifloordiv__"},
                                       {"__lshift__", "__rlshift__", "__ilshift__"},
                                       {"__matmul__", "__rmatmul__", "__imatmul__"},
                                       {"__mul__", "__rmul__", "__imul__"},
                                       {"__mod__", "__rmod__", "__imod__"},
                                       {"__or__", "__ror__", "__ior__"},
                                       {"__pow__", "__rpow__", "__ipow__"},
                                       {"__rshift__", "__rrshift__", "__irshift__"},
                                       {"__sub__", "__rsub__", "__isub__"},
                                       {"__truediv__", "__rtruediv__", "__itruediv__"},
                                       {"__xor__", "__rxor__", "__ixor__"}};
constexpr int kInPlace = 13;

std::optional<NumberOp> number_operator(int operation) {
  switch (operation) {
    case 0:
      return NumberOp::add;
    case 1:
      return NumberOp::bit_and;
    case 2:
      return NumberOp::floordiv;
    case 3:
      return NumberOp::shift_left;
    case 5:
      return NumberOp::multiply;
    case 6:
      return NumberOp::modulo;
    case 7:
      return NumberOp::bit_or;
    case 8:
      return NumberOp::power;
    case 9:
      return NumberOp::shift_right;
    case 10:
      return NumberOp::subtract;
    case 11:
      return NumberOp::divide;
    case 12:
      return NumberOp::bit_xor;
    default:
      return std::nullopt;
  }
}

bool concatenate(Walk& walk, FrameShadow& f, bool in_place) {
  Operand left = f.operand(1), right = f.operand();
  std::vector<Shadow> all = walk.objects.items(left);
  const std::vector<Shadow> more = walk.objects.items(right);
  all.insert(all.end(), more.begin(), more.end());
  if (!in_place || PyTuple_Check(left.object)) return gives_fresh(f, 2, std::move(all));
  if (!left.shadow.is(Shadow::Kind::fresh)) {
    walk.effects.add(Restore::Kind::extend, left, {}, {}, right);
  }
  const ObjectId id = walk.objects.contents(left);
  const Shadow kept = left.shadow;
  f.finish = [id, kept, all = std::move(all)](Walk& walk, FrameShadow& f) {
    walk.objects.object(id).items = all;
    f.pop(2);
    f.push(kept);
  };
  return true;
}

bool repeats(PyObject* sequence, PyObject* count) {
  return (PyList_CheckExact(sequence) || PyTuple_CheckExact(sequence)) && PyLong_CheckExact(count);
}

/// How often is CPython's to say: what is too long raises.
bool repeat(Walk& walk, FrameShadow& f, Operand sequence, Operand count, bool in_place) {
  if (!walk.facts.consume(count)) return false;
  const std::vector<Shadow> once = walk.objects.items(sequence);
  if (in_place && PyList_CheckExact(sequence.object)) {
    return walk.verdict.broke(Code::PS0303, "a list is repeated in place");
  }
  f.finish = [once](Walk& walk, FrameShadow& f) {
    f.pop(2);
    std::vector<Shadow> all(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(f.object())));
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = once[k % once.size()];
    f.push(walk.objects.fresh(f.object(), std::move(all)));
  };
  return true;
}

/// A dict of what both have: the right one's values, at the left one's places.
bool unite(Walk& walk, FrameShadow& f, Operand left, Operand right) {
  std::vector<std::pair<PyRef, Shadow>> pairs;
  for (const Operand& dict : {left, right}) {
    if (!walk.facts.consume_type(dict) || !walk.objects.consume_keys(dict)) return false;
    for (auto& pair : all_pairs(walk, dict)) pairs.push_back(std::move(pair));
  }
  return gives_dict(f, 2, std::move(pairs));
}

/// A part of "int | None": what type.__or__ takes, by which no class of the program's is asked. The
/// class of a class may have another: those of ABCs and of torch.Tensor have not.
bool is_of_union(PyObject* object) {
  const PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
  const bool is_class = PyType_Check(object) && methods != nullptr &&
                        methods->nb_or == PyType_Type.tp_as_number->nb_or;
  return object == Py_None || is_class || python::is_union_type(Py_TYPE(object)) ||
         Py_TYPE(object) == &Py_GenericAliasType;
}

/// `left | right` of such: one union that guards determine.
bool join_types(Walk& walk, FrameShadow& f, Operand left, Operand right) {
  for (const Operand& part : {left, right}) {
    if (!walk.facts.consume(part)) return false;
    walk.facts.guard_type_version(part);
  }
  return gives_constant(f, 2);
}

/// Where the left operand is a number, which knows nothing of the right one's class: the method of
/// that is asked. Nothing: it has none in Python.
std::optional<bool> reflected(Walk& walk, FrameShadow& f, Operand left, Operand right,
                              int operation) {
  PyTypeObject* type = Py_TYPE(left.object);
  const bool number = type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type ||
                      type == &PyComplex_Type || left.object == Py_None;
  const bool of_number =
      PyLong_Check(right.object) || PyFloat_Check(right.object) || PyComplex_Check(right.object);
  // What is of the left operand's class, and more, is asked first: a flag.
  if (!number || (of_number && !PyType_IsSubtype(Py_TYPE(right.object), type))) return std::nullopt;
  walk.facts.consume_type(left);
  bool known = false;
  if (call_special(walk, f, right, kOperators[operation].reflected, {left}, 2, known)) return true;
  return known ? std::optional(false) : std::nullopt;
}

/// dict |= dict: what dict.update does, and the dict again.
bool unite_in_place(Walk& walk, FrameShadow& f, Operand left, Operand right) {
  if (!walk.facts.consume_type(left) || !walk.facts.consume_type(right) ||
      !walk.objects.consume_keys(right))
    return false;
  if (!left.shadow.is(Shadow::Kind::fresh))
    walk.effects.add(Restore::Kind::update, left, {}, {}, right);
  copy_items(walk, walk.objects.contents(left), right);
  return gives(f, 2, left.shadow);
}

/// A member of an enumeration of numbers or words.
bool is_enum_value(PyObject* object) {
  PyObject* meta = reinterpret_cast<PyObject*>(Py_TYPE(Py_TYPE(object)));
  return (PyLong_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object)) &&
         python::qualified_name(meta) == "enum.EnumType";
}

/// An operator of plain values and of members of enumerations whose classes leave it to the C code
/// of what they are of: a value that guards determine. Nothing for other operands.
std::optional<bool> operator_of_values(Walk& walk, FrameShadow& f, Operand left, Operand right,
                                       const OperatorName& names) {
  const auto is_value = [](PyObject* object, const char* method) {
    if (!is_enum_value(object)) return is_plain_value(object);
    PyObject* found = python::type_lookup(Py_TYPE(object), method);
    return found == nullptr || !PyFunction_Check(found);
  };
  if (!is_value(left.object, names.special) || !is_value(right.object, names.reflected))
    return std::nullopt;
  return walk.facts.consume(left) && walk.facts.consume(right) && gives_constant(f, 2);
}

/// An operator of two sets, which both are known: a new set, or the left one that it changes.
std::optional<bool> operator_of_sets(Walk& walk, FrameShadow& f, Operand left, Operand right,
                                     bool in_place) {
  if (!PyAnySet_CheckExact(left.object) || !PyAnySet_CheckExact(right.object)) return std::nullopt;
  const bool writes = in_place && PySet_CheckExact(left.object);
  if (writes && !left.shadow.is(Shadow::Kind::fresh)) return std::nullopt;
  if (!walk.facts.consume(left) || !walk.facts.consume(right)) return false;
  return writes ? gives(f, 2, left.shadow) : gives_fresh(f, 2, {});
}

/// The keys that a view of a dict's keys, or a set that the segment made, has are known, and say
/// all: they are plain values.
bool knows_keys(Walk& walk, Operand operand) {
  if (PyAnySet_CheckExact(operand.object)) return operand.shadow.is(Shadow::Kind::fresh);
  const ObjectShadow* view =
      PyDictKeys_Check(operand.object) ? walk.objects.find(operand.object) : nullptr;
  if (view == nullptr || view->iterator == nullptr) return false;
  const Operand dict{view->iterator->shadow, view->iterator->object.get()};
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict.object, &at, &key, &value);) {
    if (!python::is_immutable_literal(key)) return false;
  }
  return walk.objects.consume_keys(dict);
}

/// What sets do with the keys of dicts: &, |, - and ^ give a new set.
bool operation_of_keys(Walk& walk, Operand left, Operand right) {
  const bool of_views = PyDictKeys_Check(left.object) || PyDictKeys_Check(right.object);
  return of_views && knows_keys(walk, left) && knows_keys(walk, right);
}

PS_RULE(binary_op) {
  Operand left = f.operand(1), right = f.operand();
  if (walk.is_tensor(left.object) || walk.is_tensor(right.object)) {
    return binary_tensor(walk, f, i.argument);
  }
  const bool in_place = i.argument >= kInPlace;
  const int operation = in_place ? i.argument - kInPlace : i.argument;
  auto tuple = [](PyObject* o) { return PyTuple_CheckExact(o) || python::is_torch_size(o); };
  const bool lists = PyList_CheckExact(left.object) && PyList_CheckExact(right.object);
  if (operation == 0 && (lists || (tuple(left.object) && tuple(right.object)))) {
    return concatenate(walk, f, in_place);
  }
  if (const auto op = number_operator(operation)) {
    if (const auto done = number_operation(walk, f, *op, left, &right, 2)) return *done;
  }
  if (is_plain_value(left.object) && is_plain_value(right.object)) {
    if (!walk.facts.consume(left) || !walk.facts.consume(right)) return false;
    return gives_constant(f, 2);
  }
  if (operation == 7 && PyDict_CheckExact(left.object) && PyDict_CheckExact(right.object))
    return in_place ? unite_in_place(walk, f, left, right) : unite(walk, f, left, right);
  if (operation == 5 && repeats(left.object, right.object))
    return repeat(walk, f, left, right, in_place);
  if (operation == 5 && repeats(right.object, left.object))
    return repeat(walk, f, right, left, false);
  if (operation == 7 && is_of_union(left.object) && is_of_union(right.object))
    return join_types(walk, f, left, right);
  if (operation == 6 && PyUnicode_CheckExact(left.object) &&
      (PyDict_CheckExact(right.object) || PyTuple_CheckExact(right.object)))
    return walk.facts.consume(left) && walk.facts.consume(right) && gives_constant(f, 2);
  if (const auto done = operator_of_sets(walk, f, left, right, in_place)) return *done;
  if (const auto done = operator_of_values(walk, f, left, right, kOperators[operation]))
    return *done;
  if (!in_place && operation_of_keys(walk, left, right)) return gives_fresh(f, 2, {});
  bool known = false;
  if (ask_operator(walk, f, kOperators[operation], in_place, known)) return true;
  if (known) return false;
  if (const auto done = reflected(walk, f, left, right, operation)) return *done;
  return walk.verdict.broke(Code::PS0303, std::string("operator of ") +
                                              Py_TYPE(left.object)->tp_name + " and " +
                                              Py_TYPE(right.object)->tp_name + " is not followed");
}

/// The truth of what is on top of the stack, or its opposite.
PS_RULE(truth) {
  if (truth_method(f.object()) != nullptr && !walk.is_tensor(f.object()))
    return asks_truth(walk, f, f.operand(), 1);
  if (!walk.facts.consume_truth(f.operand())) return false;
  return gives_constant(f, 1);
}

template <int which>
PS_RULE(unary) {
  struct Row {
    const char *name, *special, *op;
  };
  static constexpr Row kRows[] = {{"pos", "__pos__", "positive"},
                                  {"neg", "__neg__", "neg"},
                                  {"invert", "__invert__", "bitwise_not"}};
  Operand operand = f.operand();
  if (walk.is_tensor(operand.object)) {
    return unary_tensor(walk, f, kRows[which].name, kRows[which].op);
  }
  if (!is_plain_value(operand.object)) {
    bool known = false;
    if (call_special(walk, f, operand, kRows[which].special, {}, 1, known)) return true;
    if (known) return false;
    if (is_enum_value(operand.object)) return walk.facts.consume(operand) && gives_constant(f, 1);
    return walk.verdict.broke(
        Code::PS0303,
        std::string("operator of ") + Py_TYPE(operand.object)->tp_name + " is not followed");
  }
  if (which != 0) {
    const NumberOp op = which == 1 ? NumberOp::negative : NumberOp::invert;
    if (const auto done = number_operation(walk, f, op, operand, nullptr, 1)) return *done;
  }
  if (which == 0 && walk.sizes.is_followed(operand)) return true;  // as it is
  if (!walk.facts.consume(operand)) return false;
  return gives_constant(f, 1);
}

PS_RULE(contains_op) {
  return contains(walk, f, i.argument != 0);
}
PS_RULE(binary_subscr) {
  return load_subscript(walk, f, f.operand(1), f.operand(), 2);
}
PS_RULE(store_subscr) {
  return store_subscript(walk, f, f.operand(1), f.operand(), f.operand(2), 3);
}
PS_RULE(delete_subscr) {
  return delete_subscript(walk, f);
}

// -- containers

std::vector<Shadow> top_shadows(FrameShadow& f, int count) {
  return std::vector<Shadow>(f.stack.end() - count, f.stack.end());
}

PS_RULE(build_sequence) {
  return gives_fresh(f, i.argument, top_shadows(f, i.argument));
}

PS_RULE(build_slice) {
  std::vector<Shadow> parts = top_shadows(f, i.argument);
  if (i.argument == 2) parts.push_back(Shadow::constant());
  return gives_fresh(f, i.argument, std::move(parts));
}

/// Where the slice that an instruction makes by itself would lie.
Operand slice_of(Walk& walk, FrameShadow& f, PyRef& made) {
  made = PyRef::steal(PySlice_New(f.object(1), f.object(), nullptr));
  PyErr_Clear();
  if (!made) return {};
  return {walk.objects.fresh(made.get(), {f.top(1), f.top(), Shadow::constant()}), made.get()};
}
PS_RULE(binary_slice) {
  PyRef made;
  const Operand slice = slice_of(walk, f, made);
  return made && load_subscript(walk, f, f.operand(2), slice, 3);
}
PS_RULE(store_slice) {
  PyRef made;
  const Operand slice = slice_of(walk, f, made);
  return made && store_subscript(walk, f, f.operand(2), slice, f.operand(3), 4);
}

PS_RULE(build_set) {
  for (int k = 0; k < i.argument; ++k) {
    if (!walk.facts.consume_hashed(f.operand(k))) return false;
  }
  return gives_fresh(f, i.argument, {});
}

PS_RULE(build_map) {
  const int count = i.argument;
  for (int k = 0; k < count; ++k) {
    if (!walk.facts.consume_hashed(f.operand(2 * k + 1))) return false;
  }
  std::vector<std::pair<PyRef, Shadow>> pairs;
  for (int k = count - 1; k >= 0; --k) {
    pairs.emplace_back(PyRef::borrow(f.object(2 * k + 1)), f.top(2 * k));
  }
  return gives_dict(f, 2 * count, std::move(pairs));
}

PS_RULE(build_const_key_map) {
  const int count = i.argument;
  PyObject* keys = f.object(0);
  std::vector<std::pair<PyRef, Shadow>> pairs;
  for (int k = 0; k < count; ++k) {
    pairs.emplace_back(PyRef::borrow(PyTuple_GET_ITEM(keys, k)), f.top(count - k));
  }
  return gives_dict(f, count + 1, std::move(pairs));
}

PS_RULE(build_string) {
  for (int k = 0; k < i.argument; ++k) {
    if (!walk.facts.consume(f.operand(k))) return false;
  }
  return gives_constant(f, i.argument);
}

/// An exception is printed by its message, unless it is asked for its repr.
bool formats_as_text(Walk& walk, Operand exception, const Instruction& i) {
  constexpr int kConversion = 3, kText = 1;
  const int conversion = i.argument & kConversion;
  const bool in_python = python::type_lookup(Py_TYPE(exception.object), "__format__") !=
                         python::type_lookup(&PyBaseObject_Type, "__format__");
  if (conversion > kText || in_python)
    return walk.verdict.broke(Code::PS0303, "an exception is printed into a string");
  return consume_message(walk, exception);
}

PS_RULE(format_value) {
  const int pops = (i.argument & 4) ? 2 : 1;
  for (int k = 0; k < pops; ++k) {
    Operand operand = f.operand(k);
    if (walk.is_tensor(operand.object)) {
      return walk.verdict.broke(Code::PS0301, "the elements of a tensor are printed into a string");
    }
    if (PyExceptionInstance_Check(operand.object) && pops == 1) {
      if (!formats_as_text(walk, operand, i)) return false;
      continue;
    }
    if (!is_plain_value(operand.object) && !PyType_Check(operand.object)) {
      return walk.verdict.broke(Code::PS0303, std::string("a ") + Py_TYPE(operand.object)->tp_name +
                                                  " is printed into a string");
    }
    if (!walk.facts.consume(operand)) return false;
  }
  return gives_constant(f, pops);
}

/// The container that an instruction of a comprehension or display adds to, `below` the top.
ObjectShadow& display(Walk& walk, FrameShadow& f, int below) {
  return walk.objects.object(walk.objects.contents(f.operand(below)));
}

/// Notes that an instruction changes `container`, which lies on the stack; one that is older than
/// the segment is changed behind it. False when nothing is known of it.
bool changes(Walk& walk, Restore::Kind kind, Operand container, Operand key, Operand value) {
  if (container.shadow.is(Shadow::Kind::unknown)) return walk.facts.consume(container);
  if (!container.shadow.is(Shadow::Kind::fresh)) walk.effects.add(kind, container, {}, key, value);
  return true;
}

PS_RULE(list_append) {
  if (!changes(walk, Restore::Kind::append, f.operand(i.argument), {}, f.operand())) return false;
  f.finish = [below = i.argument - 1](Walk& walk, FrameShadow& f) {
    const Shadow item = f.top();
    f.pop();
    ObjectShadow& list = display(walk, f, below);
    list.items.push_back(item);
  };
  return true;
}

PS_RULE(set_add) {
  if (!walk.facts.consume_hashed(f.operand())) return false;
  if (!changes(walk, Restore::Kind::add, f.operand(i.argument), {}, f.operand())) return false;
  f.pop();
  return true;
}

PS_RULE(map_add) {
  if (!walk.facts.consume_hashed(f.operand(1))) return false;
  const Operand map = f.operand(i.argument + 1);
  if (!changes(walk, Restore::Kind::set_item, map, f.operand(1), f.operand())) return false;
  const PyRef key = PyRef::borrow(f.object(1));
  f.finish = [below = i.argument - 1, key](Walk& walk, FrameShadow& f) {
    const Shadow value = f.top();
    f.pop(2);
    walk.objects.dict_store(walk.objects.contents(f.operand(below)), key.get(), value);
  };
  return true;
}

/// The items that the instruction put at the end of the list, `below` the top behind it.
void takes_items(Walk& walk, FrameShadow& f, int below, Py_ssize_t before,
                 const std::function<Shadow(PyObject*)>& next) {
  f.pop();
  PyObject* list = f.object(below);
  ObjectShadow& contents = display(walk, f, below);
  for (Py_ssize_t k = before; k < PyList_GET_SIZE(list); ++k)
    contents.items.push_back(next(PyList_GET_ITEM(list, k)));
}

/// [*tensor]: what its __iter__ gives.
bool extend_by_tensor(Walk& walk, FrameShadow& f, Operand list, int below) {
  if (!list.shadow.is(Shadow::Kind::fresh))
    return walk.verdict.broke(Code::PS0303, "a list that was begun before takes a tensor's rows");
  if (!iterate_tensor(walk, f)) return false;
  f.finish = [below, before = PyList_GET_SIZE(list.object)](Walk& walk, FrameShadow& f) {
    takes_items(walk, f, below, before, items_of_result(walk, f));
  };
  return true;
}

PS_RULE(list_extend) {
  Operand source = f.operand();
  const Operand list = f.operand(i.argument);
  if (walk.is_tensor(source.object)) return extend_by_tensor(walk, f, list, i.argument - 1);
  auto over = iteration_of(walk, source);
  if (over == nullptr) return not_iterable(walk, source);
  if (!goes_over_all(walk, f, *over)) return false;
  if (!list.shadow.is(Shadow::Kind::fresh) && !PyList_CheckExact(source.object) &&
      !PyTuple_CheckExact(source.object)) {
    return walk.verdict.broke(Code::PS0303,
                              "a list that was begun before takes what an iterator gives");
  }
  if (!changes(walk, Restore::Kind::extend, list, {}, source)) return false;
  f.finish = [below = i.argument - 1, before = PyList_GET_SIZE(list.object),
              over = std::shared_ptr<IteratorShadow>(std::move(over))](Walk& walk, FrameShadow& f) {
    takes_items(walk, f, below, before, items_gone_over(walk, f, *over));
  };
  return true;
}

PS_RULE(set_update) {
  if (!walk.facts.consume(f.operand())) return false;
  if (!changes(walk, Restore::Kind::update, f.operand(i.argument), {}, f.operand())) return false;
  f.pop();
  return true;
}

PS_RULE(list_to_tuple) {
  return gives_fresh(f, 1, walk.objects.items(f.operand()));
}

PS_RULE(dict_update) {
  Operand source = f.operand();
  if (!is_merged_by_key(source.object)) {
    return walk.verdict.broke(Code::PS0303, "a mapping that is no dict is unpacked");
  }
  if (!PyDict_CheckExact(source.object) && !walk.facts.consume_type(source)) return false;
  if (!walk.objects.consume_keys(source)) return false;
  if (!changes(walk, Restore::Kind::update, f.operand(i.argument), {}, source)) return false;
  const ObjectId id = walk.objects.contents(f.operand(i.argument));
  copy_items(walk, id, source);
  f.pop();
  return true;
}

constexpr RuleRow kRows[] = {
    {Opcode::BINARY_OP, binary_op},
    {Opcode::UNARY_NOT, truth},
    {Opcode::TO_BOOL, truth},
    {Opcode::UNARY_POSITIVE, unary<0>},
    {Opcode::UNARY_NEGATIVE, unary<1>},
    {Opcode::UNARY_INVERT, unary<2>},
    {Opcode::CONTAINS_OP, contains_op},
    {Opcode::BINARY_SUBSCR, binary_subscr},
    {Opcode::STORE_SUBSCR, store_subscr},
    {Opcode::DELETE_SUBSCR, delete_subscr},
    {Opcode::BUILD_TUPLE, build_sequence},
    {Opcode::BUILD_LIST, build_sequence},
    {Opcode::BUILD_SLICE, build_slice},
    {Opcode::BINARY_SLICE, binary_slice},
    {Opcode::STORE_SLICE, store_slice},
    {Opcode::BUILD_SET, build_set},
    {Opcode::BUILD_MAP, build_map},
    {Opcode::BUILD_CONST_KEY_MAP, build_const_key_map},
    {Opcode::BUILD_STRING, build_string},
    {Opcode::FORMAT_VALUE, format_value},
    {Opcode::CONVERT_VALUE, format_value},
    {Opcode::LIST_APPEND, list_append},
    {Opcode::SET_ADD, set_add},
    {Opcode::MAP_ADD, map_add},
    {Opcode::LIST_EXTEND, list_extend},
    {Opcode::SET_UPDATE, set_update},
    {Opcode::LIST_TO_TUPLE, list_to_tuple},
    {Opcode::DICT_UPDATE, dict_update},
    {Opcode::DICT_MERGE, dict_update},
};

}  // namespace

bool is_plain_value(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type ||
         type == &PyUnicode_Type || type == &PyBytes_Type || type == &PyComplex_Type ||
         object == Py_None || object == Py_Ellipsis || python::is_immutable_literal(object) ||
         python::is_numpy_scalar(object);
}

std::span<const RuleRow> operator_rules() {
  return kRows;
}

}  // namespace penstock::record
