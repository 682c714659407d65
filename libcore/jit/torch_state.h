#pragma once

namespace penstock::jit {

/// torch.is_grad_enabled() of this thread: through torch's C ABI (2 ns), else by calling it. True
/// while torch is not imported. Needs the GIL.
bool grad_enabled();

}  // namespace penstock::jit
