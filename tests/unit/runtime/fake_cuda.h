#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

/// What the driver of fake_cuda.cpp was asked to do, and how it is to answer.
struct FakeCuda {
  int launches = 0, copies = 0, graphs = 0, alive = 0, updates = 0, graph_launches = 0;
  int bad_indices = 0;               ///< that kernels have seen
  void* stream = nullptr;            ///< of the last graph's launch
  void* program_captures = nullptr;  ///< a stream that the program captures
  bool refuses_graphs = false;
  std::size_t free_memory = 4000;  ///< of 8000
};

extern "C" {
FakeCuda* fake_cuda();
/// Work of another library's, in a stream.
void fake_cuda_put(void* stream, std::function<void()> work);
/// A copy of what the host has.
void fake_cuda_put_host_copy(void* stream);
}
