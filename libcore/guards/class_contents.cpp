#include "guards/class_contents.h"

#include <string_view>
#include <utility>

#include "python/layout.h"
#include "python/versions/type_dict.h"

namespace penstock::guards {

namespace {

using python::PyRef;

/// The dicts of a class and its bases, in the order in which names are looked up.
template <class Visit>
bool for_each_dict(PyTypeObject* type, const Visit& visit) {
  PyObject* order = type->tp_mro;
  if (order == nullptr) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order); ++i) {
    PyObject* base = PyTuple_GET_ITEM(order, i);
    PyObject* dict =
        PyType_Check(base) ? python::type_dict(reinterpret_cast<PyTypeObject*>(base)) : nullptr;
    if (dict == nullptr || !python::counts_changes(dict)) return false;
    if (!visit(static_cast<std::size_t>(i), reinterpret_cast<PyTypeObject*>(base), dict))
      return false;
  }
  return true;
}

}  // namespace

bool ClassContents::is_restored_by_torch(PyTypeObject* type) {
  constexpr std::string_view kName = "Module", kHome = "torch.nn.modules.module";
  if (type->tp_name != kName) return false;
  PyObject* dict = python::type_dict(type);
  PyObject* home = dict != nullptr ? PyDict_GetItemString(dict, "__module__") : nullptr;
  return home != nullptr && PyUnicode_Check(home) &&
         PyUnicode_CompareWithASCIIString(home, kHome.data()) == 0;
}

std::shared_ptr<const ClassContents::Items> ClassContents::items_of(PyObject* dict) {
  // Guards of all entries share what was found last, which outlives the interpreter.
  static auto& last = *new std::shared_ptr<const Items>;
  static std::uint64_t version = 0;
  if (last != nullptr && version == python::dict_version(dict)) return last;
  auto items = std::make_shared<Items>();
  Py_ssize_t place = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(dict, &place, &key, &value) != 0) {
    items->keys_and_values.push_back(PyRef::borrow(key));
    items->keys_and_values.push_back(PyRef::borrow(value));
  }
  version = python::dict_version(dict);
  return last = std::move(items);
}

ClassContents::ClassContents(PyTypeObject* type) : type_(type) {
  const bool known = for_each_dict(type, [&](std::size_t, PyTypeObject* base, PyObject* dict) {
    versions_.push_back(python::dict_version(dict));
    if (is_restored_by_torch(base)) items_ = items_of(dict);
    return true;
  });
  if (!known) versions_.clear();
}

bool ClassContents::are_of(PyTypeObject* type) {
  if (type != type_ || versions_.empty()) return false;
  if (type->tp_mro == nullptr ||
      static_cast<std::size_t>(PyTuple_GET_SIZE(type->tp_mro)) != versions_.size())
    return false;
  return for_each_dict(type, [&](std::size_t place, PyTypeObject* base, PyObject* dict) {
    std::uint64_t& version = versions_[place];
    if (version == python::dict_version(dict)) return true;
    if (items_ == nullptr || !is_restored_by_torch(base)) return false;
    const auto& before = items_->keys_and_values;
    const auto now = items_of(dict);
    if (before.size() != now->keys_and_values.size()) return false;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i].get() != now->keys_and_values[i].get()) return false;
    }
    version = python::dict_version(dict);
    return true;
  });
}

}  // namespace penstock::guards
