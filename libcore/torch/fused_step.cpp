#include "torch/fused_step.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "ir/strides.h"
#include "python/literal.h"
#include "torch/memory_escapes.h"
#include "torch/tensor_versions.h"

namespace penstock::torch {

using python::PyRef;
using Arguments = std::span<PyObject* const>;
using Names = std::vector<std::string_view>;

namespace {

constexpr std::int32_t kCpu = 0;                    // c10::DeviceType
constexpr std::int32_t kFloat32 = 6, kFloat64 = 7;  // c10::ScalarType

}  // namespace

/// One loop. torch's kernel takes the lists in order and the rest by keyword.
struct FusedStep::Row {
  std::string_view module, function;
  const char* kernel;
  const char* other_kernel;  ///< where `choice` is true
  std::string_view choice;
  Names tensors;                 ///< lists that have a tensor for each: parameters, gradients, more
  std::string_view spare, flag;  ///< a list that has them where the flag is true
  std::string_view steps;        ///< list of the steps' counts
  std::string_view wanted;       ///< a number: the loop is short where it is zero
  Names numbers, flags;          ///< passed on
  Names absent, unset;           ///< None, and false
  const char* never = nullptr;   ///< a keyword of the kernel's: false
};

const FusedStep::Row FusedStep::kRows[] = {
    {"torch.optim.adam",
     "_single_tensor_adam",
     "_fused_adam_",
     "_fused_adamw_",
     "decoupled_weight_decay",
     {"params", "grads", "exp_avgs", "exp_avg_sqs"},
     "max_exp_avg_sqs",
     "amsgrad",
     "state_steps",
     {},
     {"lr", "beta1", "beta2", "weight_decay", "eps"},
     {"amsgrad", "maximize"},
     {"grad_scale", "found_inf"},
     {"has_complex", "capturable", "differentiable"}},
    {"torch.optim.sgd",
     "_single_tensor_sgd",
     "_fused_sgd_",
     nullptr,
     {},
     {"params", "grads", "momentum_buffer_list"},
     {},
     {},
     {},
     "momentum",
     {"lr", "momentum", "dampening", "weight_decay"},
     {"nesterov", "maximize"},
     {"grad_scale", "found_inf"},
     {"has_sparse_grad"},
     "is_first_step"},
    {"torch.optim.adagrad",
     "_single_tensor_adagrad",
     "_fused_adagrad_",
     nullptr,
     {},
     {"params", "grads", "state_sums"},
     {},
     {},
     "state_steps",
     {},
     {"lr", "lr_decay", "weight_decay", "eps"},
     {"maximize"},
     {"grad_scale", "found_inf"},
     {"has_complex", "has_sparse_grad", "differentiable"}},
};

namespace {

/// The names of a function's arguments.
std::vector<std::string> argument_names(PyCodeObject* code) {
  std::vector<std::string> names;
  for (int i = 0; i < code->co_argcount + code->co_kwonlyargcount; ++i)
    names.push_back(python::text_of(PyTuple_GET_ITEM(code->co_localsplusnames, i)));
  return names;
}

/// The elements lie in one piece of memory, none of them in two places.
bool fills_its_memory(const TensorView& view) {
  std::int64_t count = 1, last = 0;
  bool in_order = true;  // row-major
  for (std::size_t i = view.sizes.size(); i-- > 0;) {
    if (view.sizes[i] == 0) return true;
    in_order = in_order && (view.sizes[i] == 1 || view.strides[i] == count);
    last += (view.sizes[i] - 1) * view.strides[i];
    count *= view.sizes[i];
  }
  if (in_order) return true;
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;
  for (std::size_t i = 0; i < view.sizes.size(); ++i)
    dims.emplace_back(view.sizes[i], view.strides[i]);
  return last + 1 == count && !may_overlap(std::move(dims));
}

bool is_laid_out_as(const TensorView& view, const TensorView& parameter) {
  return view.data != parameter.data && view.dtype == parameter.dtype &&
         std::ranges::equal(view.sizes, parameter.sizes) &&
         std::ranges::equal(view.strides, parameter.strides);
}

bool is_number(PyObject* object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object);
}

bool is_zero(PyObject* number) {
  return PyFloat_CheckExact(number) ? PyFloat_AS_DOUBLE(number) == 0 : PyObject_IsTrue(number) == 0;
}

/// Of a list's tensors.
class ListReader {
 public:
  explicit ListReader(const TensorBridge& bridge) : bridge_(bridge) {}
  /// False for what is no ordinary tensor in this process's memory.
  bool read(PyObject* list, Py_ssize_t index, TensorView& view) const {
    PyObject* tensor = PyList_GET_ITEM(list, index);
    if (!bridge_.is_plain_tensor(tensor)) return false;
    if (!bridge_.read(tensor, view)) {
      PyErr_Clear();
      return false;
    }
    return view.device_type == kCpu && view.has_version;
  }

