#include "record/facts.h"

#include <algorithm>
#include <string_view>

#include "python/literal.h"
#include "python/numpy_scalar.h"
#include "python/type_lookup.h"
#include "record/objects/container.h"
#include "record/objects/torch_tensor.h"
#include "record/walk.h"

namespace penstock::record {

using python::PyRef;
using python::qualified_name;

namespace {

/// What annotations are made of, `List[int]` or `int | None`: nobody changes it, and typing hands
/// out the same one for the same words as long as its caches hold it.
bool is_type_expression(PyObject* object) {
  static PyTypeObject* const joined = [] {
    PyObject* module = PyImport_ImportModule("types");
    PyObject* found = module == nullptr ? nullptr : PyObject_GetAttrString(module, "UnionType");
    Py_XDECREF(module);
    PyErr_Clear();
    return reinterpret_cast<PyTypeObject*>(found);
  }();
  PyTypeObject* type = Py_TYPE(object);
  if (type == &Py_GenericAliasType || type == joined) return true;
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return false;
  PyObject* module = PyDict_GetItemString(type->tp_dict, "__module__");
  return module != nullptr && PyUnicode_Check(module) &&
         PyUnicode_CompareWithASCIIString(module, "typing") == 0;
}

}  // namespace

void Facts::add_guard(GuardKind kind, SourceId source, Argument expected, PyObject* live) {
  Guard guard{kind, source, kNoSource, std::move(expected), {}, {}, {}, -1};
  if (live != nullptr) guard.live = walk_.recorder.guards().live(live);
  walk_.recorder.guards().add(std::move(guard), [this] { return walk_.here(); });
}

void Facts::add_live_guard(GuardKind kind, SourceId source, PyObject* object) {
  if (!walk_.recorder.guards().stands(kind, source, object))
    add_guard(kind, source, qualified_name(object), object);
}

void Facts::ask_question(SourceId source, PyRef question, bool answer) {
  ++questions_;
  add_guard(GuardKind::global_state, source, answer, question.get());
}

PyRef Facts::asked_again(PyObject* function, PyRef arguments) {
  if (!asked_) asked_ = PyRef::steal(PyDict_New());
  PyObject* values = PyTuple_GET_ITEM(arguments.get(), 0);
  // 1 and True are equal, and need not be to the function.
  PyRef types = PyRef::steal(PyTuple_New(PyTuple_GET_SIZE(values)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i) {
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(PyTuple_GET_ITEM(values, i)));
    PyTuple_SET_ITEM(types.get(), i, PyRef::borrow(type).release());
  }
  const PyRef key = PyRef::steal(
      PyTuple_Pack(4, function, values, PyTuple_GET_ITEM(arguments.get(), 1), types.get()));
  PyObject* known = PyDict_SetDefault(asked_.get(), key.get(), arguments.get());
  if (known == nullptr) PyErr_Clear();
  return known == nullptr ? arguments : PyRef::borrow(known);
}

bool Facts::is_first_question(PyObject* function, ValueId tensor) {
  const auto [known, added] =
      kept_.emplace(std::pair{function, tensor}, walk_.program_place(walk_.innermost()));
  if (!added) {
    walk_.verdict.spoil("a function that keeps its results is asked again about a tensor",
                        known->second);
  }
  return added;
}

bool Facts::consume_type(Operand operand) {
  if (operand.shadow.is(Shadow::Kind::unknown)) {
    return walk_.verdict.broke(Code::PS0302, "a value whose origin is not known is used here");
  }
  if (!operand.shadow.is(Shadow::Kind::sourced)) return true;
  if (operand.object == Py_None) return consume(operand);
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(operand.object));
  add_live_guard(GuardKind::type_is, operand.shadow.index, type);
  return true;
}

