#pragma once

#include <cstddef>
#include <cstdint>

#include "diag/diagnostic.h"

namespace penstock::runtime::cuda {

using Status = int;  // CUresult; 0: success
constexpr Status kSuccess = 0;

/// CUDA_KERNEL_NODE_PARAMS, the second version.
struct KernelNode {
  void* function = nullptr;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  void* kernel = nullptr;
  void* context = nullptr;
};

/// CUDA_MEMCPY3D, the second version.
struct CopyNode {
  struct End {
    std::size_t x = 0, y = 0, z = 0, level = 0;
    unsigned type = 0;
    void* host = nullptr;
    std::uint64_t device = 0;
    void *array = nullptr, *reserved = nullptr;
    std::size_t pitch = 0, height = 0;
  };
  End from, to;
  std::size_t width = 0, height = 0, depth = 0;
};

/// The functions that are used of the driver, by the names that its header gives them.
struct Functions {
  Status (*get_device)(int* device, int ordinal) = nullptr;
  Status (*get_attribute)(int* value, int attribute, int device) = nullptr;
  Status (*get_name)(char* name, int length, int device) = nullptr;
  Status (*get_version)(int* version) = nullptr;
  Status (*retain_context)(void** context, int device) = nullptr;
  Status (*get_context)(void** context) = nullptr;
  Status (*set_context)(void* context) = nullptr;
  Status (*load_module)(void** module, const void* image, unsigned options, int* names,
                        void** values) = nullptr;
  Status (*unload_module)(void* module) = nullptr;
  Status (*get_function)(void** function, void* module, const char* name) = nullptr;
  Status (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream, void** parameters, void** extra) = nullptr;
  Status (*upload)(std::uint64_t to, const void* from, std::size_t bytes) = nullptr;
  Status (*copy)(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) = nullptr;
  Status (*wait)(void* stream) = nullptr;
  Status (*is_capturing)(void* stream, int* state) = nullptr;
  Status (*describe)(Status status, const char** text) = nullptr;
  bool complete = false;  ///< there is a driver, with all of the above

  // Graphs:
  Status (*memory_info)(std::size_t* free, std::size_t* total) = nullptr;
  Status (*make_stream)(void** stream, unsigned flags) = nullptr;
  Status (*begin_capture)(void* stream, int mode) = nullptr;
  Status (*end_capture)(void* stream, void** graph) = nullptr;
  Status (*capture_info)(void* stream, int* state, std::uint64_t* id, void** graph,
                         void* const** nodes, std::size_t* count) = nullptr;
  Status (*list_nodes)(void* graph, void** nodes, std::size_t* count) = nullptr;
  Status (*node_type)(void* node, int* type) = nullptr;
  Status (*copy_node)(void* node, CopyNode* copy) = nullptr;
  Status (*pointer_attribute)(void* value, int attribute, std::uint64_t pointer) = nullptr;
  Status (*instantiate)(void** executable, void* graph, unsigned long long flags) = nullptr;
  Status (*set_kernel)(void* executable, void* node, const KernelNode* kernel) = nullptr;
  Status (*launch_graph)(void* executable, void* stream) = nullptr;
  Status (*destroy_executable)(void* executable) = nullptr;
  Status (*destroy_graph)(void* graph) = nullptr;
  bool has_graphs = false;  ///< and all of these

  Functions();
};

/// Of the driver library that the process has open (libcuda.so.1).
const Functions& driver();

/// PS0811 with what was tried and what the driver says, unless it succeeded.
Result<void> checked(Status status, const char* what);

/// Also true where it cannot be said.
bool is_capturing(void* stream);

}  // namespace penstock::runtime::cuda
