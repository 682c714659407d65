#pragma once

#include <Python.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "python/object.h"
#include "torch/tensor_bridge.h"

namespace penstock::torch {

/// A function of torch.optim that goes over parameters one by one and calls a dozen ops for each,
/// as optimizers on CPUs do unless `fused=True` is asked for. torch has a kernel for it that reads
/// and writes each parameter once.
class FusedStep {
 public:
  /// Null: the function is none, or takes other arguments than are known here.
  static std::unique_ptr<FusedStep> find(PyCodeObject* code, PyObject* globals);

  /// True if the kernel does what the loop would with these arguments, one per parameter of the
  /// function: in float32 and float64 the results differ in last bits at most, in 16 bits they
  /// would by more; memory laid out otherwise than its parameter's would be read in a wrong order.
  /// Linear in the tensors. Needs: gradient mode off, which is for the caller to look at.
  bool takes(std::span<PyObject* const> arguments, const TensorBridge& bridge) const;
  /// Does it: None; null with torch's error set.
  python::PyRef run(std::span<PyObject* const> arguments) const;

 private:
  struct Row;
  static const Row kRows[];

  explicit FusedStep(const Row& row) : row_(row) {}
  /// The numbers and flags are such that the kernel takes them.
  bool takes_settings(std::span<PyObject* const> arguments) const;
  bool count_writes(std::span<PyObject* const> arguments) const;
  /// The lists of which the kernel wants a tensor for each parameter.
  std::vector<PyObject*> lists(std::span<PyObject* const> arguments) const;

  const Row& row_;
  // Places among the arguments, of what the row names; -1: it names none.
  std::vector<std::size_t> tensors_, numbers_, flags_, absent_, unset_;
  std::ptrdiff_t spare_ = -1, flag_ = -1, steps_ = -1, choice_ = -1, wanted_ = -1;
};

}  // namespace penstock::torch
