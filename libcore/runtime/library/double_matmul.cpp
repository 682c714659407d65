// Products of float64 matrices, which oneDNN does not have.
//
// The result is cut into tiles, which threads share; a tile's sum goes through blocks of the inner
// dim, whose parts of both matrices are packed into panels: rows of kRows elements of `a`, of
// kColumns of `b`. The innermost kernel keeps kRows x kColumns sums in registers. The order of
// additions depends on the sizes alone, never on the threads.
#include <omp.h>

#include <algorithm>

#include "runtime/library/batched.h"
#include "runtime/library/onednn.h"
#include "runtime/library/thread_limit.h"

namespace penstock::runtime {

namespace {

constexpr std::int64_t kRows = 6, kColumns = 16;            ///< of the innermost kernel
constexpr std::int64_t kTileRows = 96, kTileColumns = 256;  ///< of a tile: multiples of these
constexpr std::int64_t kInner = 256;                        ///< of a block of the inner dim
constexpr std::int64_t kPanels =
    (kTileRows + kTileColumns) * kInner;  ///< elements that a thread packs

/// sums[kRows][kColumns] = the products of `count` columns of panel `a` with as many rows of panel
/// `b`.
using MultiplyPanels = void (*)(std::int64_t count, const double* a, const double* b, double* sums);

// The same for CPUs with vectors of some length. The compiler cuts vectors before it makes clones
// of a function: each has a text of its own.
#define PS_MULTIPLY_PANELS(name, lanes, cpu)                                            \
  [[gnu::target(cpu)]] void name(std::int64_t count, const double* a, const double* b,  \
                                 double* sums) {                                        \
    using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;                  \
    constexpr std::int64_t vectors = kColumns / lanes;                                  \
    Lanes sum[kRows][vectors] = {};                                                     \
    for (std::int64_t k = 0; k < count; ++k, a += kRows, b += kColumns) {               \
      const Lanes* row = reinterpret_cast<const Lanes*>(b);                             \
      _Pragma("GCC unroll 6") for (std::int64_t i = 0; i < kRows; ++i) {                \
        _Pragma("GCC unroll 8") for (std::int64_t v = 0; v < vectors; ++v) sum[i][v] += \
            a[i] * row[v];                                                              \
      }                                                                                 \
    }                                                                                   \
    _Pragma("GCC unroll 6") for (std::int64_t i = 0; i < kRows; ++i) {                  \
      _Pragma("GCC unroll 8") for (std::int64_t v = 0; v < vectors; ++v) {              \
        reinterpret_cast<Lanes*>(sums)[i * vectors + v] = sum[i][v];                    \
      }                                                                                 \
    }                                                                                   \
  }
PS_MULTIPLY_PANELS(multiply_panels_512, 8, "avx512f,fma")
PS_MULTIPLY_PANELS(multiply_panels_256, 4, "avx2,fma")
PS_MULTIPLY_PANELS(multiply_panels_128, 2, "sse2")
#undef PS_MULTIPLY_PANELS

MultiplyPanels choose_kernel() {
  if (__builtin_cpu_supports("avx512f")) return multiply_panels_512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_panels_256;
  return multiply_panels_128;
}

using DoubleMatrix = Matrix<double>;

/// The part of a matrix from (row, column) on as panels of `width` rows, each column by column;
/// zeros fill the last one.
void pack(const DoubleMatrix& from, std::int64_t rows, std::int64_t columns, std::int64_t width,
          double* panels) {
  for (std::int64_t first = 0; first < rows; first += width) {
    const std::int64_t some = std::min(width, rows - first);
    for (std::int64_t j = 0; j < columns; ++j, panels += width) {
      for (std::int64_t i = 0; i < some; ++i) panels[i] = from.at(first + i, j);
      std::fill(panels + some, panels + width, 0.0);
    }
  }
}

/// What happens to the sums: a bias first, as the library does it, then the post-ops.
struct Finish {
  double factor = 1;
  int operand = -1;  ///< of the post-ops: what is added; -1: `factor` counts
};

class DoubleMatmul : public LibraryKernel {
 public:
  DoubleMatmul(const LibraryCall& call, const LibraryOperands& operands)
      : sizes_(operands.outputs[0].sizes),
        inner_(operands.inputs[0].sizes.back()),
        a_(operands.inputs[0], sizes_.size()),
        b_(operands.inputs[1], sizes_.size()),
        out_(operands.outputs[0], sizes_.size()) {
    std::size_t rank = sizes_.size();
    rows_ = sizes_[rank - 2];
    columns_ = sizes_[rank - 1];
    for (std::size_t i = 0; i + 2 < rank; ++i) batch_ *= sizes_[i];
    if (operands.present.size() > 2 && operands.present[2])
      bias_.emplace_back(operands.inputs[2], rank);
    for (const PostOp& op : call.post_ops) {
      if (op.kind == PostOp::Kind::scale) {
        finishes_.push_back({op.alpha});
      } else {
        finishes_.push_back({1, static_cast<int>(added_.size())});
        added_.emplace_back(operands.post_ops[added_.size()], rank);
      }
    }
    row_tiles_ = (rows_ + kTileRows - 1) / kTileRows;
    column_tiles_ = (columns_ + kTileColumns - 1) / kTileColumns;
    double operations =
        2.0 * static_cast<double>(batch_ * rows_) * static_cast<double>(columns_ * inner_);
    std::int64_t tiles = batch_ * row_tiles_ * column_tiles_;
    threads_ = operations <= kAlone
                   ? 1
                   : static_cast<int>(std::clamp<std::int64_t>(tiles, 1, omp_get_max_threads()));
  }

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(threads_) * kPanels * sizeof(double);
  }
  std::string_view implementation() const override { return "float64 panels"; }