bool Facts::consume_identity(Operand operand) {
  if (walk_.sizes.is_computed(operand)) return consume(operand);
  if (operand.shadow.is(Shadow::Kind::unknown)) {
    return walk_.verdict.broke(Code::PS0302, "a value whose origin is not known is used here");
  }
  if (operand.shadow.is(Shadow::Kind::fresh) && PyType_Check(operand.object)) {
    return walk_.verdict.broke(Code::PS0306, "a class that was made here is used");
  }
  if (!operand.shadow.is(Shadow::Kind::sourced)) return true;
  if (operand.object == Py_None) return consume(operand);
  add_live_guard(GuardKind::identity, operand.shadow.index, operand.object);
  if (PyType_Check(operand.object)) {
    classes_.insert_or_assign(reinterpret_cast<PyTypeObject*>(operand.object),
                              operand.shadow.index);
  }
  return true;
}

bool is_known_by_identity(PyObject* object) {
  return PyType_Check(object) || PyFunction_Check(object) || PyCFunction_Check(object) ||
         PyModule_Check(object) || PyCode_Check(object) || Py_TYPE(object) == &PyMethodDescr_Type ||
         Py_TYPE(object) == &PyWrapperDescr_Type || object == Py_NotImplemented ||
         is_type_expression(object);
}

bool Facts::consume_address(Operand operand) {
  PyObject* object = operand.object;
  if (operand.shadow.is(Shadow::Kind::unknown)) return consume(operand);
  const bool single = object == Py_None || object == Py_Ellipsis || PyBool_Check(object);
  if (single) return consume(operand);
  const bool made = operand.shadow.is(Shadow::Kind::fresh) || operand.shadow.is(Shadow::Kind::node);
  if (!made && is_known_by_identity(object)) return consume_identity(operand);
  // An argument mostly is another tensor each time. What takes no weak reference cannot be told
  // from others.
  const bool passes =
      walk_.is_tensor(object) && Py_TYPE(object) != walk_.recorder.bridge().parameter_type();
  const bool told =
      operand.shadow.is(Shadow::Kind::sourced) && PyType_SUPPORTS_WEAKREFS(Py_TYPE(object));
  if (told && !passes) return consume_identity(operand);
  return walk_.verdict.broke(
      Code::PS0303,
      std::string("the identity of a ") + Py_TYPE(object)->tp_name + " differs from call to call");
}

namespace {
/// Containers in containers that are looked into.
constexpr int kDeepest = 64;
}  // namespace

/// A list may be deep, or hold itself.
bool Facts::consume_items(Operand sequence) {
  if (consuming_ >= kDeepest)
    return walk_.verdict.broke(Code::PS0303,
                               "a list that is nested too deeply is used as a plain value");
  ++consuming_;
  const std::vector<Shadow> all = walk_.objects.items(sequence);
  bool known = true;
  for (std::size_t i = 0; known && i < all.size(); ++i) {
    known =
        consume({all[i], PySequence_Fast_GET_ITEM(sequence.object, static_cast<Py_ssize_t>(i))});
  }
  --consuming_;
  return known;
}

/// The keys of a dict and its values.
bool Facts::consume_pairs(Operand dict) {
  if (consuming_ >= kDeepest || !consume_type(dict) || !walk_.objects.consume_keys(dict))
    return walk_.verdict.broke(Code::PS0303, "a dict that is not known is used as a plain value");
  ++consuming_;
  const ObjectId id = walk_.objects.contents(dict);
  PyObject *key, *value;
  bool known = true;
  for (Py_ssize_t at = 0; known && PyDict_Next(dict.object, &at, &key, &value);) {
    known = python::is_immutable_literal(key) &&
            consume({walk_.objects.dict_value(id, key, value), value});
  }
  --consuming_;
  return known ||
         walk_.verdict.broke(Code::PS0303, "a dict of other than plain values is used as one");
}

/// An object that the segment made.
bool Facts::consume_made(Operand operand) {
  // The same call gives an equal object for the same values.
  if (const PureCall* call = walk_.objects.object(operand.shadow.index).made_by.get()) {
    return std::ranges::all_of(call->arguments, [this](const auto& argument) {
      return consume({argument.first, argument.second.get()});
    });
  }
  return walk_.verdict.broke(Code::PS0303, std::string("an object of type ") +
                                               Py_TYPE(operand.object)->tp_name +
                                               " that was made here is used as a plain value");
}

