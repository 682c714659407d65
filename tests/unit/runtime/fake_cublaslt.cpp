// cuBLASLt for tests, under the name of the real one: products of float32 on the host, put into the
// streams of fake_cuda.cpp. It is as strict as the real one about leading dims and layouts.
#include "fake_cublaslt.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "fake_cuda.h"

namespace {

enum : int { kSuccess = 0, kInvalid = 7, kUnsupported = 15 };

struct Layout {
  std::int64_t rows = 0, columns = 0, leading = 0, stride = 0;
  std::int32_t count = 1;
};
struct Operation {
  int compute = 0, transposed_a = 0, transposed_b = 0;
  std::uint32_t epilogue = 1;
  const float* bias = nullptr;
};
struct Choice {
  std::uint64_t algorithm[8];
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

FakeCublaslt g_facts;
int g_handle = 0;

float element(const float* matrix, const Layout& layout, bool transposed, std::int64_t row,
              std::int64_t column) {
  return transposed ? matrix[column + row * layout.leading] : matrix[row + column * layout.leading];
}

float activated(float value, std::uint32_t epilogue) {
  if ((epilogue & 2) != 0) return std::max(value, 0.0F);
  if ((epilogue & 32) != 0)
    return 0.5F * value *
           (1 + std::tanh(0.7978845608F * (value + 0.044715F * value * value * value)));
  return value;
}

void multiply(const Operation& operation, float alpha, const float* a, const Layout& la,
              const float* b, const Layout& lb, float beta, const float* c, const Layout& lc,
              float* d, const Layout& ld) {
  const std::int64_t inner = operation.transposed_a != 0 ? la.rows : la.columns;
  for (std::int64_t n = 0; n < ld.count; ++n) {
    for (std::int64_t j = 0; j < ld.columns; ++j) {
      for (std::int64_t i = 0; i < ld.rows; ++i) {
        float sum = 0;
        for (std::int64_t k = 0; k < inner; ++k)
          sum += element(a + n * la.stride, la, operation.transposed_a != 0, i, k) *
                 element(b + n * lb.stride, lb, operation.transposed_b != 0, k, j);
        sum *= alpha;
        if (beta != 0) sum += beta * c[n * lc.stride + i + j * lc.leading];
        if ((operation.epilogue & 4) != 0) sum += operation.bias[i];
        d[n * ld.stride + i + j * ld.leading] = activated(sum, operation.epilogue);
      }
    }
  }
}

}  // namespace

extern "C" {

FakeCublaslt* fake_cublaslt() {
  return &g_facts;
}
int cublasLtCreate(void** handle) {
  *handle = &g_handle;
  return kSuccess;
}
int cublasLtMatmulDescCreate(void** operation, int compute, int) {
  ++g_facts.alive;
  *operation = new Operation{compute};
  return kSuccess;
}
int cublasLtMatmulDescDestroy(void* operation) {
  --g_facts.alive;
  delete static_cast<Operation*>(operation);
  return kSuccess;
}
int cublasLtMatmulDescSetAttribute(void* operation, int attribute, const void* value,
                                   std::size_t bytes) {
  auto* own = static_cast<Operation*>(operation);
  void* place = attribute == 3   ? static_cast<void*>(&own->transposed_a)
                : attribute == 4 ? static_cast<void*>(&own->transposed_b)
                : attribute == 7 ? static_cast<void*>(&own->epilogue)
                : attribute == 8 ? static_cast<void*>(&own->bias)
                                 : nullptr;
  if (place == nullptr || bytes != (attribute == 8 ? 8U : 4U)) return kInvalid;
  std::memcpy(place, value, bytes);
  return kSuccess;
}
int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t leading) {
  if (type != 0 || leading < static_cast<std::int64_t>(rows)) return kInvalid;
  ++g_facts.alive;
  *layout = new Layout{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading,
                       0, 1};
  return kSuccess;
}
int cublasLtMatrixLayoutDestroy(void* layout) {
  --g_facts.alive;
  delete static_cast<Layout*>(layout);
  return kSuccess;
}
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value,
                                     std::size_t bytes) {
  auto* own = static_cast<Layout*>(layout);
  void* place = attribute == 5   ? static_cast<void*>(&own->count)
                : attribute == 6 ? static_cast<void*>(&own->stride)
                                 : nullptr;
  if (place == nullptr || bytes != (attribute == 5 ? 4U : 8U)) return kInvalid;
  std::memcpy(place, value, bytes);
  return kSuccess;
}
int cublasLtMatmulPreferenceCreate(void** preference) {
  ++g_facts.alive;
  *preference = new int(0);
  return kSuccess;
}
int cublasLtMatmulPreferenceDestroy(void* preference) {
  --g_facts.alive;
  delete static_cast<int*>(preference);
  return kSuccess;
}
int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, std::size_t) {
  return kSuccess;
}
int cublasLtMatmulAlgoGetHeuristic(void*, void* operation, void*, void*, void*, void*, void*, int,
                                   void* choices, int* found) {
  ++g_facts.choices;
  g_facts.compute = static_cast<Operation*>(operation)->compute;
  Choice choice{};
  choice.workspace = g_facts.workspace;
  choice.algorithm[0] = 7;
  std::memcpy(choices, &choice, sizeof choice);
  *found = g_facts.knows_none ? 0 : 1;
  return kSuccess;
}
int cublasLtMatmul(void* handle, void* operation, const void* alpha, const void* a, void* la,
                   const void* b, void* lb, const void* beta, const void* c, void* lc, void* d,
                   void* ld, const void* algorithm, void* workspace, std::size_t bytes,
                   void* stream) {
  const bool good = handle == &g_handle && *static_cast<const std::uint64_t*>(algorithm) == 7 &&
                    (bytes == 0) == (workspace == nullptr) && bytes == g_facts.workspace;
  if (!good) return kUnsupported;
  ++g_facts.products;
  const auto layout = [](void* of) { return *static_cast<Layout*>(of); };
  auto put = reinterpret_cast<decltype(&fake_cuda_put)>(dlsym(RTLD_DEFAULT, "fake_cuda_put"));
  put(stream, [own = *static_cast<Operation*>(operation), alpha = *static_cast<const float*>(alpha),
               beta = *static_cast<const float*>(beta), a, b, c, d, la = layout(la),
               lb = layout(lb), lc = layout(lc), ld = layout(ld)] {
    multiply(own, alpha, static_cast<const float*>(a), la, static_cast<const float*>(b), lb, beta,
             static_cast<const float*>(c), lc, static_cast<float*>(d), ld);
  });
  return kSuccess;
}

}  // extern "C"
