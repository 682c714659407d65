// Rules of `match`: what a pattern asks its subject.

#include "policy/roots.h"
#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/objects/attribute.h"
#include "record/results.h"
#include "record/rules/rules.h"

namespace penstock::record {

using python::Instruction;
using python::Opcode;
using python::PyRef;
using python::text_of;
using python::type_lookup;

namespace {

#define PS_RULE(name) bool name(Walk& walk, FrameShadow& f, const Instruction& i)
#pragma GCC diagnostic ignored "-Wunused-parameter"

/// Whether the subject of a match is a sequence, or a mapping: its type says.
PS_RULE(match_kind) {
  if (!walk.facts.consume_type(f.operand())) return false;
  f.push(Shadow::constant());
  return true;
}

/// The values that the subject of a match, a dict, has under the keys of a pattern, or None.
PS_RULE(match_keys) {
  const Operand dict = f.operand(1), keys = f.operand();
  if (!PyDict_CheckExact(dict.object) || !PyTuple_CheckExact(keys.object))
    return walk.verdict.broke(Code::PS0303, "the keys of the subject of a match are not followed");
  if (!walk.facts.consume(keys) || !walk.facts.consume_type(dict) ||
      !walk.objects.consume_keys(dict))
    return false;
  std::vector<Shadow> values;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keys.object); ++k) {
    PyObject* key = PyTuple_GET_ITEM(keys.object, k);
    PyObject* value = PyDict_GetItemWithError(dict.object, key);
    PyErr_Clear();
    if (value == nullptr) break;
    values.push_back(walk.objects.dict_value(walk.objects.contents(dict), key, value));
  }
  f.finish = [values](Walk& walk, FrameShadow& f) {
    const bool matches = f.object() != Py_None;
    f.push(matches ? walk.objects.fresh(f.object(), values) : Shadow::constant());
  };
  return true;
}

PS_RULE(get_len) {
  const Operand operand = f.operand();
  if (!PyTuple_CheckExact(operand.object) && !PyList_CheckExact(operand.object)) {
    return walk.verdict.broke(Code::PS0303, "the length of the subject of a match is not followed");
  }
  walk.objects.items(operand);
  f.push(Shadow::constant());
  return true;
}

/// True for a class whose instances alone are instances of it, as far as C code tells.
bool tells_by_type(PyObject* type) {
  return PyType_Check(type) && type_lookup(Py_TYPE(type), "__instancecheck__") ==
                                   type_lookup(&PyType_Type, "__instancecheck__");
}

/// The names that a class pattern looks up in its subject: those of its positions first. An empty
/// one stands for the subject itself, as in `int(x)`. Nothing where they are not known.
std::optional<std::vector<PyRef>> names_of_pattern(PyObject* type, Py_ssize_t positions,
                                                   PyObject* keywords) {
  std::vector<PyRef> names;
  if (positions > 0) {
    PyObject* order = type_lookup(reinterpret_cast<PyTypeObject*>(type), "__match_args__");
    const bool itself =
        order == nullptr && positions == 1 &&
        PyType_HasFeature(reinterpret_cast<PyTypeObject*>(type), _Py_TPFLAGS_MATCH_SELF);
    const bool known =
        order != nullptr && PyTuple_CheckExact(order) && PyTuple_GET_SIZE(order) >= positions;
    if (!itself && !known) return std::nullopt;
    if (itself) names.emplace_back();
    for (Py_ssize_t k = 0; known && k < positions; ++k) {
      if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(order, k))) return std::nullopt;
      names.push_back(PyRef::borrow(PyTuple_GET_ITEM(order, k)));
    }
  }
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keywords); ++k) {
    names.push_back(PyRef::borrow(PyTuple_GET_ITEM(keywords, k)));
  }
  return names;
}

/// What is known of an attribute that is found without Python code, where a guard says that it is
/// there or not; nothing where looking it up runs code, or it is not followed.
std::optional<Shadow> attribute_of_subject(Walk& walk, FrameShadow& f, Operand subject,
                                           PyObject* name) {
  const std::size_t depth = f.stack.size();
  f.push(subject.shadow);
  const AttributeUse use{.has_fallback = true};
  const bool found = load_attribute(walk, f, subject, name, use) && f.finish == nullptr &&
                     f.expected.function == nullptr && f.stack.size() == depth + 1;
  const Shadow shadow = found ? f.top() : Shadow{};
  f.stack.resize(depth);
  if (found) return shadow;
  f.finish = nullptr;
  f.expected = {};
  return std::nullopt;
}

/// A class pattern: the attributes that it names of a subject of the class, or None.
PS_RULE(match_class) {
  const Operand subject = f.operand(2), type = f.operand(1), keywords = f.operand();
  const auto refuse = [&] {
    return walk.verdict.broke(Code::PS0303, "a class pattern is matched with a " +
                                                std::string(Py_TYPE(subject.object)->tp_name));
  };
  if (!tells_by_type(type.object) || !PyTuple_CheckExact(keywords.object)) return refuse();
  if (!walk.facts.consume_identity(type) || !walk.facts.consume_type(subject)) return false;
  const bool is_instance =
      PyType_IsSubtype(Py_TYPE(subject.object), reinterpret_cast<PyTypeObject*>(type.object)) != 0;
  // An object may say that it is of another class than its type.
  static PyObject* const own_class = type_lookup(&PyBaseObject_Type, "__class__");
  if (!is_instance && type_lookup(Py_TYPE(subject.object), "__class__") != own_class)
    return refuse();
  if (!is_instance) return gives_constant(f, 3);
  walk.facts.guard_class_version(type);
  const auto names = names_of_pattern(type.object, i.argument, keywords.object);
  if (!names) return refuse();
  std::vector<Shadow> values;
  for (const PyRef& name : *names) {
    if (name && walk.is_tensor(subject.object)) return refuse();
    const auto value =
        name ? attribute_of_subject(walk, f, subject, name.get()) : std::optional(subject.shadow);
    if (!value) return refuse();
    values.push_back(*value);
  }
  f.finish = [values = std::move(values)](Walk& walk, FrameShadow& f) {
    f.pop(3);
    const bool matches = f.object() != Py_None;
    f.push(matches ? walk.objects.fresh(f.object(), values) : Shadow::constant());
  };
  return true;
}

constexpr RuleRow kRows[] = {
    {Opcode::GET_LEN, get_len},          {Opcode::MATCH_SEQUENCE, match_kind},
    {Opcode::MATCH_MAPPING, match_kind}, {Opcode::MATCH_KEYS, match_keys},
    {Opcode::MATCH_CLASS, match_class},
};

}  // namespace

std::span<const RuleRow> matching_rules() {
  return kRows;
}

}  // namespace penstock::record