bool Facts::consume(Operand operand) {
  switch (operand.shadow.kind) {
    case Shadow::Kind::constant:
      return true;
    case Shadow::Kind::unknown:
    case Shadow::Kind::null:
      return walk_.verdict.broke(Code::PS0302, "a value whose origin is not known is used here");
    case Shadow::Kind::node:
      return walk_.verdict.broke(Code::PS0301, "the elements of a tensor decide what happens here");
    case Shadow::Kind::fresh:
    case Shadow::Kind::sourced:
      break;
  }
  PyObject* object = operand.object;
  if (PyTuple_Check(object) || PyList_CheckExact(object)) return consume_items(operand);
  if (PySlice_Check(object) && operand.shadow.is(Shadow::Kind::fresh)) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    const std::vector<Shadow> all = walk_.objects.object(operand.shadow.index).items;
    return consume({all[0], slice->start}) && consume({all[1], slice->stop}) &&
           (all.size() < 3 || consume({all[2], slice->step}));
  }
  if (PyAnySet_CheckExact(object)) return walk_.objects.consume_set(operand);
  if (PyDict_CheckExact(object)) return consume_pairs(operand);
  if (operand.shadow.is(Shadow::Kind::fresh)) return consume_made(operand);
  if (walk_.is_tensor(object)) {
    return walk_.verdict.broke(Code::PS0301, "the elements of a tensor decide what happens here");
  }
  const SourceId source = operand.shadow.index;
  if (walk_.sizes.is_element(source))
    return walk_.verdict.broke(Code::PS0301, "the elements of a tensor decide what happens here");
  if (object == Py_None) {
    add_guard(GuardKind::is_none, source, {});
    return true;
  }
  if (is_known_by_identity(object)) return consume_identity(operand);
  if (auto literal = python::literal_of(object)) {
    add_guard(GuardKind::equals, source, std::move(*literal));
    return true;
  }
  // No graph holds a scalar of NumPy's, and the same object means the same value.
  if (python::is_numpy_scalar(object)) return consume_identity(operand);
  // One of torch's words that graphs have none for (float8_e4m3fn): there is one object of each.
  const std::string_view type = Py_TYPE(object)->tp_name;
  if (type == "torch.dtype" || type == "torch.layout" || type == "torch.qscheme" ||
      type == "re.Pattern")  // which re keeps
    return consume_identity(operand);
  // A member of an enumeration, a singleton: the same object means the same value.
  if (Py_TYPE(object)->tp_as_number == nullptr ||
      PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE)) {
    PyObject* meta = reinterpret_cast<PyObject*>(Py_TYPE(Py_TYPE(object)));
    if (qualified_name(meta) == "enum.EnumType") return consume_identity(operand);
  }
  return walk_.verdict.broke(Code::PS0303, std::string("a value of type ") +
                                               Py_TYPE(object)->tp_name +
                                               " cannot be checked before the segment runs");
}

namespace {

/// A parameter or buffer is the same object in every call, as a rule; other tensors pass by.
bool is_kept_by_module(const Walk& walk, Operand tensor) {
  if (Py_TYPE(tensor.object) == walk.recorder.bridge().parameter_type()) return true;
  const auto& sources = walk.recorder.graph().interface.sources;
  const SourceStep& step = sources[static_cast<std::size_t>(tensor.shadow.index)];
  return step.kind == SourceKind::dict_item &&
         sources[static_cast<std::size_t>(step.base)].name == "_buffers";
}

}  // namespace

bool Facts::consume_hashed(Operand operand) {
  const PyTypeObject* type = Py_TYPE(operand.object);
  const bool by_identity = type->tp_hash == PyBaseObject_Type.tp_hash &&
                           type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
  if (!walk_.is_tensor(operand.object))
    return by_identity ? consume_identity(operand) : consume(operand);
  const bool is_input =
      operand.shadow.is(Shadow::Kind::node) && walk_.recorder.is_input(operand.shadow.index);
  if (is_input)
    operand.shadow = Shadow::sourced(walk_.recorder.input_of(operand.shadow.index).source);
  if (operand.shadow.is(Shadow::Kind::sourced))
    return is_kept_by_module(walk_, operand) ? consume_identity(operand) : consume(operand);
  const bool made = operand.shadow.is(Shadow::Kind::node) &&
                    Py_TYPE(operand.object) != walk_.recorder.bridge().parameter_type();
  return (made && walk_.recorder.bridge().is_plain_tensor(operand.object)) || consume(operand);
}

