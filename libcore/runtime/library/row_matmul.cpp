// Products of one row and a matrix of its own: attention of a model that decodes, where each token
// asks the keys and values of all before it. Each element of the matrix is read once, so memory
// sets the time. oneDNN's kernels are generated for sizes, and here one of them grows with every
// token; these take sizes when they run.
//
// Where the matrix lies by columns, an element of the result is a sum along one of them; where it
// lies by rows, vectors of the result gather multiples of these. Blocks of the result are shared
// among threads, and the order of a block's additions depends on the sizes alone.
#include <omp.h>

#include <algorithm>
#include <span>

#include "runtime/library/batched.h"
#include "runtime/library/onednn.h"
#include "runtime/library/thread_limit.h"

namespace penstock::runtime {

namespace {

constexpr std::int64_t kBlock =
    64;  ///< elements of the result that one call of a kernel makes, at most
/// Of a matrix that lies by rows: of longer ones a block reads small parts that are far apart.
constexpr std::int64_t kMostColumns = 256;

/// sums[j] = the sum over i < inner of row[i] * matrix(i, j), for `count` columns. `step` is from
/// one line of the matrix to the next: from row to row, or from column to column.
using MultiplyRow = void (*)(std::int64_t inner, const float* row, const float* matrix,
                             std::int64_t step, std::int64_t count, float* sums);

// Both for CPUs with vectors of some length. The compiler cuts vectors before it makes clones of a
// function: each has a text of its own.
#define PS_MULTIPLY_ROW(name, lanes, cpu)                                                      \
  [[gnu::target(cpu)]] void by_columns_##name(std::int64_t inner, const float* row,            \
                                              const float* matrix, std::int64_t step,          \
                                              std::int64_t count, float* sums) {               \
    using Lanes [[gnu::vector_size(lanes * sizeof(float)), gnu::aligned(4), gnu::may_alias]] = \
        float;                                                                                 \
    const std::int64_t whole = inner / lanes * lanes;                                          \
    for (std::int64_t j = 0; j < count; j += 4) {                                              \
      const float* column[4]; /* the last ones again where there are fewer */                  \
      _Pragma("GCC unroll 4") for (int c = 0; c < 4; ++c) column[c] =                          \
          matrix + std::min(j + c, count - 1) * step;                                          \
      Lanes sum[4] = {};                                                                       \
      for (std::int64_t i = 0; i < whole; i += lanes) {                                        \
        const Lanes factor = *reinterpret_cast<const Lanes*>(row + i);                         \
        _Pragma("GCC unroll 4") for (int c = 0; c < 4; ++c) {                                  \
          sum[c] += factor * *reinterpret_cast<const Lanes*>(column[c] + i);                   \
        }                                                                                      \
      }                                                                                        \
      for (int c = 0; c < std::min<std::int64_t>(4, count - j); ++c) {                         \
        float total = 0;                                                                       \
        for (int lane = 0; lane < lanes; ++lane) total += sum[c][lane];                        \
        for (std::int64_t i = whole; i < inner; ++i) total += row[i] * column[c][i];           \
        sums[j + c] = total;                                                                   \
      }                                                                                        \
    }                                                                                          \
  }                                                                                            \
  [[gnu::target(cpu)]] void by_rows_##name(std::int64_t inner, const float* row,               \
                                           const float* matrix, std::int64_t step,             \
                                           std::int64_t count, float* sums) {                  \
    using Lanes [[gnu::vector_size(lanes * sizeof(float)), gnu::aligned(4), gnu::may_alias]] = \
        float;                                                                                 \
    constexpr std::int64_t vectors = 32 / lanes;                                               \
    std::int64_t j = 0;                                                                        \
    for (; j + 32 <= count; j += 32) {                                                         \
      Lanes sum[vectors] = {};                                                                 \
      const float* line = matrix + j;                                                          \
      for (std::int64_t i = 0; i < inner; ++i, line += step) {                                 \
        _Pragma("GCC unroll 8") for (int v = 0; v < vectors; ++v) {                            \
          sum[v] += row[i] * *reinterpret_cast<const Lanes*>(line + v * lanes);                \
        }                                                                                      \
      }                                                                                        \
      _Pragma("GCC unroll 8") for (int v = 0; v < vectors; ++v) {                              \
        *reinterpret_cast<Lanes*>(sums + j + v * lanes) = sum[v];                              \
      }                                                                                        \
    }                                                                                          \
    for (; j + lanes <= count; j += lanes) {                                                   \
      Lanes sum = {};                                                                          \
      for (std::int64_t i = 0; i < inner; ++i)                                                 \
        sum += row[i] * *reinterpret_cast<const Lanes*>(matrix + i * step + j);                \
      *reinterpret_cast<Lanes*>(sums + j) = sum;                                               \
    }                                                                                          \
    for (; j < count; ++j) {                                                                   \
      float sum = 0;                                                                           \
      for (std::int64_t i = 0; i < inner; ++i) sum += row[i] * matrix[i * step + j];           \
      sums[j] = sum;                                                                           \
    }                                                                                          \
  }
