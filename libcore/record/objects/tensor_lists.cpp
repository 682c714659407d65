// torch's functions of lists of tensors (torch._foreach_add): their Python forms
// (polyfills_tensor_lists.py) call an op for each tensor.

#include <algorithm>
#include <string_view>

#include "record/objects/builtin_call.h"

namespace penstock::record {
namespace {

/// Of the host's memory, or no tensor at all.
bool is_on_host(const Walk& walk, PyObject* object) {
  torch::TensorView view;
  const bool read = !walk.is_tensor(object) || walk.recorder.bridge().read(object, view);
  PyErr_Clear();
  return read && view.device_type == 0;
}

}  // namespace

bool goes_over_lists(const BuiltinCall& call) {
  constexpr std::string_view kHasNoForm = "_foreach_powsum";
  if (!call.name.starts_with("_foreach_") || call.name == kHasNoForm) return false;
  if (call.walk.context.for_backend()) return false;
  return std::ranges::all_of(call.positional, [&](Operand operand) {
    PyObject* list = operand.object;
    if (!PyList_Check(list) && !PyTuple_Check(list)) return is_on_host(call.walk, list);
    PyObject** items = PySequence_Fast_ITEMS(list);
    return std::all_of(items, items + PySequence_Fast_GET_SIZE(list),
                       [&](PyObject* item) { return is_on_host(call.walk, item); });
  });
}

}  // namespace penstock::record
