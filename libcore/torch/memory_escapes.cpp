#include "torch/memory_escapes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "python/weak_reference.h"

namespace penstock::torch {

using python::PyRef;

namespace {

getter g_data = nullptr;
setter g_set_data = nullptr;
PyCFunctionWithKeywords g_numpy = nullptr;

PyObject* get_data(PyObject* tensor, void* closure) {
  MemoryEscapes::get().note(tensor, false);
  return g_data(tensor, closure);
}

/// The tensor shows other memory from now on, which others may have.
int set_data(PyObject* tensor, PyObject* value, void* closure) {
  const int status = g_set_data(tensor, value, closure);
  if (status == 0) MemoryEscapes::get().note(tensor, false);
  return status;
}

PyObject* to_numpy(PyObject* tensor, PyObject* args, PyObject* keywords) {
  MemoryEscapes::get().note(tensor, true);
  return g_numpy(tensor, args, keywords);
}

/// The kernels that write lists of tensors and count none of it.
constexpr const char* kUncounted[] = {"_fused_adam_", "_fused_adamw_", "_fused_sgd_",
                                      "_fused_adagrad_"};
PyCFunctionWithKeywords g_uncounted[std::size(kUncounted)] = {};
thread_local bool t_counted = false;

template <std::size_t Which>
PyObject* write_lists(PyObject* self, PyObject* args, PyObject* keywords) {
  const bool counted = std::exchange(t_counted, false);
  PyObject* result = g_uncounted[Which](self, args, keywords);
  if (counted) return result;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
    MemoryEscapes::get().note_list(PyTuple_GET_ITEM(args, i));
  PyObject *key = nullptr, *list = nullptr;
  for (Py_ssize_t at = 0; keywords != nullptr && PyDict_Next(keywords, &at, &key, &list);)
    MemoryEscapes::get().note_list(list);
  PyErr_Restore(type, value, traceback);
  return result;
}

/// Functions that write statistics of batch normalisation and do not count it, and where these
/// stand among the arguments; `training`: a truth without which they only read them.
struct StatisticsWriter {
  const char* name;
  Py_ssize_t mean, training;
};
constexpr StatisticsWriter kStatisticsWriters[] = {
    {"batch_norm", 3, 5},
    {"native_batch_norm", 3, 5},
    {"cudnn_batch_norm", 3, 5},
    {"miopen_batch_norm", 3, 5},
    {"batch_norm_gather_stats", 3, -1},
    {"batch_norm_gather_stats_with_counts", 3, -1},
    {"batch_norm_update_stats", 1, -1},
};
PyCFunctionWithKeywords g_statistics_writers[std::size(kStatisticsWriters)] = {};

PyObject* argument_at(PyObject* args, PyObject* keywords, Py_ssize_t place, const char* name) {
  if (place >= 0 && place < PyTuple_GET_SIZE(args)) return PyTuple_GET_ITEM(args, place);
  return keywords != nullptr ? PyDict_GetItemString(keywords, name) : nullptr;
}

template <std::size_t Which>
PyObject* write_statistics(PyObject* self, PyObject* args, PyObject* keywords) {
  constexpr StatisticsWriter row = kStatisticsWriters[Which];
  PyObject* result = g_statistics_writers[Which](self, args, keywords);
  if (row.training >= 0 && argument_at(args, keywords, row.training, "training") == Py_False)
    return result;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* mean = argument_at(args, keywords, row.mean, "running_mean");
  PyObject* variance = argument_at(args, keywords, row.mean + 1, "running_var");
  if (mean != nullptr) MemoryEscapes::get().note(mean, false);
  if (variance != nullptr) MemoryEscapes::get().note(variance, false);
  PyErr_Restore(type, value, traceback);
  return result;
}

/// A graph of a device writes what it was recorded with, whatever that is.
PyCFunctionWithKeywords g_replay = nullptr;

PyObject* replay(PyObject* self, PyObject* args, PyObject* keywords) {
  MemoryEscapes::get().note_all();
  return g_replay(self, args, keywords);
}

/// Puts `ours` in front of a C function of torch's, which is null where it is no such function.
PyCFunctionWithKeywords put_in_front(PyObject* function, PyCFunctionWithKeywords ours) {
  if (function == nullptr || !PyCFunction_CheckExact(function)) return nullptr;
  PyMethodDef* row = reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
  if ((row->ml_flags & ~METH_STATIC) != (METH_VARARGS | METH_KEYWORDS)) return nullptr;
  auto theirs = reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void*>(row->ml_meth));
  row->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(ours));
  return theirs;
}

PyRef attribute(PyObject* object, const char* name) {
  PyRef found = PyRef::steal(object != nullptr ? PyObject_GetAttrString(object, name) : nullptr);
  PyErr_Clear();
  return found;
}

template <std::size_t... Which>
void watch_lists(PyObject* functions, std::index_sequence<Which...>) {
  ((g_uncounted[Which] =
        put_in_front(attribute(functions, kUncounted[Which]).get(), write_lists<Which>)),
   ...);
}

