#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "diag/diagnostic.h"

namespace penstock::runtime::cuda {

/// The functions that are used of cuDNN's graph interface, by the names that its header gives them.
/// A status is 0 for success.
struct Cudnn {
  int (*create)(void** handle) = nullptr;
  int (*set_stream)(void* handle, void* stream) = nullptr;
  void (*last_error)(char* message, std::size_t size) = nullptr;
  int (*create_descriptor)(int type, void** descriptor) = nullptr;
  int (*destroy_descriptor)(void* descriptor) = nullptr;
  int (*set)(void* descriptor, int attribute, int type, std::int64_t count,
             const void* values) = nullptr;
  int (*get)(void* descriptor, int attribute, int type, std::int64_t wanted, std::int64_t* count,
             void* values) = nullptr;
  int (*finalize)(void* descriptor) = nullptr;
  int (*execute)(void* handle, void* plan, void* pack) = nullptr;
  bool complete = false;  ///< the library is there, with all of the above

  Cudnn();
};

/// The library that the process has open (torch's), else the loader's.
const Cudnn& cudnn();

/// CUDNN_TYPE_…
enum class CudnnType : std::uint8_t {
  handle = 0,
  data = 1,
  boolean = 2,
  integer = 3,
  real = 4,
  pointer = 6,
  convolution_mode = 7,
  heuristic = 8,
  nan_propagation = 10,
  note = 11,
  pointwise_mode = 14,
  descriptor = 15,
};

/// One of the library's descriptors while it is filled, and once it is made. What goes wrong first
/// is kept, and told by `make`.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(int kind);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  ~CudnnDescriptor();
  void* get() const { return descriptor_; }

  template <class Value>
  void set(int attribute, CudnnType type, std::span<const Value> values) {
    put(attribute, type, static_cast<std::int64_t>(values.size()), values.data());
  }
  template <class Value>
  void set(int attribute, CudnnType type, const Value& value) {
    put(attribute, type, 1, &value);
  }
  void set(int attribute, const CudnnDescriptor& other) {
    set(attribute, CudnnType::descriptor, other.get());
  }
  /// How many values there are of the attribute, of which the first `wanted` go to `values`.
  std::int64_t read(int attribute, CudnnType type, std::int64_t wanted, void* values) const;
  /// PS0811 with `what` and the library's reason.
  Result<void> make(const char* what);

 private:
  void put(int attribute, CudnnType type, std::int64_t count, const void* values);

  void* descriptor_ = nullptr;
  int status_ = 0;
};

/// PS0811 with what was tried and what the library says, unless it succeeded.
Result<void> checked_cudnn(int status, const char* what);

}  // namespace penstock::runtime::cuda
