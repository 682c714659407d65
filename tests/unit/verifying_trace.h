#pragma once

#include "diag/pass.h"

namespace penstock {

/// Has every pass of a stage verified, so that what one breaks is no later one's fault.
class VerifyingTrace final : public PassTrace {
 public:
  bool verifies() const override { return true; }
};

}  // namespace penstock
