#pragma once

#include <span>
#include <vector>

#include "runtime/library_kernel.h"

namespace penstock::runtime {

/// Post-ops as loops of their own over a result that lies in memory: for what the library's kernels
/// get wrong or leave out. NaN stays NaN.
class PostOpRows {
 public:
  /// `operands`: of those post-ops that have one, in order; any layout that broadcasts to `out`.
  PostOpRows(std::vector<PostOp> ops, Operand out, std::vector<Operand> operands);
  /// Whether one adds what the result held before.
  bool sums() const { return sums_; }
  /// `before`: what `out` held before the product was written, laid out as it is; null unless
  /// sums().
  void run(void* out, std::span<void* const> operands, const void* before) const;

 private:
  /// A run of elements along the dim in which the result is densest.
  struct Row {
    std::vector<std::int64_t> strides;  ///< of the other dims, as in sizes_
    std::int64_t step = 0;
    DType dtype = DType::float32;
  };
  Row row_of(const Operand& operand) const;
  void run_row(std::int64_t row, void* out, std::span<void* const> operands,
               const void* before) const;

  std::vector<PostOp> ops_;
  std::vector<std::size_t> dims_;    ///< in the order of the rows: the densest last
  std::vector<std::int64_t> sizes_;  ///< of all dims_ but the last
  std::int64_t count_ = 1, rows_ = 1;
  Row out_;
  std::vector<Row> operands_;
  std::size_t rank_;
  bool sums_ = false;
};

}  // namespace penstock::runtime
