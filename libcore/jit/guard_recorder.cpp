#include "jit/guard_recorder.h"

#include <cstddef>

#include "jit/literal.h"
#include "python/layout.h"

namespace penstock::jit {
namespace {

// Words are compared whole; these are alone in theirs.
static_assert(offsetof(PyTypeObject, tp_version_tag) % 8 == 0 &&
              offsetof(PyTypeObject, tp_finalize) == offsetof(PyTypeObject, tp_version_tag) + 8);

bool is_heap_type(PyTypeObject* type) { return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0; }

/// True if finding a str in the dict compares with nothing but str.
bool has_plain_keys(PyObject* dict) {
  return DK_IS_UNICODE(reinterpret_cast<PyDictObject*>(dict)->ma_keys) != 0;
}

}  // namespace

GuardProgram::Recorder::Recorder(GuardProgram& program, GuardSection& section)
    : program_(program), section_(section), views_(program.views_.size()) {
  // What earlier sections loaded is there, at the address that was seen; numbers say nothing.
  grades_.assign(program.slots_.size(), Grade::same);
  for (std::size_t i = 0; i < grades_.size(); ++i) {
    if (program.is_number_[i] != 0) grades_[i] = Grade::moving;
  }
  section.witness.clear();
  section.always.clear();
}

void GuardProgram::Recorder::passed(const GuardStep& step, std::size_t position) {
  if (covers(step)) return;
  section_.always.push_back(static_cast<std::uint32_t>(position));
  if (step.op < GuardOp::read_tensor) grades_[step.slot] = Grade::moving;
}

bool GuardProgram::Recorder::covers(const GuardStep& step) {
  if (step.op == GuardOp::read_tensor) return tensor(step);
  if (step.op < GuardOp::read_tensor) {
    const bool known = step.base != kNoSource && grades_[step.base] != Grade::moving;
    return known && covers_load(step);
  }
  if (step.op > GuardOp::check_tensor || step.slot == kNoSource) return false;
  return grades_[step.slot] != Grade::moving && covers_check(step);
}

bool GuardProgram::Recorder::loaded(const GuardStep& step, Grade grade) {
  grades_[step.slot] = grade;
  return true;
}

// -- words ----------------------------------------------------------------------------------------

/// The type is as it was, its bases included.
bool GuardProgram::Recorder::type_version(PyTypeObject* type) {
  if (type->tp_version_tag == 0) return false;
  expect(&type->tp_version_tag);
  return true;
}

/// The dict's keys and values are what they were.
bool GuardProgram::Recorder::dict(PyObject* dict, Grade grade) {
  // The same object of a type that no assignment to __class__ takes.
  if (grade != Grade::held || is_heap_type(Py_TYPE(dict))) type_of(dict);
  expect(&reinterpret_cast<PyDictObject*>(dict)->ma_version_tag);
  return true;
}

/// The instance itself holds under `name` what it held: nothing, or an object of `grade`.
bool GuardProgram::Recorder::instance_value(PyObject* base, PyObject* name, Grade& grade) {
  grade = Grade::same;
  if (PyDictValues* values = python::instance_values(base)) {
    expect(reinterpret_cast<PyObject**>(base) + python::kManagedValues);
    auto* type = reinterpret_cast<PyHeapTypeObject*>(Py_TYPE(base));
    expect(&type->ht_cached_keys);
    PyDictKeysObject* keys = type->ht_cached_keys;
    const python::DictHint index = python::dict_index(keys, name);
    expect(index == python::kNoHint ? static_cast<const void*>(&keys->dk_nentries)
                                    : &values->values[index]);
    return true;
  }
  PyObject** pointer = python::instance_dict_pointer(base);
  if (pointer == nullptr) return true;
  if ((Py_TYPE(base)->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0) {
    expect(reinterpret_cast<PyObject**>(base) + python::kManagedValues);
  }
  expect(pointer);
  if (*pointer == nullptr) return true;
  grade = Grade::held;
  return has_plain_keys(*pointer) && dict(*pointer, Grade::same);
}

/// What the object's length and truth depend on.
bool GuardProgram::Recorder::contents(PyObject* object, Grade grade) {
  if (PyDict_Check(object)) return dict(object, grade);
  if (PyList_Check(object) || PyTuple_Check(object)) {
    type_of(object);
    expect(&reinterpret_cast<PyVarObject*>(object)->ob_size);
    return true;
  }
  return value(object, grade);
}

/// The object is the same and immutable.
bool GuardProgram::Recorder::value(PyObject* object, Grade grade) {
  if (!is_plain_immutable(object)) return false;
  if (grade != Grade::held) section_.witness.keep(object);
  return true;
}

// -- loads ------------------------------------------------------------------------------------------

bool GuardProgram::Recorder::covers_load(const GuardStep& step) {
  PyObject* base = program_.slots_[step.base];
  const auto field = [&](const void* at) {
    type_of(base);
    expect(at);
    return loaded(step, Grade::same);
  };
  switch (step.op) {
    case GuardOp::load_attribute: return attribute(step, base);
    case GuardOp::load_instance: {
      Grade grade = Grade::moving;
      type_of(base);
      return instance_value(base, step.object, grade) && loaded(step, grade);
    }
    case GuardOp::load_dict_item: {
      if (!PyDict_Check(base) || !has_plain_keys(base)) return false;
      return dict(base, grades_[step.base]) && loaded(step, Grade::held);
    }
    case GuardOp::load_item: return item(step, base);
    case GuardOp::load_type: return field(&base->ob_type);
    case GuardOp::load_code: return field(&reinterpret_cast<PyFunctionObject*>(base)->func_code);
    case GuardOp::load_defaults:
      return field(&reinterpret_cast<PyFunctionObject*>(base)->func_defaults);
    case GuardOp::load_kwdefaults:
      return field(&reinterpret_cast<PyFunctionObject*>(base)->func_kwdefaults);
    case GuardOp::load_closure_item: return closure(step, base);
    case GuardOp::load_self:
      return field(PyMethod_Check(base)
                       ? static_cast<void*>(&reinterpret_cast<PyMethodObject*>(base)->im_self)
                       : &reinterpret_cast<PyCFunctionObject*>(base)->m_self);
    case GuardOp::load_function: return field(&reinterpret_cast<PyMethodObject*>(base)->im_func);
    case GuardOp::load_size:
    case GuardOp::load_stride:
    case GuardOp::load_offset:
      return views_[program_.view_of_[step.base]] != 0 && loaded(step, Grade::same);
    case GuardOp::load_length:
      return contents(base, grades_[step.base]) && loaded(step, Grade::same);
    default: return false;
  }
}

bool GuardProgram::Recorder::attribute(const GuardStep& step, PyObject* base) {
  const AttributePath& path = program_.attributes_[step.index];
  type_of(base);
  if (!type_version(Py_TYPE(base))) return false;
  if (PyType_Check(base) && !type_version(reinterpret_cast<PyTypeObject*>(base))) return false;
  switch (path.kind) {
    case AttributePath::Kind::instance: {
      Grade grade = Grade::moving;
      if (!instance_value(base, step.object, grade)) return false;
      return loaded(step, program_.slots_[step.slot] == path.value ? Grade::same : grade);
    }
    case AttributePath::Kind::constant: return loaded(step, Grade::held);
    case AttributePath::Kind::member:
      expect(reinterpret_cast<char*>(base) + path.offset);
      return loaded(step, Grade::same);
    case AttributePath::Kind::dict: {
      PyObject** pointer = python::instance_dict_pointer(base);
      if ((Py_TYPE(base)->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0) {
        expect(reinterpret_cast<PyObject**>(base) + python::kManagedValues);
      }
      expect(pointer);
      return loaded(step, Grade::same);
    }
    case AttributePath::Kind::computed:
    case AttributePath::Kind::unresolved:
    case AttributePath::Kind::missing: break;
  }
  return false;
}

bool GuardProgram::Recorder::item(const GuardStep& step, PyObject* base) {
  if (PyTuple_Check(base) && grades_[step.base] == Grade::held) return loaded(step, Grade::held);
  type_of(base);
  const Py_ssize_t size = Py_SIZE(base);
  const Py_ssize_t at = step.index < 0 ? step.index + size : step.index;
  expect(&reinterpret_cast<PyVarObject*>(base)->ob_size);
  if (PyTuple_Check(base)) {
    expect(&reinterpret_cast<PyTupleObject*>(base)->ob_item[at]);
  } else {
    auto* list = reinterpret_cast<PyListObject*>(base);
    expect(&list->ob_item);
    expect(&list->ob_item[at]);
  }
  return loaded(step, Grade::same);
}

bool GuardProgram::Recorder::closure(const GuardStep& step, PyObject* base) {
  auto* function = reinterpret_cast<PyFunctionObject*>(base);
  type_of(base);
  expect(&function->func_closure);
  expect(&reinterpret_cast<PyVarObject*>(function->func_closure)->ob_size);
  PyObject** item = &reinterpret_cast<PyTupleObject*>(function->func_closure)->ob_item[step.index];
  expect(item);
  type_of(*item);
  expect(&reinterpret_cast<PyCellObject*>(*item)->ob_ref);
  return loaded(step, Grade::same);
}

bool GuardProgram::Recorder::tensor(const GuardStep& step) {
  if (grades_[step.slot] == Grade::moving) return false;
  PyObject* tensor = program_.slots_[step.slot];
  if (!section_.witness.expect_tensor(*program_.bridge_, tensor, program_.views_[step.index])) {
    return false;
  }
  views_[step.index] = 1;
  return true;
}

// -- checks -----------------------------------------------------------------------------------------

bool GuardProgram::Recorder::covers_check(const GuardStep& step) {
  const Grade grade = grades_[step.slot];
  PyObject* object = program_.slots_[step.slot];
  switch (step.op) {
    case GuardOp::check_identity: return grade == Grade::held || !step.weak;
    case GuardOp::check_not_none:
    case GuardOp::check_number: return true;
    case GuardOp::check_type:
      type_of(object);
      return !is_heap_type(Py_TYPE(object)) || type_version(Py_TYPE(object));
    case GuardOp::check_literal: return value(object, grade);
    case GuardOp::check_truth:
    case GuardOp::check_length: return contents(object, grade);
    case GuardOp::check_keys:
    case GuardOp::check_has_key:
    case GuardOp::check_lacks_key:
      return PyDict_Check(object) && has_plain_keys(object) && dict(object, grade);
    case GuardOp::check_has_attribute:
    case GuardOp::check_lacks_attribute: {
      Grade unused = Grade::moving;
      type_of(object);
      if (PyType_Check(object)) return type_version(reinterpret_cast<PyTypeObject*>(object));
      return type_version(Py_TYPE(object)) && instance_value(object, step.object, unused);
    }
    case GuardOp::check_type_version:
      type_of(object);
      return type_version(Py_TYPE(object));
    case GuardOp::check_dict_version: return PyDict_Check(object) && dict(object, grade);
    case GuardOp::check_tensor: return views_[step.base] != 0;
    default: return false;
  }
}

}  // namespace penstock::jit
