#include "guards/guard_recorder.h"

#include <algorithm>
#include <cstddef>

#include "python/layout.h"
#include "python/literal.h"
#include "python/type_lookup.h"

namespace penstock::guards {
namespace {

// Words are compared whole; these are alone in theirs.
static_assert(offsetof(PyTypeObject, tp_version_tag) % 8 == 0 &&
              offsetof(PyTypeObject, tp_finalize) == offsetof(PyTypeObject, tp_version_tag) + 8);

bool is_heap_type(PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

/// True if finding a str in the dict compares with nothing but str.
bool has_plain_keys(PyObject* dict) {
  return DK_IS_UNICODE(reinterpret_cast<PyDictObject*>(dict)->ma_keys) != 0;
}

}  // namespace

GuardProgram::Recorder::Recorder(GuardProgram& program, GuardTree& tree, std::size_t section)
    : program_(program),
      tree_(tree),
      index_(static_cast<std::uint32_t>(section)),
      section_(tree.sections[section]),
      views_(program.views_.size()) {
  // What earlier sections loaded is there, at the address that was seen; numbers say nothing.
  grades_.assign(program.slots_.size(), Grade::same);
  for (std::size_t i = 0; i < grades_.size(); ++i) {
    if (program.is_number_[i] != 0) grades_[i] = Grade::moving;
  }
  constexpr std::size_t kMostWords = std::size_t{1}
                                     << 16;  // those of objects long gone are among them
  if (tree.compared.size() > kMostWords) tree.compared.clear();
  section_.witness.clear();
  section_.relies_on.clear();
  section_.always.clear();
}

void GuardProgram::Recorder::passed(const GuardStep& step, std::size_t position) {
  if (step.op < GuardOp::read_tensor) program_.held_by_[step.slot] = -1;
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
  if (grade == Grade::held) program_.held_by_[step.slot] = static_cast<std::int32_t>(index_);
  return true;
}

/// What is known of the object, here or from a section before.
GuardProgram::Recorder::Grade GuardProgram::Recorder::grade_of(SourceId source) {
  const std::int32_t by = program_.held_by_[source];
  if (grades_[source] != Grade::same || by < 0 || static_cast<std::uint32_t>(by) >= index_) {
    return grades_[source];
  }
  if (!tree_.sections[by].is_steady()) return Grade::same;
  rely_on(static_cast<std::uint32_t>(by));
  return grades_[source] = Grade::held;
}

void GuardProgram::Recorder::rely_on(std::uint32_t section) {
  if (std::ranges::find(section_.relies_on, section) != section_.relies_on.end()) return;
  section_.relies_on.push_back(section);
}

// -- words ----------------------------------------------------------------------------------------

void GuardProgram::Recorder::expect(const void* at) {
  const auto [row, fresh] = tree_.compared.try_emplace(at, index_);
  if (!fresh && row->second < index_) {
    const GuardSection& other = tree_.sections[row->second];
    if (other.is_steady() && other.witness.expects(at)) return rely_on(row->second);
  }
  row->second = index_;
  section_.witness.expect(at);
}

/// The object is of the type it was. No assignment to __class__ takes an object to or from a type
/// that is not made in Python.
void GuardProgram::Recorder::type_of(PyObject* object, Grade grade) {
  if (grade != Grade::held || is_heap_type(Py_TYPE(object))) expect(&object->ob_type);
}

/// The type is as it was, its bases included.
bool GuardProgram::Recorder::type_version(PyTypeObject* type) {
  if (type->tp_version_tag == 0) return false;
  expect(&type->tp_version_tag);
  return true;
}

/// The dict's keys and values are what they were.
bool GuardProgram::Recorder::dict(PyObject* dict, Grade grade) {
  type_of(dict, grade);
  return dict_version(dict);
}

/// The same of what can only be a dict, of whatever type. Not said of one that changes again and
/// again.
bool GuardProgram::Recorder::dict_version(PyObject* dict) {
  const std::uint64_t* version = python::dict_version_word(dict);
  if (!python::counts_changes(dict) || tree_.is_restless(version)) return false;
  expect(version);
  return true;
}

/// The dict holds the object under `key` at the address where it was, whatever else changes in it.
bool GuardProgram::Recorder::dict_entry(PyObject* dict, PyObject* key) {
  auto* object = reinterpret_cast<PyDictObject*>(dict);
  PyDictKeysObject* keys = object->ma_keys;
  if (object->ma_values != nullptr || keys->dk_kind != DICT_KEYS_UNICODE) return false;
  const python::DictHint index = python::dict_index(keys, key);
  if (index == python::kNoHint) return false;
  PyDictUnicodeEntry& entry = DK_UNICODE_ENTRIES(keys)[index];
  // The program keeps its own key: another one cannot come to stand at its address.
  if (entry.me_key != key || tree_.is_restless(&entry.me_value)) return false;
  expect(&object->ma_keys);
  expect(&object->ma_values);
  expect(&keys->dk_log2_size);  // the word holds the kind too: the entries stand where they stood
  expect(&entry.me_key);
  expect(&entry.me_value);
  return true;
}

/// The instance itself holds under `name` what it held: nothing, or an object of `grade`.
bool GuardProgram::Recorder::instance_value(PyObject* base, PyObject* name, Grade& grade) {
  grade = Grade::same;
  if (PyDictValues* values = python::instance_values(base)) {
    expect(python::inline_word(base));
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
  expect(pointer);
  if (*pointer == nullptr) {  // with a dict there, its values stand nowhere else
    if (const void* word = python::inline_word(base)) expect(word);
    return true;
  }
  if (!has_plain_keys(*pointer)) return false;
  if (dict_version(*pointer)) {
    grade = Grade::held;
    return true;
  }
  return dict_entry(*pointer, name);
}

/// What the object's length and truth depend on.
bool GuardProgram::Recorder::contents(PyObject* object, Grade grade) {
  if (PyDict_Check(object)) return dict(object, grade);
  if (PyTuple_Check(object) && grade == Grade::held) return true;
  if (PyList_Check(object) || PyTuple_Check(object)) {
    type_of(object, grade);
    expect(&reinterpret_cast<PyVarObject*>(object)->ob_size);
    return true;
  }
  return value(object, grade);
}

/// The object is the same and immutable.
bool GuardProgram::Recorder::value(PyObject* object, Grade grade) {
  if (!python::is_plain_immutable(object)) return false;
  if (grade != Grade::held) section_.witness.keep(object);
  return true;
}

// -- loads

bool GuardProgram::Recorder::covers_load(const GuardStep& step) {
  PyObject* base = program_.slots_[step.base];
  const Grade known = grade_of(step.base);
  const auto field = [&](const void* at) {
    type_of(base, known);
    expect(at);
    return loaded(step, Grade::same);
  };
  switch (step.op) {
    case GuardOp::load_attribute:
      return attribute(step, base);
    case GuardOp::load_instance: {
      Grade grade = Grade::moving;
      type_of(base, known);
      return instance_value(base, step.object, grade) && loaded(step, grade);
    }
    case GuardOp::load_dict_item: {
      if (!PyDict_Check(base) || !has_plain_keys(base)) return false;
      if (dict(base, known)) return loaded(step, Grade::held);
      return dict_entry(base, step.object) && loaded(step, Grade::same);
    }
    case GuardOp::load_tensor_item:
      if (!PyDict_Check(base) || grades_[step.number] == Grade::moving) return false;
      return dict(base, known) && loaded(step, Grade::held);
    case GuardOp::load_item:
      return item(step, base);
    case GuardOp::load_type:
      return field(&base->ob_type);
    case GuardOp::load_code:
      return field(&reinterpret_cast<PyFunctionObject*>(base)->func_code);
    case GuardOp::load_defaults:
      return field(&reinterpret_cast<PyFunctionObject*>(base)->func_defaults);
    case GuardOp::load_kwdefaults:
      return field(&reinterpret_cast<PyFunctionObject*>(base)->func_kwdefaults);
    case GuardOp::load_closure_item:
      return closure(step, base);
    case GuardOp::load_self:
      return field(PyMethod_Check(base)
                       ? static_cast<void*>(&reinterpret_cast<PyMethodObject*>(base)->im_self)
                       : &reinterpret_cast<PyCFunctionObject*>(base)->m_self);
    case GuardOp::load_function:
      return field(&reinterpret_cast<PyMethodObject*>(base)->im_func);
    case GuardOp::load_size:
    case GuardOp::load_stride:
    case GuardOp::load_offset:
      return views_[program_.view_of_[step.base]] != 0 && loaded(step, Grade::same);
    case GuardOp::load_length:
      return contents(base, known) && loaded(step, Grade::same);
    default:
      return false;
  }
}

bool GuardProgram::Recorder::attribute(const GuardStep& step, PyObject* base) {
  const AttributePath& path = program_.attributes_[step.index];
  type_of(base, grade_of(step.base));
  if (!type_version(Py_TYPE(base))) return false;
  if (PyType_Check(base) && !type_version(reinterpret_cast<PyTypeObject*>(base))) return false;
  switch (path.kind) {
    case AttributePath::Kind::instance: {
      Grade grade = Grade::moving;
      if (!instance_value(base, step.object, grade)) return false;
      return loaded(step, program_.slots_[step.slot] == path.value ? Grade::same : grade);
    }
    case AttributePath::Kind::constant:
      return loaded(step, Grade::held);
    case AttributePath::Kind::member:
      expect(reinterpret_cast<char*>(base) + path.offset);
      return loaded(step, Grade::same);
    case AttributePath::Kind::dict: {
      expect(python::instance_dict_pointer(base));
      return loaded(step, dict_version(program_.slots_[step.slot]) ? Grade::held : Grade::same);
    }
    case AttributePath::Kind::computed:
    case AttributePath::Kind::held:
    case AttributePath::Kind::unresolved:
    case AttributePath::Kind::missing:
      break;
  }
  return false;
}

bool GuardProgram::Recorder::item(const GuardStep& step, PyObject* base) {
  const Grade known = grade_of(step.base);
  if (python::is_deque(base)) return false;
  if (PyTuple_Check(base) && known == Grade::held) return loaded(step, Grade::held);
  type_of(base, known);
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
  type_of(base, grade_of(step.base));
  expect(&function->func_closure);
  expect(&reinterpret_cast<PyVarObject*>(function->func_closure)->ob_size);
  PyObject** item = &reinterpret_cast<PyTupleObject*>(function->func_closure)->ob_item[step.index];
  expect(item);
  type_of(*item, Grade::same);
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

// -- checks

bool GuardProgram::Recorder::covers_check(const GuardStep& step) {
  const Grade grade = grade_of(step.slot);
  PyObject* object = program_.slots_[step.slot];
  switch (step.op) {
    case GuardOp::check_identity:
      return grade == Grade::held || !step.weak;
    case GuardOp::check_not_none:
    case GuardOp::check_number:
      return true;
    case GuardOp::check_type:
      type_of(object, grade);
      return !is_heap_type(Py_TYPE(object)) || type_version(Py_TYPE(object));
    case GuardOp::check_literal:
      return value(object, grade);
    case GuardOp::check_truth:
    case GuardOp::check_length:
      return contents(object, grade);
    case GuardOp::check_keys:
    case GuardOp::check_has_key:
    case GuardOp::check_lacks_key:
      return PyDict_Check(object) && has_plain_keys(object) && dict(object, grade);
    case GuardOp::check_has_attribute:
    case GuardOp::check_lacks_attribute: {
      Grade unused = Grade::moving;
      type_of(object, grade);
      if (PyType_Check(object)) return type_version(reinterpret_cast<PyTypeObject*>(object));
      return type_version(Py_TYPE(object)) && instance_value(object, step.object, unused);
    }
    case GuardOp::check_type_version:
      type_of(object, grade);
      return type_version(versioned_type(step, object));
    case GuardOp::check_dict_version:
      return PyDict_Check(object) && dict(object, grade);
    case GuardOp::check_tensor:
      return views_[step.base] != 0;
    default:
      return false;
  }
}

}  // namespace penstock::guards