PS_MULTIPLY_ROW(512, 16, "avx512f,fma")
PS_MULTIPLY_ROW(256, 8, "avx2,fma")
PS_MULTIPLY_ROW(128, 4, "sse2")
#undef PS_MULTIPLY_ROW

MultiplyRow choose_kernel(bool by_columns) {
  if (__builtin_cpu_supports("avx512f")) return by_columns ? by_columns_512 : by_rows_512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return by_columns ? by_columns_256 : by_rows_256;
  return by_columns ? by_columns_128 : by_rows_128;
}

/// Bytes of a row that is copied because its elements lie apart.
std::size_t copied_row_bytes(std::int64_t inner) {
  return (static_cast<std::size_t>(inner) * sizeof(float) + 63) / 64 * 64;
}

bool lies_by_rows(const Batched& matrix, std::int64_t columns) {
  return matrix.column == 1 || columns == 1;
}

class RowMatmul : public LibraryKernel {
 public:
  RowMatmul(const LibraryCall& call, const LibraryOperands& operands)
      : sizes_(operands.outputs[0].sizes),
        inner_(operands.inputs[0].sizes.back()),
        columns_(sizes_.back()),
        a_(operands.inputs[0], sizes_.size()),
        b_(operands.inputs[1], sizes_.size()),
        out_(operands.outputs[0], sizes_.size()),
        by_columns_(b_.row == 1 || !lies_by_rows(b_, columns_)),
        multiply_(choose_kernel(by_columns_)),
        post_ops_(call.post_ops) {
    for (std::size_t i = 0; i + 2 < sizes_.size(); ++i) batch_ *= sizes_[i];
    for (const Operand& operand : operands.post_ops) added_.emplace_back(operand, sizes_.size());
    blocks_ = (columns_ + kBlock - 1) / kBlock;
    const double operations =
        2.0 * static_cast<double>(batch_ * columns_) * static_cast<double>(inner_);
    threads_ = operations <= kAlone ? 1
                                    : static_cast<int>(std::clamp<std::int64_t>(
                                          batch_ * blocks_, 1, omp_get_max_threads()));
    copies_ = a_.column != 1 && inner_ != 1;
  }

  std::size_t scratch_bytes() const override {
    return copies_ ? static_cast<std::size_t>(threads_) * copied_row_bytes(inner_) : 0;
  }
  std::string_view implementation() const override {
    return by_columns_ ? "row by columns" : "row by rows";
  }
  bool is_alone() const override { return threads_ == 1; }

  Result<void> run(const LibraryMemory& memory) override {
    const std::int64_t all = batch_ * blocks_;
    const int threads = std::min(threads_, omp_get_max_threads());
    if (threads == 1) {
      for (std::int64_t block = 0; block < all; ++block) run_block(memory, block, 0);
      return {};
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t block = 0; block < all; ++block)
      run_block(memory, block, omp_get_thread_num());
    return {};
  }