namespace {

/// True for a number or str, of a subclass too, whose truth is that of the built-in type: it runs
/// no Python code.
/// True of its type alone: neither __bool__ nor __len__ is there.
bool is_always_true(const PyTypeObject* type) {
  return (type->tp_as_number == nullptr || type->tp_as_number->nb_bool == nullptr) &&
         (type->tp_as_mapping == nullptr || type->tp_as_mapping->mp_length == nullptr) &&
         (type->tp_as_sequence == nullptr || type->tp_as_sequence->sq_length == nullptr);
}

/// Dicts and sets are true where they are not empty.
bool is_true_by_size(PyObject* object) {
  const PyTypeObject* type = Py_TYPE(object);
  const bool own = type->tp_as_number != nullptr && type->tp_as_number->nb_bool != nullptr;
  return (has_dict_slot(object, "__len__") && !own) || PyAnySet_CheckExact(object);
}

bool has_builtin_truth(PyObject* object) {
  const PyTypeObject* base = PyLong_Check(object)    ? &PyLong_Type
                             : PyFloat_Check(object) ? &PyFloat_Type
                                                     : &PyUnicode_Type;
  const PyTypeObject* type = Py_TYPE(object);
  return type->tp_as_number->nb_bool == base->tp_as_number->nb_bool &&
         (base != &PyUnicode_Type ||
          type->tp_as_mapping->mp_length == base->tp_as_mapping->mp_length);
}

}  // namespace

std::optional<bool> Facts::consume_truth(Operand operand) {
  PyObject* object = operand.object;
  auto real_truth = [&]() -> std::optional<bool> {
    const int truth = PyObject_IsTrue(object);
    if (truth < 0) PyErr_Clear();
    return truth < 0 ? std::nullopt : std::optional(truth == 1);
  };
  auto refuse = [&]() -> std::optional<bool> {
    walk_.verdict.broke(Code::PS0303, std::string("the truth of a ") + Py_TYPE(object)->tp_name +
                                          " is not followed");
    return std::nullopt;
  };
  if (walk_.is_tensor(object)) {
    const auto truth = is_known_tensor(operand) ? real_truth() : ask_elements(walk_, operand);
    if (!truth)
      walk_.verdict.broke(Code::PS0301, "the branch depends on the elements of a tensor", true);
    return truth;
  }
  if (operand.shadow.is(Shadow::Kind::constant)) return real_truth();
  if (object == Py_None || PyBool_Check(object) || python::is_numpy_scalar(object)) {
    if (!consume(operand)) return std::nullopt;
    return real_truth();
  }
  if (PyLong_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object)) {
    const bool is_sourced = operand.shadow.is(Shadow::Kind::sourced);
    if (!has_builtin_truth(object)) return refuse();
    if (is_sourced && !PyLong_CheckExact(object) && !PyFloat_CheckExact(object) &&
        !PyUnicode_CheckExact(object)) {
      return consume(operand) ? real_truth() : std::nullopt;
    }
    if (is_sourced && walk_.recorder.guards().is_decided(operand.shadow.index))
      return decided_truth(operand);
    const auto truth = real_truth();
    if (is_sourced) add_guard(GuardKind::truth, operand.shadow.index, *truth);
    return truth;
  }
  if (has_list_slots(object) || has_tuple_slots(object)) {
    walk_.objects.items(operand);
    return real_truth();
  }
  if (python::is_deque(object)) {
    if (!is_known_deque(walk_, operand)) return std::nullopt;
    walk_.objects.guard_length(operand);
    return real_truth();
  }
  if (is_true_by_size(object)) {
    if (!walk_.objects.size_is_known(operand, "truth")) return std::nullopt;
    if (operand.shadow.is(Shadow::Kind::sourced)) {
      const auto truth = real_truth();
      add_guard(GuardKind::truth, operand.shadow.index, *truth);
      return truth;
    }
    return real_truth();
  }
  if (!is_always_true(Py_TYPE(object))) return refuse();
  if (!consume_type(operand)) return std::nullopt;
  return true;
}

