// Running a guard program: what each step does, and which are skipped.
#include <Python.h>
#include <structmember.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>

#include "guards/attribute_path.h"
#include "guards/call_again.h"
#include "guards/guard_compiler.h"
#include "guards/guard_program.h"
#include "guards/guard_recorder.h"
#include "guards/guard_trial.h"
#include "ir/size_facts.h"
#include "python/layout.h"
#include "python/literal.h"
#include "python/literal_match.h"
#include "python/type_lookup.h"
#include "python/versions/private_api.h"
#include "torch/compile_region.h"
#include "torch/state.h"

namespace penstock::guards {

using python::matches;

namespace {

using torch::TensorView;

PyObject* closure_content(PyObject* closure, std::int32_t index) {
  if (closure == nullptr || index < 0 || index >= PyTuple_GET_SIZE(closure)) return nullptr;
  PyObject* cell = PyTuple_GET_ITEM(closure, index);
  return PyCell_Check(cell) ? PyCell_GET(cell) : nullptr;
}

PyObject* part_of_function(const GuardStep& step, PyObject* function) {
  PyObject* part = nullptr;
  switch (step.op) {
    case GuardOp::load_code:
      return PyFunction_GET_CODE(function);
    case GuardOp::load_closure_item:
      return closure_content(PyFunction_GET_CLOSURE(function), step.index);
    case GuardOp::load_defaults:
      part = PyFunction_GET_DEFAULTS(function);
      break;
    default:
      part = PyFunction_GET_KW_DEFAULTS(function);
  }
  return part != nullptr ? part : Py_None;
}

PyObject* item_of(PyObject* base, std::int32_t index) {
  if (PyTuple_Check(base)) {
    const Py_ssize_t size = PyTuple_GET_SIZE(base);
    const Py_ssize_t at = index < 0 ? index + size : index;
    return at >= 0 && at < size ? PyTuple_GET_ITEM(base, at) : nullptr;
  }
  if (python::is_deque(base)) return python::item_of_deque(base, index);
  if (!PyList_Check(base)) return nullptr;
  const Py_ssize_t size = PyList_GET_SIZE(base);
  const Py_ssize_t at = index < 0 ? index + size : index;
  return at >= 0 && at < size ? PyList_GET_ITEM(base, at) : nullptr;
}

/// len() of built-in containers and what derives from them; -1 for anything else.
std::int64_t length_of(PyObject* object) {
  if (PyDict_Check(object)) return PyDict_GET_SIZE(object);
  if (PyList_Check(object) || PyTuple_Check(object) || PyBytes_Check(object)) {
    return Py_SIZE(object);
  }
  if (PyUnicode_Check(object)) return PyUnicode_GET_LENGTH(object);
  if (PyAnySet_Check(object)) return PySet_GET_SIZE(object);
  if (python::is_deque(object)) return Py_SIZE(object);
  if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) return -1;
  const Py_ssize_t size = PyObject_Size(object);
  if (size < 0) PyErr_Clear();
  return size;
}

/// bool() of built-in values; -1 for anything that could run Python code.
int truth_of(PyObject* object) {
  if (object == Py_True) return 1;
  if (object == Py_False || object == Py_None) return 0;
  if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object)) {
    return PyObject_IsTrue(object);
  }
  const std::int64_t length = length_of(object);
  return length < 0 ? -1 : length > 0 ? 1 : 0;
}

/// What a set holds, in the order in which it is gone over.
bool same_items(PyObject* set, const std::vector<Argument>& items) {
  if (PySet_GET_SIZE(set) != static_cast<Py_ssize_t>(items.size())) return false;
  Py_ssize_t position = 0;
  PyObject* item = nullptr;
  Py_hash_t hash = 0;
  for (std::size_t i = 0; _PySet_NextEntry(set, &position, &item, &hash); ++i) {
    if (!matches(item, items[i])) return false;
  }
  return true;
}

