// Calls that run natively and whose results are constants of the segment: of functions that a rule
// calls constant, that the program promises to be (torch.compiler.assume_constant_result), and that
// functools.lru_cache wraps.

#include <algorithm>

#include "python/literal.h"
#include "python/versions/private_api.h"
#include "python/weak_reference.h"
#include "record/objects/call.h"
#include "record/walk.h"

namespace penstock::record {

using python::is_immutable_literal;
using python::PyRef;

/// A function that a rule says to be one of constants: it runs natively, and what it gave is a
/// constant.
bool call_once(Walk& walk, FrameShadow& f, Operand function, const std::vector<Operand>& positional,
               const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops) {
  if (!consume_all(walk, positional, keywords)) return false;
  f.expected.function = function.object;
  f.expected.native = true;
  f.finish = [pops](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    const auto result = made_of_constants(walk, f.object());
    if (!result) {
      walk.verdict.spoil_here("a function that a rule calls constant gives an object of type " +
                              std::string(Py_TYPE(f.object())->tp_name));
    }
    f.push(result.value_or(Shadow::constant()));
  };
  return true;
}

/// What made an object alone knows: a list, dict or set that nothing else refers to, of constants.
std::optional<Shadow> made_of_constants(Walk& walk, PyObject* object) {
  const bool number =
      PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyUnicode_CheckExact(object);
  const bool pattern = std::string_view(Py_TYPE(object)->tp_name) == "re.Pattern";
  if (number || pattern || is_immutable_literal(object) || is_known_by_identity(object))
    return Shadow::constant();
  const bool sequence = PyTuple_CheckExact(object) || PyList_CheckExact(object);
  if (Py_REFCNT(object) != 1 ||
      (!sequence && !PyDict_CheckExact(object) && !PySet_CheckExact(object)))
    return std::nullopt;
  std::vector<Shadow> items;
  for (Py_ssize_t i = 0; sequence && i < PySequence_Fast_GET_SIZE(object); ++i) {
    const auto item = made_of_constants(walk, PySequence_Fast_GET_ITEM(object, i));
    if (!item) return std::nullopt;
    items.push_back(*item);
  }
  PyObject *key, *value;
  Py_ssize_t hash_at = 0;
  for (Py_hash_t hash;
       PySet_CheckExact(object) && _PySet_NextEntry(object, &hash_at, &key, &hash);) {
    if (!is_immutable_literal(key)) return std::nullopt;
  }
  const Shadow made = walk.objects.fresh(object, std::move(items));
  for (Py_ssize_t at = 0; PyDict_CheckExact(object) && PyDict_Next(object, &at, &key, &value);) {
    const auto item = made_of_constants(walk, value);
    if (!item || !is_immutable_literal(key)) return std::nullopt;
    walk.objects.dict_store(made.index, key, *item);
  }
  return made;
}

/// A function whose result the program promises to be the same: that of this function, and of this
/// object where it is a method. One that the segment makes is another in every call.
std::optional<bool> call_assumed(Walk& walk, FrameShadow& f, Operand function,
                                 const std::vector<Operand>& positional, int pops) {
  PyObject* name = reinterpret_cast<PyFunctionObject*>(function.object)->func_name;
  const bool method =
      !positional.empty() && _PyType_Lookup(Py_TYPE(positional[0].object), name) == function.object;
  for (std::size_t i = 0; i < (method ? 2U : 1U); ++i) {
    const Operand fixed = i == 0 ? function : positional[0];
    if (fixed.shadow.is(Shadow::Kind::fresh) || !walk.facts.consume_identity(fixed))
      return std::nullopt;
  }
  f.expected.function = function.object;
  f.expected.native = true;
  f.finish = [pops](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    const auto result = made_of_constants(walk, f.object());
    if (!result) {
      walk.verdict.spoil_here("a function that is assumed to be constant gives a " +
                              std::string(Py_TYPE(f.object())->tp_name) +
                              " that others may change");
    }
    f.push(result.value_or(Shadow{}));
  };
  return true;
}

namespace {

/// True for what code reaches by a name of its module: an argument may be another one in each call.
bool is_global(Walk& walk, Operand operand) {
  const SourceTable& sources = walk.recorder.graph().interface.sources;
  SourceId at = operand.shadow.source();
  while (at != kNoSource && sources[at].base != kNoSource) at = sources[at].base;
  const SourceKind kind = at == kNoSource ? SourceKind::global : sources[at].kind;
  return kind == SourceKind::global || kind == SourceKind::module || kind == SourceKind::builtin;
}

/// The arguments of a call that a guard makes again: their values, those given by name behind the
/// others, and the names; null where one is not known. What is no plain value is held weakly.
PyRef known_arguments(Walk& walk, const std::vector<Operand>& positional,
                      const std::vector<std::pair<PyObject*, Operand>>& keywords) {
  std::vector<Operand> all = positional;
  for (const auto& [name, operand] : keywords) all.push_back(operand);
  PyRef values = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(all.size())));
  PyRef names = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(keywords.size())));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool plain = is_immutable_literal(all[i].object);
    const bool stays = plain || is_global(walk, all[i]);
    if (stays && !walk.facts.consume_hashed(all[i])) return {};
    PyRef value = plain   ? PyRef::borrow(all[i].object)
                  : stays ? python::weak_reference(all[i].object)
                          : PyRef();
    if (!value) {
      PyErr_Clear();
      walk.verdict.broke(Code::PS0306, std::string("a cached function is called with a ") +
                                           Py_TYPE(all[i].object)->tp_name);
      return {};
    }
    PyTuple_SET_ITEM(values.get(), static_cast<Py_ssize_t>(i), value.release());
  }
  for (std::size_t i = 0; i < keywords.size(); ++i) {
    PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i),
                     PyRef::borrow(keywords[i].first).release());
  }
  return PyRef::steal(PyTuple_Pack(2, values.get(), names.get()));
}

