#include "runtime/cuda/cublaslt.h"

#include <dlfcn.h>

#include <type_traits>

namespace penstock::runtime::cuda {

namespace {

/// Two versions in one process would each load their kernels: the one that is open goes first.
void* open_library() {
  constexpr const char* kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"};
  for (const int flags : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    for (const char* name : kNames) {
      if (void* library = dlopen(name, flags)) return library;
    }
  }
  return nullptr;
}

}  // namespace

Cublaslt::Cublaslt() {
  void* library = open_library();
  if (library == nullptr) return;
  complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  find(create, "cublasLtCreate");
  find(multiply, "cublasLtMatmul");
  find(choose, "cublasLtMatmulAlgoGetHeuristic");
  find(make_operation, "cublasLtMatmulDescCreate");
  find(set_operation, "cublasLtMatmulDescSetAttribute");
  find(destroy_operation, "cublasLtMatmulDescDestroy");
  find(make_layout, "cublasLtMatrixLayoutCreate");
  find(set_layout, "cublasLtMatrixLayoutSetAttribute");
  find(destroy_layout, "cublasLtMatrixLayoutDestroy");
  find(make_preference, "cublasLtMatmulPreferenceCreate");
  find(set_preference, "cublasLtMatmulPreferenceSetAttribute");
  find(destroy_preference, "cublasLtMatmulPreferenceDestroy");
}

const Cublaslt& cublaslt() {
  static const Cublaslt functions;
  return functions;
}

}  // namespace penstock::runtime::cuda
