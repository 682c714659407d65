#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "python/object.h"

namespace penstock::guards {

/// What a class and its bases have, so that a class which was changed and put back is known again.
///
/// torch.fx puts other functions into nn.Module while it traces (its Tracer; make_fx, export and
/// the control flow of torch go through it) and its own back behind it. That takes the version of
/// every class of a module, though nothing is another. Each class is known by the version of its
/// dict, which no other state of any dict has; nn.Module, which is torch's and stays, by what is in
/// its dict.
class ClassContents {
 public:
  /// Borrows the class: what is asked later may be another one at its place, which differs.
  explicit ClassContents(PyTypeObject* type);
  /// Whether the class has what this one had. Linear in its bases, and in what nn.Module has where
  /// that was changed.
  bool are_of(PyTypeObject* type);

 private:
  /// All that a dict has, in its order.
  struct Items {
    std::vector<python::PyRef> keys_and_values;
  };
  static std::shared_ptr<const Items> items_of(PyObject* dict);
  static bool is_restored_by_torch(PyTypeObject* type);

  PyTypeObject* type_;
  std::vector<std::uint64_t> versions_;  ///< of dicts, by place among the bases
  std::shared_ptr<const Items> items_;   ///< of nn.Module's; null where that is no base
};

}  // namespace penstock::guards
