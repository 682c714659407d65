// Products by the BLAS of the process: torch's wheels bring one (MKL on x86) and export its Fortran
// names, whose calling convention has been the same since 1990.
//
// A weight that changes in every step and a matrix of activations are not packed ahead. MKL packs
// panels as it goes and reaches the peak of Intel's processors from matrices as they lie,
// transposed or not, where oneDNN's generated kernels reach between a third and nine tenths of it
// (the products of BERT's backward pass, AVX-512, 2 threads, GFLOP/s: 110 to 360 against 330 to
// 410). On other makers' processors MKL takes paths that lose to oneDNN, so it is left alone there.
// Results depend on the number of threads, so a deterministic library does not come here.
#include <dlfcn.h>

#include <limits>

#include "runtime/library/operand_layouts.h"
#include "runtime/library/product.h"
#include "runtime/library/thread_limit.h"

namespace penstock::runtime {

namespace {

/// sgemm of the reference BLAS: c = alpha * op(a) * op(b) + beta * c, matrices column by column.
using MultiplySingle = void (*)(const char* transposed_a, const char* transposed_b, const int* m,
                                const int* n, const int* k, const float* alpha, const float* a,
                                const int* lda, const float* b, const int* ldb, const float* beta,
                                float* c, const int* ldc);

/// Null where torch is not in the process, brings none, or oneDNN is the faster.
MultiplySingle process_blas() {
  if (!__builtin_cpu_is("intel")) return nullptr;
  // Held for good: it is the program's torch, which is never unloaded.
  void* torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  return torch == nullptr ? nullptr : reinterpret_cast<MultiplySingle>(dlsym(torch, "sgemm_"));
}

bool fits_int(const Operand& operand) {
  constexpr std::int64_t kLargest = std::numeric_limits<int>::max();
  return operand.sizes[0] <= kLargest && operand.sizes[1] <= kLargest &&
         operand.strides[0] <= kLargest && operand.strides[1] <= kLargest;
}

/// A row-major matrix is the transposed one column by column: the operands change places.
struct ColumnMajor {
  char transposed;  ///< 'N' or 'T'
  int step;         ///< from column to column
};

ColumnMajor column_major(const Operand& matrix) {
  const bool rows_dense = matrix.strides[1] == 1 && matrix.strides[0] >= matrix.sizes[1];
  const std::int64_t step = rows_dense ? matrix.strides[0] : matrix.strides[1];
  return {rows_dense ? 'N' : 'T', static_cast<int>(step)};
}

class BlasMatmul : public LibraryKernel {
 public:
  BlasMatmul(MultiplySingle multiply, const Product& product, float alpha, float beta)
      : multiply_(multiply),
        rows_(static_cast<int>(product.out.sizes[0])),
        columns_(static_cast<int>(product.out.sizes[1])),
        inner_(static_cast<int>(product.a.sizes[1])),
        a_(column_major(product.a)),
        b_(column_major(product.b)),
        step_(static_cast<int>(product.out.strides[0])),
        alpha_(alpha),
        beta_(beta) {}

  std::size_t scratch_bytes() const override { return 0; }
  std::string_view implementation() const override { return "blas:sgemm"; }

  Result<void> run(const LibraryMemory& memory) override {
    multiply_(&b_.transposed, &a_.transposed, &columns_, &rows_, &inner_, &alpha_,
              static_cast<const float*>(memory.inputs[1]), &b_.step,
              static_cast<const float*>(memory.inputs[0]), &a_.step, &beta_,
              static_cast<float*>(memory.outputs[0]), &step_);
    return {};
  }

 private:
  MultiplySingle multiply_;
  int rows_, columns_, inner_;
  ColumnMajor a_, b_;
  int step_;  ///< from row to row of the result
  float alpha_, beta_;
};

}  // namespace

std::unique_ptr<LibraryKernel> make_blas_matmul(const LibraryCall& call, const Product& product) {
  if (!call.prepack.empty() || product.out.sizes.size() != 2) return nullptr;
  if (operations(product) <= kAlone) return nullptr;  // waking a team does not pay
  float alpha = 1, beta = 0;
  for (const PostOp& op : call.post_ops) {
    if (op.kind == PostOp::Kind::scale && beta == 0) {
      alpha *= static_cast<float>(op.alpha);
    } else if (op.kind == PostOp::Kind::sum && beta == 0) {
      beta = 1;
    } else {
      return nullptr;
    }
  }
  for (const Operand* operand : {&product.a, &product.b, &product.out}) {
    if (operand->dtype != DType::float32 || !readable(*operand) || !fits_int(*operand))
      return nullptr;
  }
  if (!writable(product.out)) return nullptr;
  static const MultiplySingle multiply = process_blas();
  if (multiply == nullptr) return nullptr;
  return std::make_unique<BlasMatmul>(multiply, product, alpha, beta);
}

}  // namespace penstock::runtime
