// The truth of objects that tell it themselves: a method of theirs runs inside the instruction that
// asks.

#include "record/objects/truth.h"
#include "python/type_lookup.h"
#include "record/objects/call.h"
#include "record/objects/demand.h"
#include "record/objects/torch_tensor.h"
#include "record/results.h"

namespace penstock::record {

using python::PyRef;
using python::type_lookup;

const char* truth_method(PyObject* object) {
  if (!PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE)) return nullptr;
  for (const char* name : {"__bool__", "__len__"}) {
    PyObject* method = type_lookup(Py_TYPE(object), name);
    if (method != nullptr) return PyFunction_Check(method) ? name : nullptr;
  }
  return nullptr;
}

bool asks_truth(Walk& walk, FrameShadow& f, Operand object, int pops) {
  if (object.shadow.is(Shadow::Kind::unknown)) return walk.facts.consume(object);
  bool known = false;
  if (!call_special(walk, f, object, truth_method(object.object), {}, pops, known)) return false;
  f.expected.asks_truth = true;
  return true;
}

bool branches(Walk& walk, FrameShadow& f, std::function<void(FrameShadow&)> taken) {
  const Operand operand = f.operand();
  if (walk.is_tensor(operand.object) || truth_method(operand.object) == nullptr) {
    if (!demand_truth(walk, f, operand) && !walk.facts.consume_truth(operand)) return false;
    f.finish = [taken = std::move(taken)](Walk&, FrameShadow& f) { taken(f); };
    return true;
  }
  if (!asks_truth(walk, f, operand, 1)) return false;
  f.finish = [arrived = std::move(f.finish), taken = std::move(taken), kept = operand.shadow](
                 Walk& walk, FrameShadow& f) {
    arrived(walk, f);
    f.top() = kept;
    taken(f);
  };
  return true;
}

}  // namespace penstock::record
