#pragma once

#include "jit/gate/call_profile.h"

namespace penstock::tools {

/// What `run --profile` collects: lives until the process ends. Makes the module
/// `penstock_profile`, with which a program can take the time that parts of it spend in kernels:
///   kernel_nanoseconds() -> int      over all entries, so far
///   measuring_nanoseconds() -> int   what measuring adds to a call outside of its kernels
/// PS0110 where the module cannot be made. Needs the GIL.
Result<jit::CallProfile*> start_profile();

/// Prints the table on standard error, if there is a profile.
void print_profile();

}  // namespace penstock::tools
