#include "runtime/library/product.h"

#include <algorithm>
#include <optional>

namespace penstock::runtime {

namespace {

/// Gives an operand the rank of the result, ones in front, and drops strides of what is repeated.
Operand with_rank(Operand operand, std::size_t rank, bool keep_last_two) {
  std::size_t missing = rank - operand.sizes.size();
  operand.sizes.insert(operand.sizes.begin(), missing, 1);
  operand.strides.insert(operand.strides.begin(), missing, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    bool repeated = operand.strides[i] == 0 && operand.sizes[i] > 1;
    if (repeated && (i + 2 < rank || !keep_last_two)) operand.sizes[i] = 1;
  }
  // A dim of one element may have any stride; oneDNN wants a sensible one.
  std::int64_t next = 1;
  for (std::size_t i = rank; i-- > 0;) {
    if (operand.sizes[i] == 1) operand.strides[i] = next;
    next = std::max(next, operand.strides[i] * operand.sizes[i]);
  }
  return operand;
}

/// Whether the dims before the last may be one dim. Those of one element have no say.
bool rows_join(const Operand& operand) {
  std::optional<std::int64_t> reach;  // of the dims behind
  for (std::size_t i = operand.sizes.size() - 1; i-- > 0;) {
    if (operand.sizes[i] == 1) continue;
    if (reach && operand.strides[i] != *reach) return false;
    reach = operand.sizes[i] * operand.strides[i];
  }
  return true;
}

Operand join_rows(const Operand& operand) {
  std::size_t rank = operand.sizes.size();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < rank; ++i) rows *= operand.sizes[i];
  // The innermost dim of more than one element gives the step from row to row.
  std::int64_t stride = operand.strides[rank - 2];
  for (std::size_t i = rank - 1; i-- > 0;) {
    if (operand.sizes[i] == 1) continue;
    stride = operand.strides[i];
    break;
  }
  return {operand.dtype, {rows, operand.sizes[rank - 1]}, {stride, operand.strides[rank - 1]}};
}

std::int64_t batch_of(const Operand& operand) {
  std::int64_t batch = 1;
  for (std::size_t i = 0; i + 2 < operand.sizes.size(); ++i) batch *= operand.sizes[i];
  return batch;
}

/// A row vector, or a full matrix, which joins as the result does.
bool joins_with_result(const Operand& operand, const Operand& out) {
  if (operand.sizes == out.sizes) return rows_join(operand);
  for (std::size_t i = 0; i + 1 < operand.sizes.size(); ++i) {
    if (operand.sizes[i] != 1) return false;
  }
  return true;
}

/// A row or a column may be stepped over in any way: as the other dim of the matrix lets it be
/// read.
Operand with_dense_dim(Operand operand) {
  const std::size_t rank = operand.sizes.size();
  std::int64_t &row = operand.strides[rank - 2], &column = operand.strides[rank - 1];
  const std::int64_t rows = operand.sizes[rank - 2], columns = operand.sizes[rank - 1];
  if (columns == 1) column = 1;
  if (columns == 1) row = rows == 1 ? 1 : row;
  if (rows == 1) row = column == 1 ? columns : 1;
  return operand;
}

Product with_dense_dims(Product product) {
  for (Operand* matrix : {&product.a, &product.b, &product.out}) *matrix = with_dense_dim(*matrix);
  return product;
}

bool repeats_batches(const Operand& operand) {
  for (std::size_t i = 0; i + 2 < operand.sizes.size(); ++i) {
    if (operand.strides[i] == 0 && operand.sizes[i] > 1) return true;
  }
  return false;
}

bool has_dense_rows(const Operand& operand) {
  const std::size_t rank = operand.sizes.size();
  return operand.strides[rank - 1] == 1 && operand.strides[rank - 2] >= operand.sizes[rank - 1];
}

}  // namespace

Product simplify(Product product) {
  std::size_t rank = product.out.sizes.size();
  product.a = with_rank(product.a, rank, true);
  product.b = with_rank(product.b, rank, true);
  product.out = with_rank(product.out, rank, true);
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    // Both operands repeated: one of them has to have the batch, in a copy.
    if (product.a.sizes[i] != 1 || product.b.sizes[i] != 1 || product.out.sizes[i] == 1) continue;
    product.a.sizes[i] = product.out.sizes[i];
    product.a.strides[i] = 0;
  }
  bool join = rank > 2 && batch_of(product.b) == 1 && rows_join(product.a) &&
              rows_join(product.out) &&
              product.a.sizes[rank - 2] * batch_of(product.a) ==
                  product.out.sizes[rank - 2] * batch_of(product.out);
  for (Operand& operand : product.post_ops) {
    operand = with_rank(operand, rank, false);
    join = join && joins_with_result(operand, product.out);
  }
  if (!join) return with_dense_dims(std::move(product));
  for (Operand& operand : product.post_ops) {
    if (operand.sizes == product.out.sizes) {
      operand = join_rows(operand);
    } else {
      operand = {operand.dtype,
                 {1, operand.sizes[rank - 1]},
                 {operand.sizes[rank - 1], operand.strides[rank - 1]}};
    }
  }
  product.a = join_rows(product.a);
  product.b = {product.b.dtype,
               {product.b.sizes[rank - 2], product.b.sizes[rank - 1]},
               {product.b.strides[rank - 2], product.b.strides[rank - 1]}};
  product.out = join_rows(product.out);
  return with_dense_dims(std::move(product));
}

bool readable(const Operand& operand) {
  const std::size_t rank = operand.sizes.size();
  // Of a single row oneDNN 3 reads the elements side by side, whatever its strides say.
  const bool dense_columns = operand.strides[rank - 2] == 1 && operand.sizes[rank - 2] > 1 &&
                             operand.strides[rank - 1] >= operand.sizes[rank - 2];
  return !repeats_batches(operand) && (has_dense_rows(operand) || dense_columns);
}

bool writable(const Operand& operand) {
  const std::size_t rank = operand.sizes.size();
  // A single column it writes side by side.
  const bool far_column =
      operand.sizes[rank - 1] == 1 && operand.sizes[rank - 2] > 1 && operand.strides[rank - 2] != 1;
  return !repeats_batches(operand) && has_dense_rows(operand) && !far_column;
}

double operations(const Product& product) {
  double count = 2 * static_cast<double>(product.a.sizes.back());
  for (const std::int64_t size : product.out.sizes) count *= static_cast<double>(size);
  return count;
}

}  // namespace penstock::runtime
