#pragma once

#include <cstddef>
#include <cstdint>

/// What the library of fake_cublaslt.cpp was asked to do, and how it is to answer.
struct FakeCublaslt {
  int products = 0, choices = 0, alive = 0;
  int compute = 0;  ///< type of the last choice
  std::size_t workspace = 0;
  bool knows_none = false;
};

extern "C" {
FakeCublaslt* fake_cublaslt();
}
