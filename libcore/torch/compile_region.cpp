#include "torch/compile_region.h"

namespace penstock::torch {
namespace {

thread_local bool t_inside __attribute__((tls_model("initial-exec"))) = false;
thread_local PyObject* t_backend __attribute__((tls_model("initial-exec"))) = nullptr;
bool g_runs_backends = false;

}  // namespace

bool in_compiled_region() {
  return t_inside;
}

PyObject* region_backend() {
  return t_backend;
}

void set_in_compiled_region(bool inside, PyObject* backend) {
  t_inside = inside;
  t_backend = inside ? backend : nullptr;
}

bool runs_backends() {
  return g_runs_backends;
}

void set_runs_backends() {
  g_runs_backends = true;
}

}  // namespace penstock::torch
