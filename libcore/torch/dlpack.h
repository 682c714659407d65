#pragma once

#include <cstdint>

namespace penstock::torch::dlpack {

// The DLPack ABI (dmlc/dlpack 1.3), as far as we use it: layouts and numbers are fixed by the
// standard.

struct Device {
  std::int32_t type;  // 1: CPU, 2: CUDA
  std::int32_t index;
};
struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t dimensions;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};
/// Before version 1: what capsules named "dltensor" hold.
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*release)(ManagedTensor*);
};
/// From version 1 on.
struct VersionedTensor {
  Version version;
  void* context;
  void (*release)(VersionedTensor*);
  std::uint64_t flags;
  Tensor tensor;
};
/// What the capsule in a tensor type's __dlpack_c_exchange_api__ points to.
struct ExchangeApi {
  Version version;
  ExchangeApi* previous;
  void* allocate;
  void* from_object;
  int (*to_object)(VersionedTensor* tensor, void** object);
  void* view_object;
  void* current_stream;
};

}  // namespace penstock::torch::dlpack