bool same_keys(PyObject* dict, const Argument& expected) {
  const auto* keys = expected.as<Argument::Sequence>();
  if (keys != nullptr && PyAnySet_CheckExact(dict)) return same_items(dict, keys->items);
  if (keys == nullptr || !PyDict_Check(dict)) return false;
  if (PyDict_GET_SIZE(dict) != static_cast<Py_ssize_t>(keys->items.size())) return false;
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  for (std::size_t i = 0; PyDict_Next(dict, &position, &key, nullptr); ++i) {
    if (!matches(key, keys->items[i])) return false;
  }
  return true;
}

bool holds_key(GuardStep& step, PyObject* container) {
  PyObject* key = step.weak ? PyWeakref_GET_OBJECT(step.object) : step.object;
  if (PyDict_Check(container)) {
    return python::dict_value(container, key, step.number, step.hint) != nullptr;
  }
  if (!PyAnySet_Check(container)) return false;
  const int found = PySet_Contains(container, key);
  if (found < 0) PyErr_Clear();
  return found > 0;
}

bool holds_attribute(GuardStep& step, PyObject* object) {
  python::DictHint hint = step.hint;
  if (!PyType_Check(object) &&
      python::instance_value(object, step.object, step.number, hint) != nullptr) {
    step.hint = hint;
    return true;
  }
  PyTypeObject* type =
      PyType_Check(object) ? reinterpret_cast<PyTypeObject*>(object) : Py_TYPE(object);
  return _PyType_Lookup(type, step.object) != nullptr;
}

bool matches_call(PyObject* function, const Argument& expected, PyObject* arguments) {
  python::PyRef answer = call_again(function, arguments);
  if (!answer) {
    PyErr_Clear();
    return false;
  }
  if (matches(answer.get(), expected)) return true;
  // torch's words (a dtype, a device) compare as objects.
  if (!expected.as<DType>() && !expected.as<Argument::Named>()) return false;
  python::PyRef word = python::object_of(expected);
  const int same = word ? PyObject_RichCompareBool(answer.get(), word.get(), Py_EQ) : -1;
  if (same < 0) PyErr_Clear();
  return same > 0;
}

/// By the comparison of a C type that both are of.
bool equals_richly(PyObject* object, PyObject* expected) {
  if (Py_TYPE(object) != Py_TYPE(expected)) return false;
  const int same = PyObject_RichCompareBool(object, expected, Py_EQ);
  if (same < 0) PyErr_Clear();
  return same > 0;
}

/// The instance's dict, made if its attributes stood inline so far; borrowed.
PyObject* own_dict(PyObject* object) {
  if (PyObject* dict = python::instance_dict(object)) return dict;
  PyObject* made = PyObject_GenericGetDict(object, nullptr);
  if (made == nullptr) PyErr_Clear();
  Py_XDECREF(made);  // the instance keeps it
  return made;
}

/// What the collector has no need to follow; a tuple of such, as a code object's names are.
bool nothing_hangs_on(PyObject* value) {
  if (!PyTuple_CheckExact(value)) return PyObject_IS_GC(value) == 0;
  PyObject* const* items = &PyTuple_GET_ITEM(value, 0);
  return std::none_of(items, items + PyTuple_GET_SIZE(value),
                      [](PyObject* item) { return PyObject_IS_GC(item) != 0; });
}

/// What a C getter gives, or a member of C is, kept until it is asked again. Only what nothing
/// hangs on: all else would be kept alive.
PyObject* compute(AttributePath& path, PyObject* object) {
  PyObject* value = path.field != nullptr
                        ? PyMember_GetOne(reinterpret_cast<char*>(object), path.field)
                        : path.getter->get(object, path.getter->closure);
  if (value == nullptr) PyErr_Clear();
  if (value != nullptr && !nothing_hangs_on(value)) Py_CLEAR(value);
  Py_XSETREF(path.kept, value);
  return value;
}

/// What a C getter gives and the object holds; borrowed.
PyObject* held(const AttributePath& path, PyObject* object) {
  PyObject* value = path.getter->get(object, path.getter->closure);
  if (value == nullptr) PyErr_Clear();
  Py_XDECREF(value);
  return value;
}

