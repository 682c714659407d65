#include "runtime/cuda/cublaslt.h"

#include "runtime/cuda/library_functions.h"

namespace penstock::runtime::cuda {

Cublaslt::Cublaslt() {
  constexpr const char* kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"};
  LibraryFunctions library(kNames);
  library.find(create, "cublasLtCreate");
  library.find(multiply, "cublasLtMatmul");
  library.find(choose, "cublasLtMatmulAlgoGetHeuristic");
  library.find(make_operation, "cublasLtMatmulDescCreate");
  library.find(set_operation, "cublasLtMatmulDescSetAttribute");
  library.find(destroy_operation, "cublasLtMatmulDescDestroy");
  library.find(make_layout, "cublasLtMatrixLayoutCreate");
  library.find(set_layout, "cublasLtMatrixLayoutSetAttribute");
  library.find(destroy_layout, "cublasLtMatrixLayoutDestroy");
  library.find(make_preference, "cublasLtMatmulPreferenceCreate");
  library.find(set_preference, "cublasLtMatmulPreferenceSetAttribute");
  library.find(destroy_preference, "cublasLtMatmulPreferenceDestroy");
  complete = library.all();
}

const Cublaslt& cublaslt() {
  static const Cublaslt functions;
  return functions;
}

}  // namespace penstock::runtime::cuda