std::optional<bool> Facts::decided_truth(Operand size) {
  const auto expression = walk_.sizes.decided_expression(size.shadow.index);
  const auto truth =
      expression
          ? walk_.recorder.sizes().decide({*expression, Condition::Relation::not_equal, SymExpr(0)})
          : std::nullopt;
  if (!truth)
    walk_.verdict.broke(Code::PS0301, "the branch depends on the elements of a tensor", true);
  return truth;
}

bool Facts::is_known_tensor(Operand operand) const {
  return operand.shadow.is(Shadow::Kind::node) && walk_.is_tensor(operand.object) &&
         walk_.recorder.is_known(operand.shadow.index);
}

void Facts::guard_class_version(Operand type) {
  const SourceId source = type.shadow.source();
  auto* object = reinterpret_cast<PyTypeObject*>(type.object);
  if (source == kNoSource || !PyType_HasFeature(object, Py_TPFLAGS_HEAPTYPE)) return;
  classes_.try_emplace(object, source);
  if (versioned_.insert(type.object).second)
    add_live_guard(GuardKind::type_version, source, type.object);
}

void Facts::guard_type_version(Operand operand) {
  // All that is looked up in a type is known as long as the type does not change.
  if (operand.shadow.is(Shadow::Kind::sourced)) consume_type(operand);
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(operand.object));
  SourceId source = operand.shadow.source();
  if (!PyType_HasFeature(Py_TYPE(operand.object), Py_TPFLAGS_HEAPTYPE)) return;
  if (source == kNoSource) source = source_of_class(Py_TYPE(operand.object));
  if (source == kNoSource || !versioned_.insert(type).second) return;
  add_live_guard(GuardKind::type_version, source, type);
}

SourceId Facts::source_of_class(Operand instance) {
  const SourceId source = instance.shadow.source();
  if (source != kNoSource) return walk_.recorder.guards().source(SourceKind::type, source);
  return source_of_class(Py_TYPE(instance.object));
}

SourceId Facts::source_of_class(PyTypeObject* type) {
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return kNoSource;
  const auto [known, added] = classes_.try_emplace(type, kNoSource);
  if (!added) return known->second;
  const SourceId source = source_by_name(type);
  if (source == kNoSource) return kNoSource;
  auto* object = reinterpret_cast<PyObject*>(type);
  add_live_guard(GuardKind::identity, source, object);
  return classes_[type] = source;
}

SourceId Facts::source_by_name(PyTypeObject* type) {
  PyObject* module_name = PyDict_GetItemString(python::type_dict(type), "__module__");
  const PyRef names = PyRef::steal(PyType_GetQualName(type));
  if (module_name == nullptr || !PyUnicode_Check(module_name) || !names) return kNoSource;
  PyObject* found = PyDict_GetItemWithError(PyImport_GetModuleDict(), module_name);
  PyErr_Clear();
  if (found == nullptr || !PyModule_CheckExact(found)) return kNoSource;
  SourceId source =
      walk_.recorder.guards().source(SourceKind::module, kNoSource, python::text_of(module_name));
  const std::string path = python::text_of(names.get());
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    PyObject* dict = PyType_Check(found) ? python::type_dict(reinterpret_cast<PyTypeObject*>(found))
                                         : PyModule_GetDict(found);
    found = PyDict_GetItemString(dict, name.c_str());
    if (found == nullptr || !PyType_Check(found)) return kNoSource;
    source = walk_.recorder.guards().source(SourceKind::attribute, source, name);
    begin = end + 1;
  }
  return found == reinterpret_cast<PyObject*>(type) ? source : kNoSource;
}

}  // namespace penstock::record