 private:
  const TensorBridge& bridge_;
};

}  // namespace

std::unique_ptr<FusedStep> FusedStep::find(PyCodeObject* code, PyObject* globals) {
  const std::string name = python::text_of(code->co_name);
  if (!name.starts_with("_single_tensor_")) return nullptr;
  PyObject* globals_name = PyDict_GetItemString(globals, "__name__");
  const std::string module = globals_name == nullptr ? "" : python::text_of(globals_name);
  const auto* row = std::ranges::find_if(
      kRows, [&](const Row& one) { return one.function == name && one.module == module; });
  if (row == std::end(kRows)) return nullptr;
  const std::vector<std::string> names = argument_names(code);
  std::size_t known = 0;
  bool complete = true;
  const auto place = [&](std::string_view argument) -> std::size_t {
    const auto found = std::ranges::find(names, argument);
    complete = complete && found != names.end();
    ++known;
    return static_cast<std::size_t>(found - names.begin());
  };
  const auto places = [&](const Names& arguments) {
    std::vector<std::size_t> found;
    for (const std::string_view one : arguments) found.push_back(place(one));
    return found;
  };
  const auto optional = [&](std::string_view argument) -> std::ptrdiff_t {
    return argument.empty() ? -1 : static_cast<std::ptrdiff_t>(place(argument));
  };
  std::unique_ptr<FusedStep> step(new FusedStep(*row));
  step->tensors_ = places(row->tensors);
  step->numbers_ = places(row->numbers);
  step->flags_ = places(row->flags);
  step->absent_ = places(row->absent);
  step->unset_ = places(row->unset);
  step->spare_ = optional(row->spare);
  step->steps_ = optional(row->steps);
  step->choice_ = optional(row->choice);
  // Another torch's loop may do more: it has another argument, then.
  if (!complete || known != names.size() || (code->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) != 0)
    return nullptr;
  step->flag_ = optional(row->flag);
  step->wanted_ = optional(row->wanted);
  return step;
}

bool FusedStep::takes_settings(Arguments arguments) const {
  const auto is_bool = [&](std::size_t at) { return PyBool_Check(arguments[at]); };
  return std::ranges::none_of(arguments, [](PyObject* one) { return one == nullptr; }) &&
         std::ranges::all_of(numbers_, [&](std::size_t at) { return is_number(arguments[at]); }) &&
         std::ranges::all_of(flags_, is_bool) &&
         std::ranges::all_of(absent_, [&](std::size_t at) { return arguments[at] == Py_None; }) &&
         std::ranges::all_of(unset_, [&](std::size_t at) { return arguments[at] == Py_False; }) &&
         (choice_ < 0 || is_bool(static_cast<std::size_t>(choice_))) &&
         (wanted_ < 0 || !is_zero(arguments[static_cast<std::size_t>(wanted_)]));
}

std::vector<PyObject*> FusedStep::lists(Arguments arguments) const {
  std::vector<PyObject*> lists;
  for (const std::size_t at : tensors_) lists.push_back(arguments[at]);
  if (flag_ >= 0 && arguments[static_cast<std::size_t>(flag_)] == Py_True)
    lists.push_back(arguments[static_cast<std::size_t>(spare_)]);
  return lists;
}