  Result<void> run(const LibraryMemory& memory) override {
    const std::int64_t tiles = batch_ * row_tiles_ * column_tiles_;
    const int threads = std::min(threads_, omp_get_max_threads());
#pragma omp parallel num_threads(threads)
    {
      double* panels = static_cast<double*>(memory.scratch) + omp_get_thread_num() * kPanels;
#pragma omp for schedule(static)
      for (std::int64_t tile = 0; tile < tiles; ++tile) run_tile(memory, tile, panels);
    }
    return {};
  }

 private:
  void run_tile(const LibraryMemory& memory, std::int64_t tile, double* panels) const {
    const std::int64_t batch = tile / (row_tiles_ * column_tiles_),
                       within = tile % (row_tiles_ * column_tiles_);
    const std::int64_t row = within / column_tiles_ * kTileRows,
                       column = within % column_tiles_ * kTileColumns;
    const std::int64_t rows = std::min(kTileRows, rows_ - row),
                       columns = std::min(kTileColumns, columns_ - column);
    const DoubleMatrix a = a_.of<double>(memory.inputs[0], batch, sizes_),
                       b = b_.of<double>(memory.inputs[1], batch, sizes_);
    DoubleMatrix out = out_.of<double>(memory.outputs[0], batch, sizes_);
    out.data = &out.at(row, column);
    double* panels_of_b = panels + kTileRows * kInner;
    if (inner_ == 0) fill_zeros(out, rows, columns);
    for (std::int64_t k = 0; k < inner_; k += kInner) {
      const std::int64_t count = std::min(kInner, inner_ - k);
      pack({&a.at(row, k), a.row, a.column}, rows, count, kRows, panels);
      pack({&b.at(k, column), b.column, b.row}, columns, count, kColumns, panels_of_b);
      for (std::int64_t j = 0; j < columns; j += kColumns) {
        for (std::int64_t i = 0; i < rows; i += kRows) {
          alignas(64) double sums[kRows * kColumns];
          multiply_(count, panels + i * count, panels_of_b + j * count, sums);
          store({&out.at(i, j), out.row, out.column}, sums, std::min(kRows, rows - i),
                std::min(kColumns, columns - j), k > 0);
        }
      }
    }
    finish(memory, batch, row, column, out, rows, columns);
  }

  static void fill_zeros(const DoubleMatrix& out, std::int64_t rows, std::int64_t columns) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) out.at(i, j) = 0;
    }
  }

  static void store(const DoubleMatrix& out, const double* sums, std::int64_t rows,
                    std::int64_t columns, bool adds) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        double& place = out.at(i, j);
        place = adds ? place + sums[i * kColumns + j] : sums[i * kColumns + j];
      }
    }
  }

  void finish(const LibraryMemory& memory, std::int64_t batch, std::int64_t row,
              std::int64_t column, const DoubleMatrix& out, std::int64_t rows,
              std::int64_t columns) const {
    auto add = [&](const Batched& operand, void* data) {
      DoubleMatrix term = operand.of<double>(data, batch, sizes_);
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) out.at(i, j) += term.at(row + i, column + j);
      }
    };
    if (!bias_.empty()) add(bias_.front(), memory.inputs[2]);
    for (const Finish& one : finishes_) {
      if (one.operand >= 0) {
        add(added_[static_cast<std::size_t>(one.operand)],
            memory.post_ops[static_cast<std::size_t>(one.operand)]);
        continue;
      }
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) out.at(i, j) *= one.factor;
      }
    }
  }

  MultiplyPanels multiply_ = choose_kernel();
  std::vector<std::int64_t> sizes_;
  std::int64_t inner_, rows_ = 1, columns_ = 1, batch_ = 1, row_tiles_ = 1, column_tiles_ = 1;
  Batched a_, b_, out_;
  std::vector<Batched> bias_, added_;
  std::vector<Finish> finishes_;
  int threads_ = 1;
};

}  // namespace

Result<std::unique_ptr<LibraryKernel>> make_double_matmul(const LibraryCall& call,
                                                          const LibraryOperands& operands) {
  for (const PostOp& op : call.post_ops) {
    if (op.kind != PostOp::Kind::scale && op.kind != PostOp::Kind::add) {
      return failure(Code::PS0708,
                     "matmul of " + call.op + ": float64 products take no such post-op");
    }
  }
  return std::make_unique<DoubleMatmul>(call, operands);
}

}  // namespace penstock::runtime
