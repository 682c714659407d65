#pragma once

#include <string>
#include <vector>

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

/// What people call the arguments that a frame only hands on.
struct ShownArguments {
  std::string positional;          ///< the frame's *args; empty: it is the code that people know
  std::string keywords;            ///< its **kwargs; may be empty
  std::vector<std::string> items;  ///< names of what *args holds, as far as they are told
};

/// Of a frame that is shown as another code, by that one's parameters: `x` for the first of *args
/// where a module's forward(self, x) is shown.
ShownArguments shown_arguments(const python::Frame& frame);

}  // namespace penstock::policy
