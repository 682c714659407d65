#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::runtime::cuda {

/// cublasLtMatmulHeuristicResult_t: how a product is computed, and what that takes.
struct ProductChoice {
  std::array<std::uint64_t, 8> algorithm = {};  ///< cublasLtMatmulAlgo_t
  std::size_t workspace = 0;
  int state = 0;
  float waves = 0;
  int reserved[4] = {};
};

/// The functions that are used of cuBLASLt, by the names that its header gives them. A status is 0
/// for success.
struct Cublaslt {
  int (*create)(void** handle) = nullptr;
  int (*multiply)(void* handle, void* operation, const void* alpha, const void* a, void* a_layout,
                  const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                  void* d, void* d_layout, const void* algorithm, void* workspace,
                  std::size_t workspace_bytes, void* stream) = nullptr;
  int (*choose)(void* handle, void* operation, void* a_layout, void* b_layout, void* c_layout,
                void* d_layout, void* preference, int wanted, ProductChoice* choices,
                int* found) = nullptr;
  int (*make_operation)(void** operation, int compute_type, int scale_type) = nullptr;
  int (*set_operation)(void* operation, int attribute, const void* value,
                       std::size_t bytes) = nullptr;
  int (*destroy_operation)(void* operation) = nullptr;
  int (*make_layout)(void** layout, int type, std::uint64_t rows, std::uint64_t columns,
                     std::int64_t leading) = nullptr;
  int (*set_layout)(void* layout, int attribute, const void* value, std::size_t bytes) = nullptr;
  int (*destroy_layout)(void* layout) = nullptr;
  int (*make_preference)(void** preference) = nullptr;
  int (*set_preference)(void* preference, int attribute, const void* value,
                        std::size_t bytes) = nullptr;
  int (*destroy_preference)(void* preference) = nullptr;
  bool complete = false;  ///< the library is there, with all of the above

  Cublaslt();
};

/// The library that the process has open (torch's), else the loader's.
const Cublaslt& cublaslt();

}  // namespace penstock::runtime::cuda