PyObject* referent(const GuardStep& step) {
  return step.weak ? PyWeakref_GET_OBJECT(step.object) : step.object;
}

}  // namespace

bool GuardProgram::check_tensor(const TensorCheck& expected, const TensorView& view) const {
  if (view.dtype != expected.dtype || view.sizes.size() != expected.sizes.size() ||
      view.requires_grad != expected.requires_grad || view.device_type != expected.device_type) {
    return false;
  }
  if (expected.device_index >= 0 && view.device_index != expected.device_index) return false;
  const std::size_t rank = expected.sizes.size();
  if (expected.fixed) {
    for (std::size_t i = 0; i < rank; ++i) {
      if (view.sizes[i] != expected.sizes[i] || view.strides[i] != expected.strides[i])
        return false;
    }
    return true;
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (expected.sizes[i] >= 0 && view.sizes[i] != expected.sizes[i]) return false;
    if (expected.strides[i] >= 0 && view.strides[i] != expected.strides[i]) return false;
  }
  return true;
}

PyObject* GuardProgram::load_attribute(GuardStep& step, PyObject* base) {
  AttributePath& path = attributes_[step.index];
  if (!path_fits(path, base)) {
    Py_CLEAR(path.kept);
    path = resolve_attribute(base, step.object);
  }
  switch (path.kind) {
    case AttributePath::Kind::instance: {
      PyObject* own = python::instance_value(base, step.object, step.number, step.hint);
      return own != nullptr ? own : path.value;
    }
    case AttributePath::Kind::constant:
      return path.value;
    case AttributePath::Kind::member: {
      PyObject* value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(base) + path.offset);
      return value == nullptr && path.null_is_none ? Py_None : value;
    }
    case AttributePath::Kind::dict:
      return own_dict(base);
    case AttributePath::Kind::computed:
      return compute(path, base);
    case AttributePath::Kind::held:
      return held(path, base);
    case AttributePath::Kind::unresolved:
    case AttributePath::Kind::missing:
      break;
  }
  return nullptr;
}

bool GuardProgram::read_tensor(const GuardStep& step) {
  PyObject* tensor = slots_[step.slot];
  if (!bridge_->is_plain_tensor(tensor)) return false;
  if (bridge_->read(tensor, views_[step.index])) return true;
  PyErr_Clear();
  return false;
}

/// The object that a load finds, borrowed; null where there is none.
PyObject* GuardProgram::load_object(GuardStep& step, const python::Frame& frame) {
  PyObject* base = nullptr;
  if (step.base != kNoSource) base = slots_[step.base];
  switch (step.op) {
    case GuardOp::load_local:
      return frame.local(step.index);
    case GuardOp::load_free:
      return closure_content(PyFunction_GET_CLOSURE(frame.function()), step.index);
    case GuardOp::load_content: {
      PyObject* cell = frame.local(step.index);
      return cell != nullptr && PyCell_Check(cell) ? PyCell_GET(cell) : nullptr;
    }
    case GuardOp::load_stack:
      return frame.stack()[step.index];
    case GuardOp::load_global:
      if (PyObject* found =
              python::dict_value(frame.globals(), step.object, step.number, step.hint))
        return found;
      [[fallthrough]];
    case GuardOp::load_builtin:
      return python::dict_value(frame.builtins(), step.object, step.number, step.hint);
    case GuardOp::load_module:
      return python::dict_value(PyImport_GetModuleDict(), step.object, step.number, step.hint);
    case GuardOp::load_attribute:
      return load_attribute(step, base);
    case GuardOp::load_instance:
      return python::instance_value(base, step.object, step.number, step.hint);
    case GuardOp::load_dict_item:
      return PyDict_Check(base) ? python::dict_value(base, step.object, step.number, step.hint)
                                : nullptr;
    case GuardOp::load_tensor_item: {
      PyObject* key = slots_[step.number];
      if (!PyDict_Check(base) || !bridge_->is_plain_tensor(key)) return nullptr;
      return python::dict_value(base, key, python::tensor_hash(key), step.hint);
    }
    case GuardOp::load_item:
      return item_of(base, step.index);
    case GuardOp::load_type:
      return reinterpret_cast<PyObject*>(Py_TYPE(base));
    case GuardOp::load_code:
    case GuardOp::load_defaults:
    case GuardOp::load_kwdefaults:
    case GuardOp::load_closure_item:
      return PyFunction_Check(base) ? part_of_function(step, base) : nullptr;
    case GuardOp::load_self:
      if (PyMethod_Check(base)) return PyMethod_GET_SELF(base);
      return PyCFunction_Check(base) ? PyCFunction_GET_SELF(base) : nullptr;
    case GuardOp::load_function:
      return PyMethod_Check(base) ? PyMethod_GET_FUNCTION(base) : nullptr;
    default:
      return nullptr;
  }
}

