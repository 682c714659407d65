#include "python/step/families.h"
#include "python/tensor_functions.h"

namespace penstock::python {

int truth_of(PyObject* object) {
  if (object == Py_True) return 1;
  if (object == Py_False || object == Py_None) return 0;
  const auto truth = tensor_functions().truth;
  const int known = truth == nullptr ? -1 : truth(object);
  return known >= 0 ? known : PyObject_IsTrue(object);
}

}  // namespace penstock::python
