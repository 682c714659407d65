// Stands for the library of torch that brings a BLAS: sgemm as the reference implementation has it,
// summed in double.

extern "C" __attribute__((visibility("default"))) void sgemm_(
    const char* transposed_a, const char* transposed_b, const int* m, const int* n, const int* k,
    const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
    const float* beta, float* c, const int* ldc) {
  const auto element = [](const float* from, char transposed, int step, int i, int j) {
    return static_cast<double>(transposed == 'N' ? from[i + j * step] : from[j + i * step]);
  };
  for (int j = 0; j < *n; ++j) {
    for (int i = 0; i < *m; ++i) {
      double sum = 0;
      for (int l = 0; l < *k; ++l) {
        sum += element(a, *transposed_a, *lda, i, l) * element(b, *transposed_b, *ldb, l, j);
      }
      float& out = c[i + j * *ldc];
      out = static_cast<float>(*alpha * sum + (*beta == 0 ? 0 : static_cast<double>(*beta) * out));
    }
  }
}
