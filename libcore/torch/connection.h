#pragma once

namespace penstock::torch {

/// Has the room python ask this one what it needs to know of tensors. Needs: no hook installed.
void connect_to_python();

}  // namespace penstock::torch