/// Loads that put no object into a slot.
bool GuardProgram::load_number(const GuardStep& step) {
  switch (step.op) {
    case GuardOp::load_size:
    case GuardOp::load_stride: {
      const TensorView& view = views_[view_of_[step.base]];
      const auto& row = step.op == GuardOp::load_size ? view.sizes : view.strides;
      if (step.index < 0 || step.index >= static_cast<std::int32_t>(row.size())) return false;
      numbers_[step.slot].integer = row[step.index];
      return true;
    }
    case GuardOp::load_offset:
      numbers_[step.slot].integer = views_[view_of_[step.base]].storage_offset;
      return true;
    case GuardOp::load_length:
      numbers_[step.slot].integer = length_of(slots_[step.base]);
      return numbers_[step.slot].integer >= 0;
    case GuardOp::compute_number:
      return compute_number(step);
    default:
      return read_tensor(step);
  }
}

bool GuardProgram::run_load(GuardStep& step, const python::Frame& frame) {
  if (step.op >= GuardOp::load_size) return load_number(step);
  PyObject* value = load_object(step, frame);
  slots_[step.slot] = value;
  return value != nullptr;
}

bool GuardProgram::run_check(GuardStep& step) {
  PyObject* object = slots_.empty() || step.slot == kNoSource ? nullptr : slots_[step.slot];
  switch (step.op) {
    case GuardOp::check_identity: {
      PyObject* expected = referent(step);
      return object == expected && (!step.weak || expected != Py_None);
    }
    case GuardOp::check_not_none:
      return object != Py_None;
    case GuardOp::check_same:
      return object == slots_[step.base];
    case GuardOp::check_distinct:
      return object != slots_[step.base];
    case GuardOp::check_type:
      return reinterpret_cast<PyObject*>(Py_TYPE(object)) == referent(step);
    case GuardOp::check_literal:
      return matches(object, *literals_[step.index]);
    case GuardOp::check_call:
      return matches_call(object, *literals_[step.index], step.object);
    case GuardOp::check_richly:
      return equals_richly(object, referent(step));
    case GuardOp::check_number:
      return !numbers_[step.slot].is_float && numbers_[step.slot].integer == step.number;
    case GuardOp::check_real:
    case GuardOp::check_nonzero:
    case GuardOp::check_is_float:
    case GuardOp::check_is_plain:
      return check_number(step);
    case GuardOp::check_truth:
      return truth_of(object) == step.number;
    case GuardOp::check_length:
      return length_of(object) == step.number;
    case GuardOp::check_keys:
      return same_keys(object, *literals_[step.index]);
    case GuardOp::check_has_key:
      return holds_key(step, object);
    case GuardOp::check_lacks_key:
      return (PyDict_Check(object) || PyAnySet_Check(object)) && !holds_key(step, object);
    case GuardOp::check_has_attribute:
      return holds_attribute(step, object);
    case GuardOp::check_lacks_attribute:
      return !holds_attribute(step, object);
    case GuardOp::check_type_version:
      return check_version(step, versioned_type(step, object));
    case GuardOp::check_dict_version:
      return PyDict_Check(object) && python::counts_changes(object) &&
             python::dict_version(object) == static_cast<std::uint64_t>(step.number);
    case GuardOp::check_tensor:
      return check_tensor(tensors_[step.index], views_[step.base]);
    case GuardOp::check_no_overlap:
    case GuardOp::check_apart:
      return !overlaps(step);
    case GuardOp::check_grad_mode:
      return torch::grad_enabled() == (step.number != 0);
    case GuardOp::check_is_compiling:
      return torch::in_compiled_region() == (step.number != 0);
    default:
      return false;
  }
}