template <std::size_t... Which>
void watch_statistics(PyObject* functions, std::index_sequence<Which...>) {
  ((g_statistics_writers[Which] = put_in_front(
        attribute(functions, kStatisticsWriters[Which].name).get(), write_statistics<Which>)),
   ...);
}

/// torch._C._CUDAGraph's method, which pybind made.
void watch_replay(PyObject* internals) {
  const PyRef graph = attribute(internals, "_CUDAGraph");
  PyObject* method =
      graph && PyType_Check(graph.get())
          ? PyDict_GetItemString(reinterpret_cast<PyTypeObject*>(graph.get())->tp_dict, "replay")
          : nullptr;
  if (method == nullptr) return;
  PyObject* function =
      PyInstanceMethod_Check(method) ? PyInstanceMethod_GET_FUNCTION(method) : method;
  g_replay = put_in_front(function, replay);
}

/// The descriptor `name` of the C class below torch.Tensor; borrowed, or null.
PyObject* descriptor(const TensorBridge& bridge, const char* name, PyTypeObject* kind) {
  const PyRef text = PyRef::steal(PyUnicode_InternFromString(name));
  PyObject* found = text ? _PyType_Lookup(bridge.tensor_type(), text.get()) : nullptr;
  return found != nullptr && Py_TYPE(found) == kind ? found : nullptr;
}

bool is_dead(const PyRef& weak) {
  return PyWeakref_GET_OBJECT(weak.get()) == Py_None;
}

}  // namespace

MemoryEscapes& MemoryEscapes::get() {
  static auto* escapes = new MemoryEscapes;  // torch's getters call it until the end
  return *escapes;
}

void MemoryEscapes::watch(const TensorBridge& bridge) {
  if (bridge_ != nullptr) return;
  bridge_ = &bridge;
  if (PyObject* internals = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C")) {
    use_count_ = attribute(internals, "_storage_Use_Count");
    if (const PyRef functions = attribute(internals, "_VariableFunctions")) {
      watch_lists(functions.get(), std::make_index_sequence<std::size(kUncounted)>());
      watch_statistics(functions.get(), std::make_index_sequence<std::size(kStatisticsWriters)>());
    }
    watch_replay(internals);
  }
  // The descriptors read torch's tables at each call.
  if (PyObject* data = descriptor(bridge, "data", &PyGetSetDescr_Type)) {
    PyGetSetDef* row = reinterpret_cast<PyGetSetDescrObject*>(data)->d_getset;
    if (row->get != nullptr && row->set != nullptr) {
      g_data = std::exchange(row->get, get_data);
      g_set_data = std::exchange(row->set, set_data);
    }
  }
  if (PyObject* numpy = descriptor(bridge, "numpy", &PyMethodDescr_Type)) {
    PyMethodDef* row = reinterpret_cast<PyMethodDescrObject*>(numpy)->d_method;
    if (row->ml_flags == (METH_VARARGS | METH_KEYWORDS)) {
      g_numpy = reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void*>(row->ml_meth));
      row->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(to_numpy));
    }
  }
}

void MemoryEscapes::note(PyObject* tensor, bool lent) {
  TensorView view;
  if (!bridge_->is_tensor(tensor) || !bridge_->is_dense(tensor) || !bridge_->read(tensor, view)) {
    PyErr_Clear();
    return;
  }
  Escape& escape = escapes_[view.storage];
  escape.count = ++last_;
  if (!lent) return;
  std::erase_if(escape.lenders, is_dead);
  if (PyRef weak = python::weak_reference(tensor)) escape.lenders.push_back(std::move(weak));
}

void MemoryEscapes::note_list(PyObject* list) {
  if (!PyList_Check(list) && !PyTuple_Check(list)) return;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i)
    note(PySequence_Fast_GET_ITEM(list, i), false);
}

void MemoryEscapes::note_all() {
  of_all_ = ++last_;
}

void MemoryEscapes::expect_counted_write() {
  t_counted = true;
}

std::uint64_t MemoryEscapes::count(const void* storage) const {
  if (escapes_.empty()) return of_all_;
  const auto found = escapes_.find(storage);
  return found == escapes_.end() ? of_all_ : std::max(of_all_, found->second.count);
}

bool MemoryEscapes::is_open(const void* storage) {
  const auto found = escapes_.find(storage);
  if (found == escapes_.end()) return false;
  if (!std::ranges::all_of(found->second.lenders, is_dead)) return true;
  found->second.lenders.clear();
  const PyRef address = PyRef::steal(PyLong_FromVoidPtr(const_cast<void*>(storage)));
  const PyRef answer = use_count_ && address
                           ? PyRef::steal(PyObject_CallOneArg(use_count_.get(), address.get()))
                           : PyRef();
  const long users = answer ? PyLong_AsLong(answer.get()) : -1;
  PyErr_Clear();
  return users != 1;  // the tensor at hand alone
}

}  // namespace penstock::torch
