#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "store/store.h"

namespace penstock::formats {

/// A named tensor whose elements, row-major and little-endian, are somewhere in memory.
struct TensorBytes {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;
  std::string_view bytes;
};

/// What stands in a safetensors file before the tensors' bytes, which follow in order without gaps.
/// Its length is a multiple of 64, so that mapped tensors are aligned for every vector instruction
/// if their predecessors' lengths are multiples of 64.
std::string safetensors_header(const std::vector<TensorBytes>& tensors);

/// The whole file in one piece.
std::string encode_safetensors(const std::vector<TensorBytes>& tensors);

/// How long the file is that begins so, as its header says; nothing while the header is not all
/// there. PS0207 when it is no safetensors header: whoever reads a file of unknown length asks
/// while it reads, as a device never ends.
Result<std::optional<std::uint64_t>> safetensors_length(std::string_view start);

/// The tensors of a file, in order of their bytes; they point into `bytes`. PS0207 when the header
/// is no safetensors header or promises bytes that are not there.
Result<std::vector<TensorBytes>> decode_safetensors(std::string_view bytes);

/// A blob that holds one tensor, and the memory that keeps it there.
struct TensorBlob {
  store::Mapping file;
  TensorBytes tensor;
};

/// Keeps one tensor in the store; returns the blob's hash.
Result<std::string> put_tensor(store::Store& store, const TensorBytes& tensor);
/// Maps the tensor of a blob. PS0206, PS0207. Without `check` the elements may be damaged.
Result<TensorBlob> get_tensor(const store::Store& store, std::string_view hash, bool check = true);

}  // namespace penstock::formats
