#include "fusion/device_call.h"

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

/// A number for each channel of the result, one behind the other.
bool is_channel_vector(const Buffer& row, const Buffer& out) {
  const std::size_t channels = row.sizes.size() == 1 ? 0 : 1;
  if (row.sizes.size() != 1 && row.sizes.size() != out.sizes.size()) return false;
  for (std::size_t i = 0; i < row.sizes.size(); ++i) {
    if (i != channels && !is_one(row.sizes[i])) return false;
  }
  return row.sizes[channels] == out.sizes[1] && is_one(row.strides[channels]);
}

bool is_device_convolution(const LibraryCall& call, const std::vector<Buffer>& buffers) {
  const auto at = [&](BufferId id) -> const Buffer& {
    return buffers[static_cast<std::size_t>(id)];
  };
  const Buffer& out = at(call.outputs.front());
  for (const Buffer* image : {&at(call.inputs[0]), &at(call.inputs[1]), &out}) {
    if (image->dtype != out.dtype || !lies_channels_last(image->sizes, image->strides))
      return false;
  }
  const bool has_bias = call.inputs.size() > 2 && call.inputs[2] != kNoBuffer;
  const auto is_row = [&](std::size_t i) {
    return at(call.post_ops[i].operand).sizes != out.sizes;
  };
  const auto epilogue = device_epilogue(call.post_ops, has_bias, is_row);
  if (!epilogue) return false;
  const PostOp::Kind activation = epilogue->activation.value_or(PostOp::Kind::relu);
  if (epilogue->alpha != 1 || activation != PostOp::Kind::relu) return false;
  if (has_bias && !is_channel_vector(at(call.inputs[2]), out)) return false;
  if (epilogue->bias && !is_channel_vector(at(call.post_ops[*epilogue->bias].operand), out))
    return false;
  if (!epilogue->residual) return true;
  const Buffer& residual = at(call.post_ops[*epilogue->residual].operand);
  return lies_channels_last(residual.sizes, residual.strides);
}

}  // namespace

bool lies_channels_last(const std::vector<SymExpr>& sizes, const std::vector<SymExpr>& strides) {
  if (sizes.size() < 3) return false;
  SymExpr next = 1;
  const auto lies = [&](std::size_t dim) {
    const bool good = strides[dim] == next || is_one(sizes[dim]);
    next *= sizes[dim];
    return good;
  };
  bool good = lies(1);
  for (std::size_t dim = sizes.size(); dim-- > 2;) good = lies(dim) && good;
  return lies(0) && good;
}

bool is_device_call(const LibraryCall& call, const std::vector<Buffer>& buffers) {
  return call.name == "convolution" ? is_device_convolution(call, buffers)
                                    : is_device_product(call, buffers);
}

}  // namespace penstock::fusion
