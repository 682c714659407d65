#include "python/compile_region.h"

namespace penstock::python {
namespace {

thread_local bool t_inside __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

bool in_compiled_region() {
  return t_inside;
}

void set_in_compiled_region(bool inside) {
  t_inside = inside;
}

}  // namespace penstock::python
