#include "python/code_cache.h"

#include "python/cpython.h"
#include "python/versions/private_api.h"

namespace penstock::python {

Py_ssize_t g_code_record_index = -1;

namespace {

void free_record(void* record) {
  delete static_cast<CodeRecord*>(record);
}

/// True for the code of import itself, below which libraries are imported (collector_rest.h).
bool imports(PyCodeObject* code) {
  constexpr const char* kImport = "<frozen importlib._bootstrap>";
  return PyUnicode_CompareWithASCIIString(code->co_filename, kImport) == 0;
}

}  // namespace

CodeRecord& record_of(PyCodeObject* code) {
  if (CodeRecord* found = find_record(code)) return *found;
  if (g_code_record_index < 0) g_code_record_index = code_extra_index(free_record);
  auto* record = new CodeRecord;
  if (imports(code)) record->rest.never();
  if (set_code_extra(reinterpret_cast<PyObject*>(code), g_code_record_index, record) < 0) {
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
