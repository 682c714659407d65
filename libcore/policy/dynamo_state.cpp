#include "policy/dynamo_state.h"

#include "python/hook.h"
#include "python/object.h"

namespace penstock::policy {

using python::PyRef;

namespace {

PyObject* imported(const char* name) {
  return PyDict_GetItemString(PyImport_GetModuleDict(), name);
}

/// True if `table` of torch._dynamo.trace_rules, a set of ids, has that of `object`.
bool is_listed(PyObject* rules, const char* table, PyObject* object) {
  const PyRef holder = PyRef::steal(PyObject_GetAttrString(rules, table));
  const PyRef ids =
      holder ? PyRef::steal(PyObject_GetAttrString(holder.get(), "function_ids")) : PyRef();
  const PyRef id =
      ids && PyAnySet_Check(ids.get()) ? PyRef::steal(PyLong_FromVoidPtr(object)) : PyRef();
  const bool listed = id && PySet_Contains(ids.get(), id.get()) == 1;
  PyErr_Clear();
  return listed;
}

/// counters[table][key] += by, by torch's own code.
void count(const char* table, const char* key, std::size_t by) {
  PyObject* utils = imported("torch._dynamo.utils");
  if (utils == nullptr) return;
  const python::HookPause pause;
  const PyRef counters = PyRef::steal(PyObject_GetAttrString(utils, "counters"));
  const PyRef name = PyRef::steal(PyUnicode_FromString(table)),
              what = PyRef::steal(PyUnicode_FromString(key));
  const PyRef counter =
      counters && name ? PyRef::steal(PyObject_GetItem(counters.get(), name.get())) : PyRef();
  const PyRef before =
      counter && what ? PyRef::steal(PyObject_GetItem(counter.get(), what.get())) : PyRef();
  const PyRef more = PyRef::steal(PyLong_FromSize_t(by));
  const PyRef sum = before && more ? PyRef::steal(PyNumber_Add(before.get(), more.get())) : PyRef();
  if (sum) PyObject_SetItem(counter.get(), what.get(), sum.get());
  PyErr_Clear();
}

}  // namespace

InGraph in_graph(PyObject* callable) {
  // What torch.compiler.allow_in_graph marks where TorchDynamo is not imported
  // (compile_api_source.py).
  PyObject* attributes = PyFunction_Check(callable)
                             ? reinterpret_cast<PyFunctionObject*>(callable)->func_dict
                             : nullptr;
  if (attributes != nullptr && PyDict_GetItemString(attributes, "_penstock_in_graph") == Py_True)
    return InGraph::whole;
  PyObject* rules = imported("torch._dynamo.trace_rules");
  if (rules == nullptr) return InGraph::undecided;
  if (is_listed(rules, "_disallowed_callable_ids", callable)) return InGraph::never;
  return is_listed(rules, "_allowed_callable_ids", callable) ? InGraph::whole : InGraph::undecided;
}

void count_graph(std::size_t calls) {
  count("stats", "calls_captured", calls);
  count("stats", "unique_graphs", 1);
  count("frames", "total", 1);
  count("frames", "ok", 1);
}

void count_graph_break(const std::string& reason) {
  count("graph_break", reason.c_str(), 1);
}

}  // namespace penstock::policy
