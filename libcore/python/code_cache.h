#pragma once

#include <memory>

#include "python/bytecode.h"

namespace penstock::python {

/// What we keep with a code object, in its co_extra; freed with it.
struct CodeRecord {
  std::unique_ptr<Bytecode> bytecode;  ///< made on first use
  bool skip = false;                   ///< never conducted (skip_code)
};

/// The record of `code`, or null when it has none yet. Two loads.
CodeRecord* find_record(PyCodeObject* code);
/// The record of `code`, made when it has none.
CodeRecord& record_of(PyCodeObject* code);

}  // namespace penstock::python
