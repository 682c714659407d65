// What is left of a tensor's graph of gradients behind backward().
//
// torch frees what its nodes hold as it goes through them, and keeps the nodes. A graph that a
// compiled step went through in one piece never had any: what the program still sees of it is that
// its results require gradients, have a grad_fn, and that nobody goes through it again.
#include "torch/spent_gradient.h"

#include "python/literal.h"
#include "python/made_once.h"
#include "torch/gradient_leaf.h"
#include "torch/gradient_node.h"

namespace penstock::torch {

using python::PyRef;

namespace {

constexpr const char* kSecondTime =
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward.";

class Spent final : public GradientNode {
 public:
  bool backward(std::span<PyObject* const>, std::span<PyObject* const>, bool,
                std::vector<PyRef>&) override {
    PyErr_SetString(PyExc_RuntimeError, kSecondTime);
    return false;
  }
  bool holds_nothing() const override { return true; }
};

/// Where the nodes lead to: a leaf that nobody else sees.
PyObject* end_of_graphs() {
  static auto& kept = *new python::MadeOnce<PyObject*>;
  return kept.get([]() -> PyObject* {
    PyRef leaf = new_leaf();
    PyErr_Clear();
    return leaf.release();
  });
}

PyObject* spent(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  PyObject* end = end_of_graphs();
  const GradientNodeClass* node = count == 2 && end != nullptr
                                      ? GradientNodeClass::find(python::text_of(arguments[1]))
                                      : nullptr;
  if (node == nullptr) {
    if (PyErr_Occurred() == nullptr)
      PyErr_SetString(PyExc_RuntimeError, "torch's graph of gradients takes no node");
    return nullptr;
  }
  PyObject *inputs[] = {end}, *outputs[] = {arguments[0]};
  if (!node->attach({inputs, outputs, {}}, std::make_unique<Spent>())) return nullptr;
  return Py_NewRef(arguments[0]);
}

PyMethodDef kSpent = {"spent", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(spent)),
                      METH_FASTCALL, nullptr};

}  // namespace

PyObject* spent_function() {
  static PyObject* const function = PyCFunction_New(&kSpent, nullptr);
  return function;
}

}  // namespace penstock::torch
