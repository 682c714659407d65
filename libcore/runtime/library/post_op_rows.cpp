#include "runtime/library/post_op_rows.h"

#include <algorithm>
#include <numeric>

#include "ir/float_format.h"
#include "ir/strides.h"
#include "runtime/library/operand_layouts.h"
#include "runtime/library/thread_limit.h"

namespace penstock::runtime {

namespace {

constexpr std::int64_t kChunk = 256;  ///< elements that are worked on at a time

void load(DType dtype, const void* from, std::int64_t place, std::int64_t step,
          std::span<float> to) {
  if (dtype == DType::bfloat16) {
    const auto* elements = static_cast<const std::uint16_t*>(from) + place;
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = float_of_bfloat16(elements[static_cast<std::int64_t>(i) * step]);
  } else {
    const auto* elements = static_cast<const float*>(from) + place;
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = elements[static_cast<std::int64_t>(i) * step];
  }
}

void store(DType dtype, std::span<const float> from, void* to, std::int64_t place,
           std::int64_t step) {
  if (dtype == DType::bfloat16) {
    auto* elements = static_cast<std::uint16_t*>(to) + place;
    for (std::size_t i = 0; i < from.size(); ++i)
      elements[static_cast<std::int64_t>(i) * step] = float_to_bfloat16(from[i]);
  } else {
    auto* elements = static_cast<float*>(to) + place;
    for (std::size_t i = 0; i < from.size(); ++i)
      elements[static_cast<std::int64_t>(i) * step] = from[i];
  }
}

/// The frequent ones as loops that become vectors, the others as they are defined.
void apply_to(const PostOp& op, std::span<float> x, std::span<const float> other) {
  const auto alpha = static_cast<float>(op.alpha), beta = static_cast<float>(op.beta);
  switch (op.kind) {
    case PostOp::Kind::add:
    case PostOp::Kind::sum:
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += other[i];
      return;
    case PostOp::Kind::mul:
      for (std::size_t i = 0; i < x.size(); ++i) x[i] *= other[i];
      return;
    case PostOp::Kind::scale:
      for (float& each : x) each *= alpha;
      return;
    case PostOp::Kind::relu:
      for (float& each : x) each = each < 0 ? 0 : each;
      return;
    case PostOp::Kind::clamp:
      for (float& each : x) {
        each = each < alpha ? alpha : each;
        each = each > beta ? beta : each;
      }
      return;
    default:
      for (float& each : x) each = static_cast<float>(apply(op, each, 0, 0));
  }
}

bool takes_operand(const PostOp& op) {
  return op.kind == PostOp::Kind::add || op.kind == PostOp::Kind::mul;
}

}  // namespace

PostOpRows::PostOpRows(std::vector<PostOp> ops, Operand out, std::vector<Operand> operands)
    : ops_(std::move(ops)), rank_(out.sizes.size()) {
  sums_ = std::ranges::any_of(ops_, [](const PostOp& op) { return op.kind == PostOp::Kind::sum; });
  for (std::size_t i = 0; i < rank_; ++i) {
    if (out.sizes[i] != 1) dims_.push_back(i);
  }
  std::ranges::stable_sort(dims_, std::ranges::greater(),
                           [&](std::size_t dim) { return out.strides[dim]; });
  for (const std::size_t dim : dims_) sizes_.push_back(out.sizes[dim]);
  if (!sizes_.empty()) {
    count_ = sizes_.back();
    sizes_.pop_back();
  }
  rows_ = std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{1}, std::multiplies<>());
  out_ = row_of(out);
  for (const Operand& operand : operands) operands_.push_back(row_of(operand));
}

PostOpRows::Row PostOpRows::row_of(const Operand& operand) const {
  const Operand own = aligned(operand, rank_);
  Row row;
  row.dtype = operand.dtype;
  for (const std::size_t dim : dims_)
    row.strides.push_back(own.sizes[dim] == 1 ? 0 : own.strides[dim]);
  if (!row.strides.empty()) {
    row.step = row.strides.back();
    row.strides.pop_back();
  }
  return row;
}

void PostOpRows::run(void* out, std::span<void* const> operands, const void* before) const {
#pragma omp parallel for if (static_cast <double>(rows_ * count_) > kAlone / 8)
  for (std::int64_t row = 0; row < rows_; ++row) run_row(row, out, operands, before);
}

void PostOpRows::run_row(std::int64_t row, void* out, std::span<void* const> operands,
                         const void* before) const {
  float elements[kChunk], others[kChunk];
  const std::int64_t place = offset_at(row, sizes_, out_.strides);
  for (std::int64_t first = 0; first < count_; first += kChunk) {
    const auto count = static_cast<std::size_t>(std::min(kChunk, count_ - first));
    const std::span<float> x(elements, count), other(others, count);
    load(out_.dtype, out, place + first * out_.step, out_.step, x);
    std::size_t next = 0;
    for (const PostOp& op : ops_) {
      if (takes_operand(op)) {
        const Row& own = operands_[next];
        load(own.dtype, operands[next], offset_at(row, sizes_, own.strides) + first * own.step,
             own.step, other);
        ++next;
      } else if (op.kind == PostOp::Kind::sum) {
        load(out_.dtype, before, place + first * out_.step, out_.step, other);
      }
      apply_to(op, x, other);
    }
    store(out_.dtype, x, out, place + first * out_.step, out_.step);
  }
}

}  // namespace penstock::runtime
