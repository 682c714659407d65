#pragma once

#include <vector>

#include "guards/guard_program.h"

namespace penstock::guards {

/// Writes the witness of a section while its steps are executed.
class GuardProgram::Recorder {
 public:
  Recorder(GuardProgram& program, GuardTree& tree, std::size_t section);

  /// `step` was executed and passed.
  void passed(const GuardStep& step, std::size_t position);

 private:
  /// What is known of the object in a slot while the words compared so far are unchanged.
  enum class Grade : std::uint8_t {
    moving,  ///< nothing
    same,    ///< its address, and that something holds an object there
    held,    ///< it is the same object, held all the time
  };

  Grade grade_of(SourceId source);
  bool covers(const GuardStep& step);
  bool covers_load(const GuardStep& step);
  bool covers_check(const GuardStep& step);
  bool attribute(const GuardStep& step, PyObject* base);
  bool instance_value(PyObject* base, PyObject* name, Grade& grade);
  bool item(const GuardStep& step, PyObject* base);
  bool closure(const GuardStep& step, PyObject* base);
  bool tensor(const GuardStep& step);
  bool contents(PyObject* object, Grade grade);
  bool dict(PyObject* dict, Grade grade);
  bool dict_version(PyObject* dict);
  bool dict_entry(PyObject* dict, PyObject* key);
  bool value(PyObject* object, Grade grade);
  bool type_version(PyTypeObject* type);
  void type_of(PyObject* object, Grade grade);
  void expect(const void* at);
  void rely_on(std::uint32_t section);
  bool loaded(const GuardStep& step, Grade grade);

  GuardProgram& program_;
  GuardTree& tree_;
  const std::uint32_t index_;  // of the section in its tree
  GuardSection& section_;
  std::vector<Grade> grades_;        // by SourceId
  std::vector<std::uint8_t> views_;  // by view: 1: the witness covers it
};

}  // namespace penstock::guards
