#include "guards/guard_check.h"

#include <algorithm>
#include <bit>

#include "guards/call_again.h"
#include "ir/argument_text.h"
#include "ir/decided_sizes.h"
#include "ir/size_facts.h"
#include "python/literal.h"
#include "python/type_lookup.h"
#include "torch/compile_region.h"
#include "torch/state.h"
#include "torch/tensor_facts.h"

namespace penstock::guards {

using python::literal_of;
using python::object_of;
using python::plain_number;
using python::PyRef;
using python::qualified_name;
using torch::type_of_tensor;

namespace {

PyRef checked(PyObject* owned) {
  if (owned == nullptr) PyErr_Clear();
  return PyRef::steal(owned);
}

PyRef dict_value(PyObject* dict, PyObject* key) {
  if (dict == nullptr || key == nullptr || !PyDict_Check(dict)) return nullptr;
  PyObject* value = PyDict_GetItemWithError(dict, key);
  if (value == nullptr) PyErr_Clear();
  return PyRef::borrow(value);
}

PyRef dict_value(PyObject* dict, const std::string& key) {
  PyRef name = PyRef::steal(PyUnicode_FromStringAndSize(key.data(), key.size()));
  return dict_value(dict, name.get());
}

PyRef attribute(PyObject* object, const std::string& name) {
  return object == nullptr ? PyRef() : checked(PyObject_GetAttrString(object, name.c_str()));
}

PyRef number(std::int64_t value) {
  return PyRef::steal(PyLong_FromLongLong(value));
}

}  // namespace

PyRef GuardCheck::read_root(const SourceStep& step) {
  switch (step.kind) {
    case SourceKind::local:
      return PyRef::borrow(frame_.local(static_cast<int>(step.index)));
    case SourceKind::cell: {
      PyObject* slot = frame_.local(static_cast<int>(step.index));
      if (slot != nullptr && PyCell_Check(slot)) return PyRef::borrow(PyCell_GET(slot));
      if (slot != nullptr) return PyRef::borrow(slot);
      // Before the prologue ran a free variable's cell is still in the closure.
      PyCodeObject* code = frame_.code();
      const Py_ssize_t at = step.index - (code->co_nlocalsplus - code->co_nfreevars);
      PyObject* closure = reinterpret_cast<PyFunctionObject*>(frame_.function())->func_closure;
      if (closure == nullptr || at < 0 || at >= PyTuple_GET_SIZE(closure)) return nullptr;
      return PyRef::borrow(PyCell_GET(PyTuple_GET_ITEM(closure, at)));
    }
    case SourceKind::stack:
      if (step.index >= frame_.depth()) return nullptr;
      return PyRef::borrow(frame_.stack()[step.index]);
    case SourceKind::global: {
      PyRef value = dict_value(frame_.globals(), step.name);
      return value ? value : dict_value(frame_.builtins(), step.name);
    }
    case SourceKind::builtin:
      return dict_value(frame_.builtins(), step.name);
    case SourceKind::module:
      return dict_value(PyImport_GetModuleDict(), step.name);
    case SourceKind::number:
      return object_of(step.key);
    default:
      return nullptr;
  }
}

PyRef GuardCheck::read(const SourceStep& step) {
  if (step.base == kNoSource) return read_root(step);
  PyObject* base = value(step.base);
  if (base == nullptr) return nullptr;
  switch (step.kind) {
    case SourceKind::attribute:
      return attribute(base, step.name);
    case SourceKind::instance: {
      PyRef dict = PyModule_Check(base) ? PyRef::borrow(PyModule_GetDict(base))
                                        : checked(PyObject_GenericGetDict(base, nullptr));
      return dict_value(dict.get(), step.name);
    }
    case SourceKind::dict_item: {
      PyRef key = step.other != kNoSource ? PyRef::borrow(value(step.other))
                  : step.index > 0        ? live_[static_cast<std::size_t>(step.index - 1)]
                                          : object_of(step.key);
      if (!key) PyErr_Clear();
      return dict_value(base, key.get());
    }
    case SourceKind::item:
      if (python::is_deque(base)) return PyRef::borrow(python::item_of_deque(base, step.index));
      if (!PyTuple_Check(base) && !PyList_Check(base)) return nullptr;
      if (step.index >= PySequence_Fast_GET_SIZE(base)) return nullptr;
      return PyRef::borrow(PySequence_Fast_GET_ITEM(base, step.index));
    case SourceKind::type:
      return PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(base)));
    case SourceKind::code:
      return attribute(base, "__code__");
    case SourceKind::defaults:
      return attribute(base, "__defaults__");
    case SourceKind::kwdefaults:
      return attribute(base, "__kwdefaults__");
    case SourceKind::closure: {
      PyRef closure = attribute(base, "__closure__");
      if (!closure || !PyTuple_Check(closure.get())) return nullptr;
      if (step.index >= PyTuple_GET_SIZE(closure.get())) return nullptr;
      return PyRef::borrow(PyCell_GET(PyTuple_GET_ITEM(closure.get(), step.index)));
    }
    case SourceKind::self:
      return attribute(base, "__self__");
    case SourceKind::function:
      return attribute(base, "__func__");
    default:
      return read_number(step, base);
  }
}

