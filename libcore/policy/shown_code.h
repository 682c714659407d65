#pragma once

#include <string>

#include "diag/diagnostic.h"
#include "python/frame.h"

namespace penstock::policy {

/// The code by which people know what a frame runs, and where it begins.
struct ShownCode {
  std::string name;  ///< "ResNet.forward"
  bool own = true;   ///< it is the frame's own
  Location location;
};

/// Of torch.nn.Module.__call__ the module's `forward`; of a function of torch's that stands around
/// one of the program (torch.no_grad as a decorator) that one; of any other frame its own code.
ShownCode shown_code(const python::Frame& frame);

}  // namespace penstock::policy
