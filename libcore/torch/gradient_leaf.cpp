// Leaves of torch's graph of gradients, and what hangs on them.
//
// In backward a leaf's gradient comes to stand in `.grad` by a node that torch makes for the leaf
// when an op first uses it (AccumulateGrad), and that lives as long as some graph leads to it: the
// leaf holds it by a weak pointer. Hooks are lists in the leaf's record and in the node. Where all
// of that lies is found as the rest of a tensor is (tensor_calibration.cpp): one known thing is
// done to a tensor of ours, and the words that followed are the ones.
#include "torch/gradient_leaf.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "python/hook.h"
#include "python/made_once.h"
#include "torch/op_counter.h"

namespace penstock::torch {

using python::PyRef;

namespace {

using Words = std::vector<std::uint64_t>;

/// A word as far as we look; what lies behind a node's own memory is not its.
constexpr std::size_t kMostWords = 64;

/// What is at `address`, which the C library gave out `before` words further down.
Words words_at(const void* address, std::size_t before = 0) {
  const auto* words = static_cast<const std::uint64_t*>(address);
  const std::size_t all =
      malloc_usable_size(const_cast<std::uint64_t*>(words - before)) / sizeof(std::uint64_t);
  if (all <= before) return {};
  return Words(words, words + std::min(all - before, kMostWords));
}

/// Words that were null and are not.
std::vector<int> words_set(const Words& before, const Words& after) {
  std::vector<int> set;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i] == 0 && after[i] != 0) set.push_back(static_cast<int>(i));
  }
  return set;
}

bool any_set(const std::uint64_t* record, const std::vector<int>& words) {
  return std::ranges::any_of(words, [&](int word) { return record[word] != 0; });
}

/// Some result that gradients go through from the leaf.
PyRef use_of(PyObject* leaf) {
  return PyRef::steal(PyObject_CallMethod(leaf, "clone", nullptr));
}

/// A hook that does nothing.
PyObject* no_hook() {
  return reinterpret_cast<PyObject*>(&PyBaseObject_Type);
}

/// The node that torch made for the leaf, as Python sees it.
PyRef node_behind(PyObject* use) {
  PyRef object = PyRef::steal(PyObject_GetAttrString(use, "grad_fn"));
  if (object) object = PyRef::steal(PyObject_GetAttrString(object.get(), "next_functions"));
  for (int i = 0; i < 2; ++i) {
    if (!object || !PyTuple_Check(object.get()) || PyTuple_GET_SIZE(object.get()) == 0) return {};
    object = PyRef::borrow(PyTuple_GET_ITEM(object.get(), 0));
  }
  return object;
}

/// How many hold what a weak pointer leads to, by what counts them: its vtable, then the number.
std::uint32_t users(const std::uint64_t* block) {
  return static_cast<std::uint32_t>(block[1]);
}

}  // namespace

PyRef new_leaf() {
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  PyRef leaf =
      PyRef::steal(torch == nullptr ? nullptr : PyObject_CallMethod(torch, "zeros", "i", 1));
  if (!leaf || PyObject_SetAttrString(leaf.get(), "requires_grad", Py_True) < 0) return {};
  return leaf;
}

/// The words of the pointer follow when the leaf is first used.
bool PlainLeaves::find_node_words(PyObject* leaf) {
  const Words before = words_at(bridge_.gradient_record(leaf));
  PyRef use = use_of(leaf);
  if (!use) return false;
  const Words after = words_at(bridge_.gradient_record(leaf));
  const std::vector<int> set = words_set(before, after);
  const bool apart = set.size() == 2 && set[1] == set[0] + 1;
  if (!apart && set.size() != 1) return false;
  const auto* node = reinterpret_cast<const std::uint64_t*>(after[set.front()]);
  const auto* block = reinterpret_cast<const std::uint64_t*>(after[set.back()]);
  // Made with the block, in one piece of memory.
  const std::size_t in_front = apart ? 2 : 0;
  if (node != block + in_front || users(block) == 0) return false;
  node_word_ = set.front();
  users_word_ = set.back();
  PyRef shown = node_behind(use.get());
  for (const char* hook : {"register_prehook", "register_hook"}) {
    const Words unhooked = words_at(node, in_front);
    if (!shown || !PyRef::steal(PyObject_CallMethod(shown.get(), hook, "O", no_hook())))
      return false;
    const std::vector<int> hooked = words_set(unhooked, words_at(node, in_front));
    if (hooked.empty()) return false;
    node_hook_words_.insert(node_hook_words_.end(), hooked.begin(), hooked.end());
  }
  shown = use = PyRef();
  return users(block) == 0;
}

bool PlainLeaves::find_hook_words(PyObject* leaf, const char* method) {
  const Words before = words_at(bridge_.gradient_record(leaf));
  if (!PyRef::steal(PyObject_CallMethod(leaf, method, "O", no_hook()))) return false;
  const std::vector<int> set = words_set(before, words_at(bridge_.gradient_record(leaf)));
  hook_words_.insert(hook_words_.end(), set.begin(), set.end());
  return !set.empty();
}

bool PlainLeaves::calibrate() {
  const PyRef used = new_leaf(), hooked = new_leaf(), watched = new_leaf();
  for (const PyRef* leaf : {&used, &hooked, &watched}) {
    if (!*leaf || !bridge_.is_gradient_leaf(leaf->get())) return false;
  }
  return find_node_words(used.get()) && find_hook_words(hooked.get(), "register_hook") &&
         find_hook_words(watched.get(), "register_post_accumulate_grad_hook") && works();
}

/// Tried on other tensors.
bool PlainLeaves::works() const {
  const PyRef leaf = new_leaf();
  if (!leaf || !holds(leaf.get())) return false;
  PyRef use = use_of(leaf.get());
  if (!use || !holds(leaf.get()) || holds(use.get())) return false;
  const PyRef node = node_behind(use.get());
  if (!node || !holds(leaf.get()) ||
      !PyRef::steal(PyObject_CallMethod(node.get(), "register_hook", "O", no_hook())))
    return false;
  return !holds(leaf.get());
}

const PlainLeaves* PlainLeaves::get(const TensorBridge& bridge) {
  static auto& kept = *new python::MadeOnce<PlainLeaves*>;
  return kept.get([&]() -> PlainLeaves* {
    const python::HookPause pause;
    std::unique_ptr<PlainLeaves> leaves(new PlainLeaves(bridge));
    begin_ops_apart();
    const bool found = leaves->calibrate();
    end_ops_apart();
    PyErr_Clear();
    return found ? leaves.release() : nullptr;
  });
}

bool PlainLeaves::holds(PyObject* tensor) const {
  if (!bridge_.is_gradient_leaf(tensor)) return false;
  const std::uint64_t* record = bridge_.gradient_record(tensor);
  if (any_set(record, hook_words_)) return false;
  const auto* node = reinterpret_cast<const std::uint64_t*>(record[node_word_]);
  const auto* block = reinterpret_cast<const std::uint64_t*>(record[users_word_]);
  return block == nullptr || users(block) == 0 || !any_set(node, node_hook_words_);
}

}  // namespace penstock::torch