PyRef GuardCheck::read_number(const SourceStep& step, PyObject* base) {
  if (step.kind == SourceKind::length) return checked(PyLong_FromSsize_t(PyObject_Size(base)));
  torch::TensorView view;
  const bool of_tensor = bridge_.is_tensor(base) && bridge_.read(base, view);
  if (step.kind == SourceKind::computed) {
    const auto left = of_tensor ? torch::element_of(view) : plain_number(base);
    PyObject* other = value(step.other);
    const auto right = other == nullptr ? std::nullopt : plain_number(other);
    if (!left || (facts(step.operation()).takes_two() && !right)) return nullptr;
    const auto result = compute(step.operation(), *left, right.value_or(PythonNumber{}));
    return result ? object_of(*result) : nullptr;
  }
  if (!of_tensor) {
    PyErr_Clear();
    return nullptr;
  }
  if (step.kind == SourceKind::offset) return number(view.storage_offset);
  const auto& list = step.kind == SourceKind::size ? view.sizes : view.strides;
  if (step.index >= static_cast<std::int64_t>(list.size())) return nullptr;
  return number(list[step.index]);
}

PyObject* GuardCheck::value(SourceId source) {
  if (source == kNoSource) return nullptr;
  if (!read_[source]) {
    values_[source] = read(interface_.sources[source]);
    read_[source] = true;
  }
  return values_[source].get();
}

bool GuardCheck::tensor_holds(const Guard& guard, PyObject* object, std::string* actual) {
  if (!bridge_.is_plain_tensor(object)) {
    if (actual) *actual = std::string("an object of type ") + Py_TYPE(object)->tp_name;
    return false;
  }
  auto type = type_of_tensor(bridge_, object);
  if (!type) return false;
  type->storage = guard.tensor->storage;
  if (actual) *actual = to_string(*type) + (type->requires_grad ? " requires_grad" : "");
  return *type == with_values(*guard.tensor);
}

/// The value of each symbol in the call at hand; nothing for one that is out of its range.
void GuardCheck::bind_symbols() {
  for (const Symbol& symbol : interface_.symbols) {
    if (symbol.source == kNoSource) continue;  // elements decide it in the run
    PyObject* object = value(symbol.source);
    const auto number = object == nullptr ? std::nullopt : plain_number(object);
    if (!number || number->is_float) continue;
    if (number->integer < symbol.minimum || number->integer > symbol.maximum) continue;
    symbols_.emplace(symbol.name, number->integer);
  }
}

std::optional<std::int64_t> GuardCheck::evaluate(const SymExpr& expression) const {
  return expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = symbols_.find(name);
    return found == symbols_.end() ? std::nullopt : std::optional(found->second);
  });
}

TensorType GuardCheck::with_values(TensorType type) const {
  const auto replace = [&](SymExpr& expression) {
    if (const auto number = evaluate(expression)) expression = *number;
  };
  for (SymExpr& size : type.sizes) replace(size);
  for (SymExpr& stride : type.strides) replace(stride);
  replace(type.storage_offset);
  return type;
}

bool GuardCheck::condition_holds(const Condition& condition) const {
  const auto left = evaluate(condition.left), right = evaluate(condition.right);
  return left && right && penstock::holds(*left, condition.relation, *right);
}