/// True where an argument is a tensor that the segment made and asks this function about for the
/// first time: no cache can have a result for it, so that the function runs. What it gives is not
/// put into the cache, as under torch.compile: what it would be found by is this tensor alone.
bool surely_misses(Walk& walk, Operand function, const std::vector<Operand>& positional,
                   const std::vector<std::pair<PyObject*, Operand>>& keywords) {
  std::vector<Operand> all = positional;
  for (const auto& [name, operand] : keywords) all.push_back(operand);
  return std::ranges::any_of(all, [&](Operand one) {
    const bool is_new = walk.is_tensor(one.object) && one.shadow.is(Shadow::Kind::node) &&
                        !walk.recorder.is_input(one.shadow.index);
    return is_new && walk.facts.is_first_question(function.object, one.shadow.index);
  });
}

}  // namespace

bool call_cached(Walk& walk, FrameShadow& f, Operand function,
                 const std::vector<Operand>& positional,
                 const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops) {
  const SourceId source = function.shadow.source();
  if (source == kNoSource)
    return walk.verdict.broke(Code::PS0306, "a cached function of unknown origin is called");
  if (surely_misses(walk, function, positional, keywords)) {
    PyRef wrapped = PyRef::steal(PyObject_GetAttrString(function.object, "__wrapped__"));
    if (!wrapped) PyErr_Clear();
    if (!wrapped || !walk.facts.consume_identity(function)) return false;
    const SourceId called =
        walk.recorder.guards().source(SourceKind::attribute, source, "__wrapped__");
    return call(walk, f, {Shadow::sourced(called), wrapped.get()}, positional, keywords, pops);
  }
  PyRef arguments = known_arguments(walk, positional, keywords);
  if (!arguments || !walk.facts.consume_identity(function)) return false;
  arguments = positional.empty() && keywords.empty()
                  ? PyRef()
                  : walk.facts.asked_again(function.object, std::move(arguments));
  f.finish = [pops, source, arguments](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    auto literal = is_immutable_literal(f.object()) ? python::literal_of(f.object()) : std::nullopt;
    f.push(literal ? Shadow::constant() : Shadow{});
    if (literal)
      walk.facts.add_guard(GuardKind::global_state, source, std::move(*literal), arguments.get());
  };
  return true;
}

}  // namespace penstock::record
