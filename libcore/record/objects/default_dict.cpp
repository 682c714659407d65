// collections.defaultdict: a dict that makes the item which it lacks by a call without arguments.
// That call runs inside the instruction that asks for the item.

#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/objects/builtin_call.h"
#include "record/objects/call.h"
#include "record/objects/container.h"
#include "record/results.h"

namespace penstock::record {

using python::is_default_dict;
using python::PyRef;

namespace {

/// What is known of an item that a class of Python's own makes when it is called with nothing.
std::optional<Shadow> empty_of(Walk& walk, PyObject* maker, PyObject* made) {
  for (const PyTypeObject* type : {&PyList_Type, &PyDict_Type, &PySet_Type, &PyTuple_Type}) {
    if (reinterpret_cast<const PyObject*>(type) == maker) return walk.objects.fresh(made);
  }
  for (const PyTypeObject* type : {&PyLong_Type, &PyFloat_Type, &PyBool_Type, &PyUnicode_Type}) {
    if (reinterpret_cast<const PyObject*>(type) == maker) return Shadow::constant();
  }
  if (python::is_deque(made) || is_default_dict(made)) return walk.objects.fresh(made);
  return std::nullopt;
}

bool is_class_of_empty(PyObject* maker) {
  for (const PyTypeObject* type : {&PyList_Type, &PyDict_Type, &PySet_Type, &PyTuple_Type,
                                   &PyLong_Type, &PyFloat_Type, &PyBool_Type, &PyUnicode_Type}) {
    if (reinterpret_cast<const PyObject*>(type) == maker) return true;
  }
  return false;
}

/// The dict has the item from now on; an older one gets it behind the segment.
void keep_item(Walk& walk, Operand dict, PyObject* key, Operand item) {
  if (!dict.shadow.is(Shadow::Kind::fresh))
    walk.effects.add(Restore::Kind::set_item, dict, {}, {Shadow::constant(), key}, item);
  walk.objects.dict_store(walk.objects.contents(dict), key, item.shadow);
}

}  // namespace

Shadow default_maker(Walk& walk, Operand dict) {
  if (const SourceId source = dict.shadow.source(); source != kNoSource) {
    return Shadow::sourced(
        walk.recorder.guards().source(SourceKind::attribute, source, "default_factory"));
  }
  const ObjectShadow* known = walk.objects.find(dict.object);
  return known == nullptr || known->items.empty() ? Shadow{} : known->items[0];
}

bool makes_missing_item(Walk& walk, FrameShadow& f, Operand dict, Operand key, int pops) {
  const PyRef maker = PyRef::steal(PyObject_GetAttrString(dict.object, "default_factory"));
  const Operand call{default_maker(walk, dict), maker.get()};
  if (!maker || maker.get() == Py_None)
    return walk.facts.consume(call) && gives_constant(f, pops);  // it raises KeyError
  const bool of_class =
      PyType_Check(maker.get()) &&
      PyType_HasFeature(reinterpret_cast<PyTypeObject*>(maker.get()), Py_TPFLAGS_HEAPTYPE);
  const bool of_python = PyFunction_Check(maker.get()) || of_class;
  if (of_python) {
    if (!(of_class ? call_type(walk, f, call, {}, {}, pops)
                   : call_function(walk, f, call, {}, {}, pops)))
      return false;
  } else if (is_class_of_empty(maker.get())) {
    if (!walk.facts.consume_identity(call)) return false;
  } else {
    return walk.verdict.broke(
        Code::PS0306, "a defaultdict makes an item by " + python::qualified_name(maker.get()));
  }
  f.finish = [dict, pops, of_python, kept = PyRef::borrow(key.object), maker = maker,
              arrived = std::move(f.finish)](Walk& walk, FrameShadow& f) {
    if (of_python) {
      arrived(walk, f);
    } else {
      f.pop(pops);
      f.push(empty_of(walk, maker.get(), f.object()).value_or(Shadow{}));
    }
    keep_item(walk, dict, kept.get(), f.operand());
  };
  return true;
}

namespace {

/// The class: what makes items is kept beside them.
bool make_default_dict(BuiltinCall& c) {
  if (c.positional.size() > 2) return refuse(c);
  const Operand maker =
      c.positional.empty() ? Operand{Shadow::constant(), Py_None} : c.positional[0];
  std::vector<Operand> filled;
  if (c.positional.size() == 2) filled = {c.positional[1]};
  if (!filled.empty() && PyIter_Check(filled[0].object)) return refuse(c);
  if (!make_dict(c.walk, c.frame, filled, c.keywords, c.pops)) return false;
  c.frame.finish = [kept = maker.shadow, made = std::move(c.frame.finish)](Walk& walk,
                                                                           FrameShadow& f) {
    made(walk, f);
    walk.objects.object(f.top().index).items = {kept};
  };
  return true;
}

constexpr FunctionModel kModels[] = {{"make_default_dict", make_default_dict}};

}  // namespace

std::span<const FunctionModel> default_dict_models() {
  return kModels;
}

}  // namespace penstock::record