/// The sources of a tensor's sizes that are others than the guard asks for, if nothing else is
/// wrong.
std::vector<std::string> GuardCheck::other_sizes(const Guard& guard) {
  std::vector<std::string> sources;
  PyObject* object = value(guard.source);
  if (!guard.tensor || object == nullptr || !bridge_.is_plain_tensor(object)) return sources;
  const auto type = type_of_tensor(bridge_, object);
  const TensorType expected = with_values(*guard.tensor);
  const bool alike = type && type->dtype == expected.dtype && type->rank() == expected.rank() &&
                     type->device == expected.device &&
                     type->requires_grad == expected.requires_grad;
  for (std::size_t dim = 0; alike && dim < expected.rank(); ++dim) {
    if (type->sizes[dim] == expected.sizes[dim]) continue;
    sources.push_back(interface_.sources.text(guard.source) + ".size(" + std::to_string(dim) + ")");
  }
  return sources;
}

namespace {

bool same_literal(PyObject* object, const Argument& expected) {
  // By its bits, as compiled guards do: 0.0 is not -0.0, and a NaN is itself.
  if (const double* real = expected.as<double>(); real != nullptr && PyFloat_CheckExact(object)) {
    return std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(object)) ==
           std::bit_cast<std::uint64_t>(*real);
  }
  auto literal = literal_of(object);
  return literal && *literal == expected;
}

bool same_truth(PyObject* object, const Argument& expected) {
  const int truth = PyObject_IsTrue(object);
  if (truth < 0) PyErr_Clear();
  return Argument(truth == 1) == expected;
}

bool same_length(PyObject* object, const Argument& expected) {
  const Py_ssize_t length = PyObject_Size(object);
  if (length < 0) PyErr_Clear();
  return Argument(std::int64_t{length}) == expected;
}

/// Whether calling the function gives what is expected.
bool same_answer(PyObject* function, const Argument& expected, PyObject* arguments) {
  PyRef answer = call_again(function, arguments);
  if (!answer) PyErr_Clear();
  return answer && same_literal(answer.get(), expected);
}

/// Nothing for what has no keys. The key is `live` or, without that, the literal `expected`.
std::optional<bool> has_key(PyObject* object, const Argument& expected, PyObject* live) {
  PyRef key = live != nullptr ? PyRef::borrow(live) : object_of(expected);
  const int found = !key                     ? -1
                    : PyDict_Check(object)   ? PyDict_Contains(object, key.get())
                    : PyAnySet_Check(object) ? PySet_Contains(object, key.get())
                                             : -1;
  if (found < 0) PyErr_Clear();
  return found < 0 ? std::nullopt : std::optional(found == 1);
}

bool has_attribute(PyObject* object, const Argument& expected) {
  const std::string* name = expected.as<std::string>();
  return name != nullptr && attribute(object, *name).get() != nullptr;
}

/// What the thread's mode is that a guard of this kind asks for; none: it asks for an object.
std::optional<bool> thread_mode(GuardKind kind) {
  if (kind == GuardKind::grad_mode) return torch::grad_enabled();
  if (kind == GuardKind::is_compiling) return torch::in_compiled_region();
  return std::nullopt;
}

bool shares_memory(const torch::TensorBridge& bridge, PyObject* a, PyObject* b) {
  torch::TensorView left, right;
  if (!bridge.read(a, left) || !bridge.read(b, right)) {
    PyErr_Clear();
    return false;
  }
  return left.storage != nullptr && left.storage == right.storage;
}

}  // namespace

/// The guard is a no_overlap, and `object` at its source.
bool GuardCheck::is_apart(const Guard& guard, PyObject* object) {
  if (guard.other != kNoSource) {
    PyObject* other = value(guard.other);
    return other != nullptr && !shares_memory(bridge_, object, other);
  }
  const SourceId source = guard.source;
  const auto& inputs = interface_.inputs;
  const auto self = std::ranges::find(inputs, source, &Input::source);
  return std::ranges::none_of(inputs, [&](const Input& input) {
    const bool tensor = input.kind != InputKind::size && input.kind != InputKind::scalar &&
                        input.kind != InputKind::generator && input.source != kNoSource;
    if (!tensor || input.source == source) return false;
    const bool known =
        self != inputs.end() && self->type.storage >= 0 && self->type.storage == input.type.storage;
    PyObject* other = known ? nullptr : value(input.source);
    return other != nullptr && shares_memory(bridge_, object, other);
  });
}

