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

// What asks for the truth has to see the flag and its node, and neither is ever on the stack: the
// comparison, which changes nothing, is made here first, and recorded with its flag in the place of
// the operands. Where the truth is not known the node has no users, and the segment ends in front
// of the instruction.
bool compare_tensors_to_bool(Walk& walk, FrameShadow& f, int operation) {
  const std::vector<Shadow> before = f.stack;
  if (!compare_tensor(walk, f, operation)) return false;
  if (!f.finish) return true;  // with None: a bool at once
  const auto finish = std::exchange(f.finish, nullptr);
  PyRef right = f.frame->pop(), left = f.frame->pop();
  PyRef flag = PyRef::steal(PyObject_RichCompare(left.get(), right.get(), operation));
  PyErr_Clear();  // the instruction raises it again
  bool known = false;
  if (flag && walk.is_tensor(flag.get())) {
    f.frame->push(std::move(flag));
    finish(walk, f);
    known = demand_truth(walk, f, f.operand()).has_value() ||
            walk.facts.consume_truth(f.operand()).has_value();
    f.frame->drop(1);
  } else {
    walk.verdict.broke(Code::PS0301, "the branch depends on the elements of a tensor", true);
  }
  f.frame->push(std::move(left));
  f.frame->push(std::move(right));
  f.stack = before;
  return known && gives_constant(f, 2);
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