 private:
  void run_block(const LibraryMemory& memory, std::int64_t number, int thread) const {
    const std::int64_t batch = number / blocks_, column = number % blocks_ * kBlock;
    const std::int64_t count = std::min(kBlock, columns_ - column);
    const Matrix a = a_.of<float>(memory.inputs[0], batch, sizes_),
                 b = b_.of<float>(memory.inputs[1], batch, sizes_);
    const Matrix out = out_.of<float>(memory.outputs[0], batch, sizes_);
    const float* row = a.data;
    if (copies_) {
      auto* copy =
          reinterpret_cast<float*>(static_cast<char*>(memory.scratch) +
                                   copied_row_bytes(inner_) * static_cast<std::size_t>(thread));
      for (std::int64_t i = 0; i < inner_; ++i) copy[i] = a.at(0, i);
      row = copy;
    }
    float sums[kBlock];
    multiply_(inner_, row, &b.at(0, column), by_columns_ ? b.column : b.row, count, sums);
    finish(memory, batch, column, {sums, static_cast<std::size_t>(count)});
    for (std::int64_t j = 0; j < count; ++j) out.at(0, column + j) = sums[j];
  }

  void finish(const LibraryMemory& memory, std::int64_t batch, std::int64_t column,
              std::span<float> sums) const {
    std::size_t next = 0;
    for (const PostOp& op : post_ops_) {
      if (op.kind == PostOp::Kind::scale) {
        for (float& sum : sums) sum *= static_cast<float>(op.alpha);
        continue;
      }
      const Matrix term = added_[next].of<float>(memory.post_ops[next], batch, sizes_);
      ++next;
      for (std::size_t j = 0; j < sums.size(); ++j) {
        const float other = term.at(0, column + static_cast<std::int64_t>(j));
        sums[j] = op.kind == PostOp::Kind::add ? sums[j] + other : sums[j] * other;
      }
    }
  }

  std::vector<std::int64_t> sizes_;
  std::int64_t inner_, columns_, batch_ = 1, blocks_ = 1;
  Batched a_, b_, out_;
  bool by_columns_, copies_ = false;
  MultiplyRow multiply_;
  std::vector<PostOp> post_ops_;
  std::vector<Batched> added_;
  int threads_ = 1;
};

bool takes(const PostOp& op) {
  return op.kind == PostOp::Kind::scale || op.kind == PostOp::Kind::add ||
         op.kind == PostOp::Kind::mul;
}

}  // namespace

bool is_row_product(const LibraryCall& call, const LibraryOperands& operands) {
  if (call.name != "matmul" || !call.prepack.empty()) return false;
  const Operand& out = operands.outputs[0];
  const std::size_t rank = out.sizes.size();
  const bool bias = operands.present.size() > 2 && operands.present[2];
  const auto is_float = [](const Operand& operand) { return operand.dtype == DType::float32; };
  if (bias || rank < 2 || out.sizes[rank - 2] != 1 || operands.inputs[0].sizes.back() == 0)
    return false;
  if (std::ranges::find(out.sizes, 0) != out.sizes.end() || !is_float(out) ||
      !std::ranges::all_of(operands.post_ops, is_float))
    return false;
  if (!is_float(operands.inputs[0]) || !is_float(operands.inputs[1]) ||
      !std::ranges::all_of(call.post_ops, takes))
    return false;
  const Batched b(operands.inputs[1], rank);
  // One matrix for several rows is a product of more than a row.
  const auto is_shared = [](std::int64_t stride) { return stride == 0; };
  const bool several = std::any_of(out.sizes.begin(), out.sizes.end() - 2,
                                   [](std::int64_t size) { return size != 1; });
  if (several && std::all_of(b.strides.begin(), b.strides.end() - 2, is_shared)) return false;
  return b.row == 1 || (lies_by_rows(b, out.sizes.back()) && out.sizes.back() <= kMostColumns);
}

Result<std::unique_ptr<LibraryKernel>> make_row_matmul(const LibraryCall& call,
                                                       const LibraryOperands& operands) {
  return std::make_unique<RowMatmul>(call, operands);
}

}  // namespace penstock::runtime
