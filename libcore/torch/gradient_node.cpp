// A node of ours in torch's graph of gradients.
//
// torch lets Python make such nodes: a subclass of torch.autograd.Function whose apply() runs
// `forward` and ties a node to the tensors that it gives. Ours are one class per name that programs
// see, with C functions for forward and backward; all else that one node differs from another in
// travels in a capsule. apply() of the class's base is called, without the wrapper in Python around
// it, which serves functorch and costs more than all the rest. torch keeps what was saved, and
// raises its own errors for what was written or freed since.
#include "torch/gradient_node.h"

#include <algorithm>
#include <unordered_map>

#include "python/made_once.h"
#include "torch/state.h"

namespace penstock::torch {
namespace {

using python::PyRef;

constexpr const char* kNodeAttribute = "_penstock_node";
constexpr const char* kNodeCapsule = "penstock.gradient_node";
constexpr const char* kEdgesCapsule = "penstock.gradient_edges";

/// What forward is called with.
struct Attaching {
  const GradientEdges* edges;
  std::unique_ptr<GradientNode> node;
};

void destroy_node(PyObject* capsule) {
  delete static_cast<GradientNode*>(PyCapsule_GetPointer(capsule, kNodeCapsule));
}

PyRef tuple_of(std::span<PyObject* const> objects) {
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(objects.size())));
  for (std::size_t i = 0; tuple && i < objects.size(); ++i) {
    Py_INCREF(objects[i]);
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), objects[i]);
  }
  return tuple;
}

/// forward(ctx, capsule, *inputs): gives the outputs, which are there already.
PyObject* forward(PyObject*, PyObject* args) {
  if (PyTuple_GET_SIZE(args) < 2) {
    PyErr_SetString(PyExc_TypeError, "penstock's node is not to be applied by others");
    return nullptr;
  }
  PyObject* context = PyTuple_GET_ITEM(args, 0);
  auto* attaching =
      static_cast<Attaching*>(PyCapsule_GetPointer(PyTuple_GET_ITEM(args, 1), kEdgesCapsule));
  if (attaching == nullptr) return nullptr;
  const PyRef kept = tuple_of(attaching->edges->kept);
  const PyRef node = PyRef::steal(PyCapsule_New(attaching->node.get(), kNodeCapsule, destroy_node));
  if (!kept || !node) return nullptr;
  attaching->node.release();  // the capsule owns it now
  if (PyObject_SetAttrString(context, "to_save", kept.get()) < 0 ||
      PyObject_SetAttrString(context, "materialize_grads", Py_False) < 0 ||
      PyObject_SetAttrString(context, kNodeAttribute, node.get()) < 0)
    return nullptr;
  return tuple_of(attaching->edges->outputs).release();
}

/// An attribute of torch, by its path. Null with a Python error set.
PyRef of_torch(std::initializer_list<const char*> path) {
  PyRef object = PyRef::steal(PyImport_ImportModule("torch"));
  for (const char* name : path) {
    if (object) object = PyRef::steal(PyObject_GetAttrString(object.get(), name));
  }
  return object;
}

/// A function of torch's that is kept until the process ends; null: it is not there.
using KeptFunction = python::MadeOnce<PyObject*>;
PyObject* kept_function(KeptFunction& kept, std::initializer_list<const char*> path) {
  return kept.get([&] {
    PyRef function = of_torch(path);
    if (!function) PyErr_Clear();
    return function.release();
  });
}

/// Whether the engine keeps what nodes hold, as it will come again.
bool keeps_graph() {
  static auto& kept = *new KeptFunction;
  PyObject* const function =
      kept_function(kept, {"_C", "_autograd", "_get_current_graph_task_keep_graph"});
  const PyRef keeps = PyRef::steal(function == nullptr ? nullptr : PyObject_CallNoArgs(function));
  if (!keeps) PyErr_Clear();
  return !keeps || keeps.get() != Py_False;
}

/// apply(ctx, *tangents), which the engine calls. Gives None for the capsule, and the gradients.
PyObject* backward(PyObject* context, PyObject* const* tangents, Py_ssize_t count) {
  const PyRef capsule = PyRef::steal(PyObject_GetAttrString(context, kNodeAttribute));
  if (!capsule) return nullptr;
  auto* node = static_cast<GradientNode*>(PyCapsule_GetPointer(capsule.get(), kNodeCapsule));
  if (node == nullptr) return nullptr;
  // torch raises where something was written or freed.
  const PyRef kept = node->holds_nothing()
                         ? PyRef::steal(PyTuple_New(0))
                         : PyRef::steal(PyObject_GetAttrString(context, "saved_tensors"));
  if (!kept || !PyTuple_Check(kept.get())) return nullptr;
  std::vector<PyObject*> given(tangents, tangents + count), saved;
  std::ranges::replace(given, Py_None, nullptr);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kept.get()); ++i)
    saved.push_back(PyTuple_GET_ITEM(kept.get(), i));
  std::vector<PyRef> gradients;
  if (!node->backward(saved, given, keeps_graph(), gradients)) return nullptr;
  PyRef result = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(gradients.size()) + 1));
  if (!result) return nullptr;
  for (std::size_t i = 0; i <= gradients.size(); ++i) {
    PyObject* one = i == 0 || !gradients[i - 1] ? Py_NewRef(Py_None) : gradients[i - 1].release();
    PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), one);
  }
  return result.release();
}

