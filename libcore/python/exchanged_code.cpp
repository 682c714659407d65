#include "python/exchanged_code.h"

#include <Python.h>

#include <atomic>

#include "python/code_cache.h"
#include "python/object.h"

namespace penstock::python {
namespace {

std::atomic<std::uint64_t> g_exchanges = 0;
setter g_set_code = nullptr;  ///< CPython's; null until they are counted

int set_code_and_count(PyObject* function, PyObject* code, void* closure) {
  auto* before = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  const CodeRecord* record = find_record(before);
  const bool was_seen = record != nullptr && record->bytecode != nullptr;
  if (g_set_code(function, code, closure) < 0) return -1;
  if (was_seen) g_exchanges.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

}  // namespace

std::uint64_t code_exchanges() {
  return g_exchanges.load(std::memory_order_relaxed);
}

void count_exchanged_code() {
  if (g_set_code != nullptr) return;
  const PyRef found = PyRef::steal(
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyFunction_Type), "__code__"));
  if (!found || !Py_IS_TYPE(found.get(), &PyGetSetDescr_Type)) {
    PyErr_Clear();
    return;
  }
  auto* descriptor = reinterpret_cast<PyGetSetDescrObject*>(found.get());
  if (descriptor->d_getset->set == nullptr) return;
  // CPython's own row is left as it is: the descriptor gets one like it.
  static PyGetSetDef row;
  row = *descriptor->d_getset;
  g_set_code = row.set;
  row.set = set_code_and_count;
  descriptor->d_getset = &row;
}

}  // namespace penstock::python