std::int64_t GuardProgram::size_part(const SizeCheck& check) const {
  const TensorView& view = views_[check.view];
  if (check.part == SizeCheck::Part::offset) return view.storage_offset;
  return (check.part == SizeCheck::Part::size ? view.sizes : view.strides)[check.dimension];
}

bool GuardProgram::run_size(GuardStep& step) {
  if (step.op == GuardOp::check_condition) {
    const ConditionCheck& check = conditions_[step.index];
    const std::int64_t left = check.left.evaluate(symbols_.data());
    const std::int64_t right = check.right.evaluate(symbols_.data());
    return holds(left, check.relation, right);
  }
  const SizeCheck& check = sizes_[step.index];
  std::int64_t value = 0;
  if (step.op == GuardOp::bind_size || step.op == GuardOp::check_size) {
    value = size_part(check);
  } else if (!integer_of(step.slot, value)) {
    return false;
  }
  if (step.op == GuardOp::check_size || step.op == GuardOp::check_expression) {
    return value == check.expected.evaluate(symbols_.data());
  }
  symbols_[check.symbol] = value;
  return value >= check.minimum && value <= check.maximum;
}

bool GuardProgram::run_step(GuardStep& step, const python::Frame& frame) {
  if (step.op <= GuardOp::read_tensor) return run_load(step, frame);
  return step.op <= GuardOp::check_is_compiling ? run_check(step) : run_size(step);
}

/// Sets `moved` if the step loads another object than the last time.
bool GuardProgram::run_noting(GuardStep& step, const python::Frame& frame, bool& moved) {
  if (step.op >= GuardOp::read_tensor) return run_step(step, frame);
  PyObject* before = slots_[step.slot];
  const bool passed = run_load(step, frame);
  moved = moved || slots_[step.slot] != before;
  return passed;
}

/// Where its witness does not hold. A section that changes on every call is recorded again ever
/// more seldom.
bool GuardProgram::run_section(GuardTree& tree, std::size_t index, const python::Frame& frame,
                               bool& moved) {
  constexpr unsigned kPatience = 4;
  GuardSection& section = tree.sections[index];
  const bool record = section.misses < kPatience || std::has_single_bit(section.misses);
  ++section.misses;
  if (section.misses_ever != UINT_MAX) ++section.misses_ever;
  section.witnessed = false;
  std::optional<Recorder> recorder;
  if (record) recorder.emplace(*this, tree, index);
  for (std::size_t i = section.begin; i < section.end; ++i) {
    if (!run_noting(steps_[i], frame, moved)) return false;
    if (recorder) recorder->passed(steps_[i], i);
  }
  section.witnessed = record;
  section.loads_always = std::ranges::any_of(section.always, [&](std::uint32_t position) {
    return steps_[position].op <= GuardOp::read_tensor;
  });
  return true;
}

/// Where its witness holds.
bool GuardProgram::run_always(GuardSection& section, const python::Frame& frame, bool& moved) {
  section.misses = 0;
  for (const std::uint32_t position : section.always) {
    if (!run_noting(steps_[position], frame, moved)) return false;
  }
  return true;
}

/// Remembers what changes, so that the next recording can do without it.
void GuardProgram::note_change(GuardTree& tree, const void* word) {
  constexpr std::size_t kMost = 4096;  // words whose objects are long gone stay in the table
  if (tree.changes.size() > kMost) tree.changes.clear();
  if (word != nullptr) ++tree.changes[word];
}

