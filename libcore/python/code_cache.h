#pragma once

#include <memory>

#include "python/bytecode.h"
#include "python/rest.h"

namespace penstock::python {

/// What we keep with a code object, in its co_extra; freed with it.
struct CodeRecord {
  std::unique_ptr<Bytecode> bytecode;  ///< made on first use
  bool skip = false;                   ///< never conducted (skip_code)
  bool ours = false;                   ///< besides, not counted
  Rest rest;
};

/// co_extra's layout: private to codeobject.c, the same in 3.6 to 3.13.
struct CodeExtra {
  Py_ssize_t size;
  void* slots[1];
};

/// The index that CPython gave us in co_extra: one per process, for its life; -1 before the first
/// use.
extern Py_ssize_t g_code_record_index;

/// The record of `code`, or null when it has none yet.
inline CodeRecord* find_record(PyCodeObject* code) {
  const auto* extra = static_cast<const CodeExtra*>(code->co_extra);
  const Py_ssize_t index = g_code_record_index;
  if (extra == nullptr || index < 0 || extra->size <= index) return nullptr;
  return static_cast<CodeRecord*>(extra->slots[index]);
}
/// The record of `code`, made when it has none.
CodeRecord& record_of(PyCodeObject* code);

}  // namespace penstock::python
