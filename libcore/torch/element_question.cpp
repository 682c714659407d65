#include "torch/element_question.h"

#include <memory>
#include <unordered_map>
#include <utility>

#include "torch/op_counter.h"
#include "torch/ops.h"

namespace penstock::torch {

using python::PyRef;

namespace {

constexpr const char* kName = "penstock.element_question";

struct Asked {
  ElementQuestion question;
  TorchOps ops;
};

/// What a guard asks is none of the program's tensor code.
struct Apart {
  Apart() { begin_ops_apart(); }
  ~Apart() { end_ops_apart(); }
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;
};

void forget(PyObject* capsule) {
  delete static_cast<Asked*>(PyCapsule_GetPointer(capsule, kName));
}

}  // namespace

PyRef make_question(ElementQuestion question) {
  auto asked = std::make_unique<Asked>();
  asked->question = std::move(question);
  PyRef capsule = PyRef::steal(PyCapsule_New(asked.get(), kName, forget));
  if (capsule) asked.release();
  return capsule;
}

bool is_question(PyObject* object) {
  return PyCapsule_IsValid(object, kName) != 0;
}

PyRef ask(PyObject* question, PyObject* tensor) {
  const Apart apart;
  auto& asked = *static_cast<Asked*>(PyCapsule_GetPointer(question, kName));
  std::unordered_map<ValueId, PyRef> values;
  values[asked.question.input] = PyRef::borrow(tensor);
  for (const Node& node : asked.question.nodes) {
    auto results = asked.ops.call(
        node.op, node.args, [&](ValueId id) { return values[id]; },
        [](std::string_view) { return std::nullopt; });
    if (!results || results->size() != 1) return {};
    values[node.results.front()] = std::move(results->front());
  }
  const PyRef& answer = values[asked.question.answer];
  const int truth = answer ? PyObject_IsTrue(answer.get()) : -1;
  if (truth < 0) PyErr_Clear();
  return truth < 0 ? PyRef() : PyRef::borrow(truth == 1 ? Py_True : Py_False);
}

}  // namespace penstock::torch
