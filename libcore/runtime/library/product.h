#pragma once

#include <memory>
#include <vector>

#include "runtime/library_kernel.h"

namespace penstock::runtime {

/// The operands of a product of matrices, or of a batch of them, in the dims of the kernel.
struct Product {
  Operand a, b, out;
  std::vector<Operand> post_ops;
};

/// The same product in as few dims as the strides allow, all operands of one rank: a batch in front
/// of the rows of `a` joins them where `b` has none.
Product simplify(Product product);

/// Whether fast kernels read it in place: one of the last two dims is dense, the other steps over
/// at least as much, and no batch is repeated.
bool readable(const Operand& operand);
/// Whether they write it in place.
bool writable(const Operand& operand);

/// Multiplications and additions of all of it.
double operations(const Product& product);

/// The product by the BLAS that torch has brought into this process, or null: where there is none,
/// where oneDNN is as fast, and for what BLAS has no words for.
std::unique_ptr<LibraryKernel> make_blas_matmul(const LibraryCall& call, const Product& product);

}  // namespace penstock::runtime
