#include "tools/extension/program_streams.h"

#include <stdio.h>

#include "python/object.h"

namespace penstock::tools {

void flush_streams() {
  PyErr_Clear();
  for (const char* name : {"stdout", "stderr"}) {
    PyObject* stream = PySys_GetObject(name);
    if (stream == nullptr || stream == Py_None) continue;
    if (!python::PyRef::steal(PyObject_CallMethod(stream, "flush", nullptr))) PyErr_Clear();
  }
  fflush(nullptr);
}

}  // namespace penstock::tools
