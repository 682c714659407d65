#include "python/tensor_functions.h"

namespace penstock::python {

namespace {

TensorFunctions g_functions;  // of the process, as the hook is

}  // namespace

void set_tensor_functions(const TensorFunctions& functions) {
  g_functions = functions;
}

const TensorFunctions& tensor_functions() {
  return g_functions;
}

}  // namespace penstock::python
