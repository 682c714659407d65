#include "record/gradients.h"

#include <algorithm>
#include <string_view>

#include "python/literal.h"

namespace penstock::record {

using python::PyRef;

namespace {

PyRef attribute_of(PyObject* object, const char* name) {
  PyRef value = PyRef::steal(PyObject_GetAttrString(object, name));
  PyErr_Clear();
  return value;
}

/// Or nobody can tell.
bool is_view(PyObject* tensor) {
  return attribute_of(tensor, "_base").get() != Py_None;
}

PyRef grad_fn_of(PyObject* tensor) {
  PyRef node = attribute_of(tensor, "grad_fn");
  return node.get() == Py_None ? PyRef() : node;
}

/// A node in Python's hands: of a torch.autograd.Function.
bool runs_python(PyObject* node) {
  static PyObject* const base = [] {
    PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C");
    PyObject* found = module == nullptr
                          ? nullptr
                          : PyDict_GetItemString(PyModule_GetDict(module), "_FunctionBase");
    return Py_XNewRef(found);
  }();
  return base == nullptr || PyObject_IsInstance(node, base) != 0;
}

/// The nodes that are nearest to the leaves last.
std::vector<PyRef> nodes_before(PyObject* node) {
  std::vector<PyRef> found;
  const PyRef edges = attribute_of(node, "next_functions");
  if (!edges || !PyTuple_Check(edges.get())) return found;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(edges.get()); ++i) {
    PyObject* edge = PyTuple_GET_ITEM(edges.get(), i);
    if (PyTuple_Check(edge) && PyTuple_GET_SIZE(edge) > 0 && PyTuple_GET_ITEM(edge, 0) != Py_None)
      found.push_back(PyRef::borrow(PyTuple_GET_ITEM(edge, 0)));
  }
  return found;
}

/// True for a node that kept tensors for backward and has let go of them: asked for one, it raises.
bool has_let_go(PyObject* node) {
  constexpr std::string_view kSaved = "_saved_";
  const auto is_gone = [&](const char* name) {
    const PyRef saved = PyRef::steal(PyObject_GetAttrString(node, name));
    const bool gone = !saved && PyErr_ExceptionMatches(PyExc_RuntimeError) != 0;
    PyErr_Clear();
    return gone;
  };
  if (runs_python(node)) return is_gone("saved_tensors");
  const PyGetSetDef* fields = Py_TYPE(node)->tp_getset;
  for (; fields != nullptr && fields->name != nullptr; ++fields) {
    if (std::string_view(fields->name).starts_with(kSaved) && is_gone(fields->name)) return true;
  }
  return false;
}

}  // namespace

RecordedOps recorded_ops(PyObject* tensor) {
  RecordedOps ops;
  std::unordered_set<PyObject*> seen;
  if (PyRef first = grad_fn_of(tensor)) {
    seen.insert(first.get());
    ops.nodes.push_back(std::move(first));
  }
  for (std::size_t i = 0; i < ops.nodes.size(); ++i) {
    PyObject* node = ops.nodes[i].get();
    if (PyRef leaf = attribute_of(node, "variable")) ops.leaves.push_back(std::move(leaf));
    if (runs_python(node)) ops.functions.push_back(PyRef::borrow(node));
    for (PyRef& before : nodes_before(node)) {
      if (seen.insert(before.get()).second) ops.nodes.push_back(std::move(before));
    }
  }
  return ops;
}

std::optional<Shadow> Gradients::find(PyObject* tensor) const {
  const auto found = set_.find(tensor);
  return found == set_.end() ? std::nullopt : std::optional(found->second.value);
}

void Gradients::make_leaf(Operand tensor, RaisePlace place) {
  leaves_.try_emplace(tensor.object,
                      MadeLeaf{PyRef::borrow(tensor.object), tensor.shadow.index, place});
}

std::optional<RaisePlace> Gradients::leaf_behind(PyObject* tensor) const {
  if (leaves_.empty()) return std::nullopt;
  const auto place_of = [this](PyObject* leaf) -> std::optional<RaisePlace> {
    const auto found = leaves_.find(leaf);
    return found == leaves_.end() ? std::nullopt : std::optional(found->second.place);
  };
  if (const auto place = place_of(tensor)) return place;
  // A view may not be asked for its grad_fn (name_of_grad_fn): it may hang on any of them.
  if (is_view(tensor))
    return std::ranges::min_element(leaves_, {}, [](const auto& leaf) { return leaf.second.id; })
        ->second.place;
  for (const PyRef& leaf : recorded_ops(tensor).leaves) {
    if (const auto place = place_of(leaf.get())) return place;
  }
  return std::nullopt;
}

void Gradients::set(Operand tensor, Operand value) {
  const auto [found, added] = set_.try_emplace(tensor.object);
  found->second.value = value.shadow;
  if (is_made_leaf(tensor.object)) return;
  if (!added) return effects_.change(*found->second.effect, value);
  found->second.effect = effects_.all().size();
  effects_.add(Restore::Kind::set_attribute, tensor, "grad", {}, value);
}

void Gradients::go_through(const std::vector<PyRef>& nodes, RaisePlace place) {
  if (!went_backward()) first_ = place;
  for (const PyRef& node : nodes) nodes_.try_emplace(node.get(), PyRef::borrow(node.get()));
}

void Gradients::follow(PyRef function) {
  PyObject* node = function.get();
  functions_.try_emplace(node, std::move(function));
}

bool Gradients::follows_all(const std::vector<PyRef>& functions) const {
  return std::ranges::all_of(functions,
                             [&](const PyRef& node) { return functions_.contains(node.get()); });
}

bool Gradients::may_go_back_over(std::size_t nodes) {
  constexpr std::size_t kMostComputed = 4096;
  if (computed_ + nodes > kMostComputed) return false;
  computed_ += nodes;
  return true;
}

bool Gradients::is_spent(PyObject* tensor) const {
  if (is_view(tensor)) return false;
  const RecordedOps ops = recorded_ops(tensor);
  const auto is_known = [this](const PyRef& node) { return nodes_.contains(node.get()); };
  return std::ranges::all_of(ops.nodes, is_known) &&
         std::ranges::any_of(ops.nodes, [](const PyRef& node) { return has_let_go(node.get()); });
}

std::string name_of_grad_fn(PyObject* tensor) {
  const PyRef node = is_view(tensor) ? PyRef() : grad_fn_of(tensor);
  if (!node) return {};
  const std::string_view name = Py_TYPE(node.get())->tp_name;
  return std::string(name.substr(name.rfind('.') + 1));  // npos + 1 is the whole name
}

}  // namespace penstock::record
