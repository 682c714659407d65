#pragma once

#include "python/object.h"

namespace penstock::capture {

/// A client of the walker that has graphs compiled by functions of the program's, where a region
/// asks for it (torch/compile_region.h). Its captured() calls them.
class BackendClient {
 public:
  virtual ~BackendClient() = default;
  /// What such a function raised in the captured() before; null: nothing. Told once.
  virtual python::PyRef take_error() = 0;
  /// The program asked for all that such functions gave to be forgotten.
  virtual void forget_backends() = 0;
};

}  // namespace penstock::capture
