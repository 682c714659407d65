#pragma once

#include <string>
#include <string_view>

#include "policy/callables.h"
#include "python/frame.h"
#include "torch/tensor_bridge.h"

namespace penstock::policy {

/// True for code of torch's optimizers, and of the program's own ones: it goes over parameters one
/// by one, a few small ops each, which compiled code makes hardly faster.
bool is_of_optimizer(const python::Frame& frame);

/// Decides which frames capture may start at, and which it leaves to Python (DESIGN's rules).
class RootPolicy {
 public:
  /// `only`: a glob on qualified names, empty for all.
  /// `callables` must outlive it.
  RootPolicy(std::string only, const Callables& callables)
      : only_(std::move(only)), callables_(callables) {}

  /// True when the frame may never be a root nor conducted: module and class bodies, constructors
  /// of modules and optimizers, code in which no segment starts by its rule, and what optimizers do
  /// in a process that uses a GPU.
  bool is_native(const python::Frame& frame) const;
  /// True where segments may start in the frame's code by its rule.
  bool is_followed(const python::Frame& frame) const;
  /// True when a constructor, or code that a rule leaves to Python with all that it calls, is below
  /// this frame on the stack.
  bool is_below_native(const python::Frame& frame) const;
  /// True for module and class bodies, constructors of modules and optimizers, and code that a rule
  /// leaves to Python with all that it calls: the ops that run there are none of a root's tensor
  /// code.
  bool is_apart(const python::Frame& frame) const;
  /// True for the body of a module that is imported from where Python or a package manager installs
  /// them: the standard library, site-packages and dist-packages. None of it is the program's own
  /// code.
  static bool imports_library(const python::Frame& frame);
  /// True when the code names torch, or a global that is a part of it, a tensor, a module or a
  /// class of modules. The answer is the same as long as the globals are.
  bool names_tensors(const python::Frame& frame, const torch::TensorBridge& bridge) const;
  /// True when an argument, the closure or self reaches a tensor or module.
  bool handles_tensors(const python::Frame& frame, const torch::TensorBridge& bridge) const;
  /// True when the name matches --only.
  bool is_wanted(const python::Frame& frame) const;

 private:
  std::string only_;
  const Callables& callables_;
};

/// The name of the module whose globals these are; empty where there is none. Valid while they hold
/// it.
std::string_view module_name(PyObject* globals);

/// True for torch.nn.Module and its subclasses' instances.
bool is_nn_module(PyObject* object);

/// True for classes of modules.
bool makes_module(PyTypeObject* type);
/// True for classes of optimizers, whose constructors run natively.
bool makes_optimizer(PyTypeObject* type);

}  // namespace penstock::policy