bool FusedStep::takes(Arguments arguments, const TensorBridge& bridge) const {
  if (!takes_settings(arguments)) return false;
  const std::vector<PyObject*> lists = this->lists(arguments);
  PyObject* steps = steps_ < 0 ? nullptr : arguments[static_cast<std::size_t>(steps_)];
  const auto is_list = [&](PyObject* one) {
    return PyList_CheckExact(one) && PyList_GET_SIZE(one) == PyList_GET_SIZE(lists[0]);
  };
  if (!PyList_CheckExact(lists[0]) || !std::ranges::all_of(lists, is_list)) return false;
  if (steps != nullptr && !is_list(steps)) return false;
  const ListReader reader(bridge);
  std::int32_t dtype = -1;
  TensorView parameter, view;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lists[0]); ++i) {
    if (!reader.read(lists[0], i, parameter) || !fills_its_memory(parameter)) return false;
    if (i == 0) dtype = parameter.dtype;
    if (parameter.dtype != dtype || (dtype != kFloat32 && dtype != kFloat64)) return false;
    for (std::size_t list = 1; list < lists.size(); ++list) {
      if (!reader.read(lists[list], i, view) || !is_laid_out_as(view, parameter)) return false;
    }
    if (steps != nullptr &&
        (!reader.read(steps, i, view) || view.dtype != kFloat32 || !view.sizes.empty()))
      return false;
  }
  return dtype >= 0;
}

PyRef FusedStep::run(Arguments arguments) const {
  const bool other = choice_ >= 0 && arguments[static_cast<std::size_t>(choice_)] == Py_True;
  const PyRef torch = PyRef::steal(PyImport_ImportModule("torch"));
  const PyRef kernel = PyRef::steal(
      torch ? PyObject_GetAttrString(torch.get(), other ? row_.other_kernel : row_.kernel)
            : nullptr);
  std::vector<PyObject*> lists = this->lists(arguments);
  const PyRef none = PyRef::steal(PyList_New(0));
  const PyRef keywords = PyRef::steal(PyDict_New());
  if (!kernel || !none || !keywords) return nullptr;
  if (spare_ >= 0 && lists.size() == tensors_.size()) lists.push_back(none.get());
  if (steps_ >= 0) {
    PyObject* steps = arguments[static_cast<std::size_t>(steps_)];
    lists.push_back(steps);
    if (!PyRef::steal(PyObject_CallMethod(torch.get(), "_foreach_add_", "Oi", steps, 1)))
      return nullptr;
  }
  const auto pass = [&](const Names& names, const std::vector<std::size_t>& places) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const PyRef name = PyRef::steal(
          PyUnicode_FromStringAndSize(names[i].data(), static_cast<Py_ssize_t>(names[i].size())));
      if (!name || PyDict_SetItem(keywords.get(), name.get(), arguments[places[i]]) < 0)
        return false;
    }
    return true;
  };
  if (!pass(row_.numbers, numbers_) || !pass(row_.flags, flags_) ||
      (row_.never != nullptr && PyDict_SetItemString(keywords.get(), row_.never, Py_False) < 0))
    return nullptr;
  const PyRef all = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(lists.size())));
  for (std::size_t i = 0; all && i < lists.size(); ++i)
    PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i), Py_NewRef(lists[i]));
  if (!all) return nullptr;
  MemoryEscapes::expect_counted_write();
  PyRef done = PyRef::steal(PyObject_Call(kernel.get(), all.get(), keywords.get()));
  return done && count_writes(arguments) ? std::move(done) : PyRef();
}

/// The kernel does not; the loop would.
bool FusedStep::count_writes(Arguments arguments) const {
  std::vector<PyObject*> written;
  for (PyObject* list : lists(arguments)) {
    if (list == arguments[tensors_[1]]) continue;  // gradients are read
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
      written.push_back(PyList_GET_ITEM(list, i));
  }
  return bump_versions(written);
}

}  // namespace penstock::torch
