// For the Pythons in whose collector we do not reach: it runs during imports as it always does, and
// at the end of the process too.
#include "python/collector_rest.h"
#include "python/last_collections.h"

namespace penstock::python {

CollectorRest::CollectorRest(PyInterpreterState* interpreter, PyObject*)
    : interpreter_(interpreter) {}

CollectorRest::~CollectorRest() = default;

bool spare_imports(PyThreadState*) {
  return false;
}

}  // namespace penstock::python
