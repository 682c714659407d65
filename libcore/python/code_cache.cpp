#include "python/code_cache.h"

#include "python/cpython.h"

namespace penstock::python {
namespace {

// CPython hands out one index per user and per process; it lives as long as the interpreter does.
Py_ssize_t g_index = -1;

void free_record(void* record) {
  delete static_cast<CodeRecord*>(record);
}

/// co_extra's layout: private to codeobject.c, the same in 3.6 to 3.13.
struct CodeExtra {
  Py_ssize_t size;
  void* slots[1];
};

}  // namespace

CodeRecord* find_record(PyCodeObject* code) {
  const auto* extra = static_cast<const CodeExtra*>(code->co_extra);
  if (extra == nullptr || g_index < 0 || extra->size <= g_index) return nullptr;
  return static_cast<CodeRecord*>(extra->slots[g_index]);
}

CodeRecord& record_of(PyCodeObject* code) {
  if (CodeRecord* found = find_record(code)) return *found;
  if (g_index < 0) g_index = _PyEval_RequestCodeExtraIndex(free_record);
  auto* record = new CodeRecord;
  if (_PyCode_SetExtra(reinterpret_cast<PyObject*>(code), g_index, record) < 0) {
    Py_FatalError("penstock: no memory to keep data with a code object");
  }
  return *record;
}

Bytecode& bytecode_of(PyCodeObject* code) {
  CodeRecord& record = record_of(code);
  if (!record.bytecode) record.bytecode = std::make_unique<Bytecode>(code);
  return *record.bytecode;
}

}  // namespace penstock::python
