#include "fusion/device_product.h"

#include <algorithm>

#include "ir/device_epilogue.h"

namespace penstock::fusion {

namespace {

bool is_one(const SymExpr& size) {
  return size == SymExpr(1);
}

/// Whether one of the last two dims is walked with stride 1, and the other neither repeats elements
/// nor begins its rows inside of each other.
bool is_matrix(const Buffer& buffer) {
  const std::size_t rank = buffer.sizes.size();
  const auto lies = [&](std::size_t along, std::size_t other) {
    const bool one = is_one(buffer.strides[along]) || is_one(buffer.sizes[along]);
    const auto stride = buffer.strides[other].constant(), length = buffer.sizes[along].constant();
    const bool apart = is_one(buffer.sizes[other]) || !stride || (length && *stride >= *length);
    return one && apart;
  };
  return rank >= 2 && (lies(rank - 1, rank - 2) || lies(rank - 2, rank - 1));
}

bool is_row_major(const Buffer& buffer) {
  return is_one(buffer.strides.back()) || is_one(buffer.sizes.back());
}

}  // namespace

bool is_device_product(const LibraryCall& call, const std::vector<Buffer>& buffers) {
  const auto at = [&](BufferId id) -> const Buffer& {
    return buffers[static_cast<std::size_t>(id)];
  };
  const Buffer& out = at(call.outputs.front());
  const std::size_t rank = out.sizes.size();
  if (!is_matrix(at(call.inputs[0])) || !is_matrix(at(call.inputs[1])) || !is_matrix(out))
    return false;
  const auto is_bias = [&](const Buffer& row) {
    const bool whole = !row.sizes.empty() && row.sizes.back() == out.sizes.back();
    const bool flat = std::all_of(row.sizes.begin(), row.sizes.end() - 1, is_one);
    return whole && flat && is_row_major(row);
  };
  const auto is_row = [&](std::size_t i) {
    return at(call.post_ops[i].operand).sizes != out.sizes;
  };
  const bool has_bias = call.inputs.size() > 2 && call.inputs[2] != kNoBuffer;
  const auto epilogue = device_epilogue(call.post_ops, has_bias, is_row);
  if (!epilogue || (has_bias && !is_bias(at(call.inputs[2])))) return false;
  if (epilogue->bias && !is_bias(at(call.post_ops[*epilogue->bias].operand))) return false;
  if (epilogue->residual) {
    const Buffer& residual = at(call.post_ops[*epilogue->residual].operand);
    if (residual.sizes.size() != rank || !is_row_major(residual) || !is_matrix(residual))
      return false;
  }
  // A bias goes down the columns of a result that lies row by row.
  const bool plain = !has_bias && !epilogue->bias && !epilogue->residual;
  return is_row_major(out) || plain;
}

}  // namespace penstock::fusion
