#pragma once

#include <cstdint>

/// What the library of fake_cudnn.cpp was asked to do, and how it is to answer.
struct FakeCudnn {
  int convolutions = 0, heuristics = 0, alive = 0;
  int engine = -1;  ///< of the last convolution: 1 rounds to TF32, 2 does not
  std::int64_t alignment = 0, workspace = 0;
  bool knows_none = false;
};

extern "C" {
FakeCudnn* fake_cudnn();
}