bool GuardCheck::holds(const Guard& guard) {
  if (guard.kind == GuardKind::condition)
    return guard.condition &&
           (waits_for_elements(interface_, *guard.condition) || condition_holds(*guard.condition));
  if (const auto mode = thread_mode(guard.kind)) return guard.expected == Argument(*mode);
  PyObject* object = value(guard.source);
  if (object == nullptr) return false;
  const bool is_object = guard.live >= 0 && guard.kind != GuardKind::dict_version;
  PyObject* live = is_object ? live_[guard.live].get() : nullptr;
  switch (guard.kind) {
    case GuardKind::is_none:
      return object == Py_None;
    case GuardKind::not_none:
      return object != Py_None;
    case GuardKind::identity:
      return object == live;
    case GuardKind::same_object:
      return object == value(guard.other);
    case GuardKind::distinct_object:
      return object != value(guard.other);
    case GuardKind::type_is:
      return reinterpret_cast<PyObject*>(Py_TYPE(object)) == live;
    case GuardKind::equals:
      return same_literal(object, guard.expected);
    case GuardKind::truth:
      return same_truth(object, guard.expected);
    case GuardKind::length:
      return same_length(object, guard.expected);
    case GuardKind::dict_keys: {
      PyRef keys = PyDict_Check(object)          ? PyRef::steal(PyDict_Keys(object))
                   : PyAnySet_CheckExact(object) ? PyRef::steal(PySequence_List(object))
                                                 : PyRef();
      return keys && same_literal(keys.get(), guard.expected);
    }
    case GuardKind::has_key:
      return has_key(object, guard.expected, live) == true;
    case GuardKind::lacks_key:
      return has_key(object, guard.expected, live) == false;
    case GuardKind::has_attribute:
      return has_attribute(object, guard.expected);
    case GuardKind::lacks_attribute:
      return !has_attribute(object, guard.expected);
    case GuardKind::tensor:
      return tensor_holds(guard, object, nullptr);
    case GuardKind::no_overlap:
      return is_apart(guard, object);
    case GuardKind::global_state:
      return same_answer(object, guard.expected, live);
    // Types and dicts change too rarely for a reference check to look at their versions.
    case GuardKind::type_version:
    case GuardKind::dict_version:
    case GuardKind::grad_mode:
    case GuardKind::is_compiling:
    case GuardKind::condition:
      break;
  }
  return true;
}

bool GuardCheck::holds() {
  for (const Guard& guard : interface_.guards) {
    if (!holds(guard)) return false;
  }
  // A graph reads ints of 64 bits.
  return std::ranges::all_of(interface_.inputs, [&](const Input& input) {
    if (input.kind != InputKind::scalar) return true;
    PyObject* number = value(input.source);
    return number != nullptr && plain_number(number).has_value();
  });
}

std::string GuardCheck::actual(const Guard& guard) {
  if (const auto mode = thread_mode(guard.kind)) return *mode ? "True" : "False";
  if (guard.condition) {
    std::string text;
    const auto show = [&](std::string_view name) {
      const auto found = symbols_.find(name);
      if (found == symbols_.end() || text.find(found->first + " = ") != std::string::npos) return;
      text += (text.empty() ? "" : ", ") + found->first + " = " + std::to_string(found->second);
    };
    guard.condition->left.for_each_symbol(show);
    guard.condition->right.for_each_symbol(show);
    return text;
  }
  PyObject* object = value(guard.source);
  if (object == nullptr) return "missing";
  if (guard.kind == GuardKind::tensor) {
    std::string text;
    tensor_holds(guard, object, &text);
    return text;
  }
  if (guard.kind == GuardKind::type_is) {
    return qualified_name(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  }
  if (guard.kind == GuardKind::length) return std::to_string(PyObject_Size(object));
  if (auto literal = literal_of(object)) return to_string(*literal);
  return qualified_name(object);
}

std::vector<FailedGuard> GuardCheck::failures() {
  std::vector<FailedGuard> failed;
  for (const Guard& guard : interface_.guards) {
    if (holds(guard)) continue;
    FailedGuard one;
    one.kind = guard.kind;
    if (guard.source != kNoSource) one.source = interface_.sources.text(guard.source);
    one.text = to_string(guard, interface_.sources);
    one.expected = guard.tensor      ? to_string(*guard.tensor)
                   : guard.condition ? to_string(*guard.condition)
                                     : to_string(guard.expected);
    one.actual = actual(guard);
    one.location = guard.location;
    one.sizes = other_sizes(guard);
    one.value = guard.expected;
    failed.push_back(std::move(one));
  }
  return failed;
}

}  // namespace penstock::guards