bool GuardProgram::check_tree(GuardTree& tree, const python::Frame& frame) {
  bool moved = false;
  bool passed = true;
  for (std::size_t i = tree.load; i < tree.load_end && passed; ++i) {
    passed = run_noting(steps_[i], frame, moved);
  }
  for (std::size_t i = 0; i < tree.sections.size(); ++i) {
    GuardSection& section = tree.sections[i];
    const auto missed = [&](std::uint32_t before) { return tree.sections[before].missed; };
    // Behind a failure nothing is loaded: what the sections there relied on may be gone.
    section.witnessed =
        section.witnessed && passed && !moved && std::ranges::none_of(section.relies_on, missed);
    section.missed = !section.witnessed || !section.witness.holds();
    if (section.witnessed && section.missed) note_change(tree, section.witness.changed());
    if (!passed) continue;
    tree.moved = tree.moved || section.missed || section.loads_always;
    passed =
        section.missed ? run_section(tree, i, frame, moved) : run_always(section, frame, moved);
  }
  tree.moved = tree.moved || moved || !passed;
  return passed;
}

/// The steps of a tree whose tensor is pending. Nothing is remembered of it.
bool GuardProgram::check_pending(GuardTree& tree, const torch::TensorView& view,
                                 const python::Frame& frame) {
  for (GuardSection& section : tree.sections) section.witnessed = false;
  tree.moved = true;
  if (!tree.takes_pending) return false;
  slots_[steps_[tree.load].slot] = nullptr;
  for (GuardSection& section : tree.sections) {
    for (std::size_t i = section.begin; i < section.end; ++i) {
      if (steps_[i].op == GuardOp::read_tensor) {
        views_[steps_[i].index] = view;
      } else if (!run_step(steps_[i], frame)) {
        return false;
      }
    }
  }
  return true;
}

bool GuardProgram::check(const python::Frame& frame, const PendingViews* pending) {
  const std::size_t first = trees_.empty() ? computed_ : trees_.front().load;
  for (std::size_t i = 0; i < first; ++i) {
    if (!run_step(steps_[i], frame)) return false;
  }
  for (GuardTree& tree : trees_) {
    const torch::TensorView* view = nullptr;
    if (pending != nullptr && tree.local >= 0) view = pending->find_view(tree.local);
    if (view != nullptr ? !check_pending(tree, *view, frame) : !check_tree(tree, frame))
      return false;
  }
  for (std::size_t i = computed_; i < steps_.size(); ++i) {
    if (!run_step(steps_[i], frame)) return false;
  }
  return true;
}

std::vector<FailedGuard> GuardProgram::explain(const python::Frame& frame) {
  Trial trial(*this);
  for (GuardTree& tree : trees_) {
    for (GuardSection& section : tree.sections) section.witnessed = false;
  }
  for (GuardStep& step : steps_) {
    if (trial.ready(step) && !run_step(step, frame)) trial.fail(step);
  }
  return trial.take();
}

Result<std::unique_ptr<GuardProgram>> GuardProgram::compile(const Interface& interface,
                                                            const LiveTable& live,
                                                            PyCodeObject* code) {
  std::unique_ptr<GuardProgram> program(new GuardProgram(interface));
  GuardCompiler compiler(interface, live, code, *program);
  if (auto done = compiler.compile(); !done) return tl::unexpected(done.error());
  const auto has_tensor_key = [](const GuardStep& step) {
    return step.op == GuardOp::load_tensor_item;
  };
  if (!program->views_.empty() || std::ranges::any_of(program->steps_, has_tensor_key)) {
    auto bridge = torch::TensorBridge::get();
    if (!bridge) return tl::unexpected(bridge.error());
    if (*bridge == nullptr)
      return failure(Code::PS0503, "a guard needs torch, which is not imported");
    program->bridge_ = *bridge;
  }
  return program;
}

GuardProgram::~GuardProgram() {
  for (AttributePath& path : attributes_) Py_CLEAR(path.kept);
}

bool GuardProgram::is_dead() const {
  for (const GuardStep& step : steps_) {
    if (step.weak && PyWeakref_GET_OBJECT(step.object) == Py_None) return true;
  }
  return false;
}

}  // namespace penstock::guards
