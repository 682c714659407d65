#pragma once

#include <cstdint>
#include <vector>

#include "python/object.h"

namespace penstock::torch {

/// What a program can tell torch about how its ops compute on a GPU: TF32, cuDNN, attention,
/// determinism.
class DeviceSettings {
 public:
  /// Another number than before if something was set otherwise since. About a microsecond. Needs
  /// the GIL, and torch imported.
  std::uint64_t version();

 private:
  std::vector<python::PyRef> getters_, values_;  ///< a value that cannot be read is null
  std::uint64_t version_ = 0;
};

/// Whether torch may round the factors of float32 products, and convolutions, to TensorFloat-32.
/// Need the GIL.
bool allows_tf32_products();
bool allows_tf32_convolutions();

}  // namespace penstock::torch