PyMethodDef kForward = {"forward", forward, METH_VARARGS, nullptr};
PyMethodDef kBackward = {"apply",
                         reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(backward)),
                         METH_FASTCALL, nullptr};

/// The apply() of a new class of nodes, bound to it; null with a Python error set.
PyRef make_apply(const std::string& name) {
  const PyRef base = of_torch({"autograd", "Function"});
  const PyRef forward = PyRef::steal(PyCFunction_New(&kForward, nullptr));
  const PyRef attributes = PyRef::steal(PyDict_New());
  if (!base || !forward || !attributes ||
      PyDict_SetItemString(attributes.get(), "forward", forward.get()) < 0)
    return nullptr;
  const PyRef type =
      PyRef::steal(PyObject_CallFunction(reinterpret_cast<PyObject*>(Py_TYPE(base.get())), "s(O)O",
                                         "Compiled", base.get(), attributes.get()));
  const PyRef node =
      type ? PyRef::steal(PyObject_GetAttrString(type.get(), "_backward_cls")) : nullptr;
  if (!node) return nullptr;
  const PyRef method =
      PyRef::steal(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(node.get()), &kBackward));
  if (!method || PyObject_SetAttrString(node.get(), "apply", method.get()) < 0) return nullptr;
  if (!name.empty()) {
    const PyRef shown = PyRef::steal(PyUnicode_FromString(name.c_str()));
    if (!shown || PyObject_SetAttrString(node.get(), "__name__", shown.get()) < 0 ||
        PyObject_SetAttrString(node.get(), "__qualname__", shown.get()) < 0)
      return nullptr;
  }
  const PyRef super = of_torch({"_C", "_FunctionBase", "__dict__"});
  const PyRef wrapped = super ? PyRef::steal(PyObject_GetItem(
                                    super.get(), PyRef::steal(PyUnicode_FromString("apply")).get()))
                              : nullptr;
  return wrapped ? PyRef::steal(
                       PyObject_CallMethod(wrapped.get(), "__get__", "OO", Py_None, type.get()))
                 : nullptr;
}

bool attach(PyObject* apply, const GradientEdges& edges, std::unique_ptr<GradientNode> node) {
  Attaching attaching{&edges, std::move(node)};
  const PyRef capsule = PyRef::steal(PyCapsule_New(&attaching, kEdgesCapsule, nullptr));
  if (!capsule) return false;
  std::vector<PyObject*> args{capsule.get()};
  args.insert(args.end(), edges.inputs.begin(), edges.inputs.end());
  return static_cast<bool>(
      PyRef::steal(PyObject_Vectorcall(apply, args.data(), args.size(), nullptr)));
}

/// Sees how the engine calls a node.
class Learning final : public GradientNode {
 public:
  bool backward(std::span<PyObject* const>, std::span<PyObject* const> tangents, bool,
                std::vector<PyRef>& gradients) override {
    note_plain_backward();
    gradients.push_back(PyRef::borrow(tangents[0]));
    return true;
  }
};

/// True when a node of the class was seen to work; else a Python error is set.
bool learn(PyObject* apply) {
  const PyRef tensor = of_torch({"Tensor"}), zeros = of_torch({"zeros"});
  if (!tensor || !zeros) return false;
  const PyRef input = PyRef::steal(PyObject_CallFunction(zeros.get(), "i", 1));
  const PyRef output = PyRef::steal(PyObject_CallFunction(zeros.get(), "i", 1));
  if (!input || !output ||
      !PyRef::steal(PyObject_CallMethod(input.get(), "requires_grad_", nullptr)))
    return false;
  PyObject *inputs[] = {input.get()}, *outputs[] = {output.get()};
  return attach(apply, {inputs, outputs, {}}, std::make_unique<Learning>()) &&
         PyRef::steal(PyObject_CallMethod(output.get(), "backward", nullptr));
}

}  // namespace

const GradientNodeClass* GradientNodeClass::find(const std::string& name) {
  // They hold Python objects, and stay until the process ends.
  static auto* const classes = new std::unordered_map<std::string, GradientNodeClass>;
  if (const auto found = classes->find(name); found != classes->end()) return &found->second;
  PyRef apply = make_apply(name);
  if (!apply || (classes->empty() && !learn(apply.get()))) return nullptr;
  return &classes->emplace(name, GradientNodeClass(std::move(apply))).first->second;
}

bool GradientNodeClass::attach(const GradientEdges& edges,
                               std::unique_ptr<GradientNode> node) const {
  return torch::attach(apply_.get(), edges, std::move(node));
}

bool records_gradients_plainly() {
  static auto &kept_anomaly = *new KeptFunction, &kept_hooks = *new KeptFunction;
  PyObject* const anomaly = kept_function(kept_anomaly, {"_C", "is_anomaly_enabled"});
  PyObject* const hooks =
      kept_function(kept_hooks, {"_C", "_autograd", "_top_saved_tensors_default_hooks"});
  const PyRef detects = PyRef::steal(anomaly == nullptr ? nullptr : PyObject_CallNoArgs(anomaly));
  const PyRef hooked =
      PyRef::steal(hooks == nullptr ? nullptr : PyObject_CallOneArg(hooks, Py_False));
  if (!detects || !hooked) PyErr_Clear();
  return detects.get() == Py_False && hooked.get() == Py_None;
}

}  // namespace penstock::torch
