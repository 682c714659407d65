// Rules of import statements: of what is imported already, the modules are found by their names.

#include <optional>
#include <string>

#include "python/literal.h"
#include "record/rules/rules.h"

namespace penstock::record {

using python::Instruction;
using python::Opcode;
using python::PyRef;
using python::text_of;

namespace {

/// The full name of the module that an instruction names, which counts its dots as `level`.
std::optional<std::string> full_name(const FrameShadow& f, PyObject* name, long level) {
  if (level == 0) return text_of(name);
  PyObject* package = PyDict_GetItemString(f.frame->globals(), "__package__");
  if (package == nullptr || !PyUnicode_Check(package)) return std::nullopt;
  std::string base = text_of(package);
  for (long i = 1; i < level; ++i) {
    const std::size_t dot = base.rfind('.');
    if (dot == std::string::npos) return std::nullopt;
    base.resize(dot);
  }
  if (base.empty()) return std::nullopt;
  return PyUnicode_GET_LENGTH(name) == 0 ? base : base + "." + text_of(name);
}

/// Null: it has not been imported, or must not be.
PyObject* imported(const std::string& name) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), name.c_str());
  return module == Py_None ? nullptr : module;
}

bool has_name(PyObject* module, PyObject* name) {
  const int has = PyDict_Contains(PyModule_GetDict(module), name);
  if (has < 0) PyErr_Clear();
  return has > 0;
}

/// True where the module has all that is asked of it: what it lacks may be imported by asking.
bool has_names(PyObject* module, PyObject* names) {
  if (!PyTuple_Check(names)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    if (!has_name(module, PyTuple_GET_ITEM(names, i))) return false;
  }
  return true;
}

bool import_name(Walk& walk, FrameShadow& f, const Instruction& i) {
  PyObject* names = f.object();
  PyObject* level = f.object(1);
  const auto name =
      full_name(f, f.frame->name(i.argument), PyLong_Check(level) ? PyLong_AsLong(level) : 0);
  PyObject* module = name ? imported(*name) : nullptr;
  if (module == nullptr)
    return walk.verdict.broke(Code::PS0306, "a module is imported for the first time");
  // `import a.b` gives a.
  const bool whole = names != Py_None;
  if (whole && !(PyModule_Check(module) && has_names(module, names)))
    return walk.verdict.broke(Code::PS0306,
                              "a name is imported from " + *name + ", which makes it on demand");
  const std::string given = whole ? *name : name->substr(0, name->find('.'));
  f.pop(2);
  f.push(Shadow::sourced(walk.recorder.guards().source(SourceKind::module, kNoSource, given)));
  return true;
}

bool import_from(Walk& walk, FrameShadow& f, const Instruction& i) {
  const Operand module = f.operand();
  const SourceId source = module.shadow.source();
  PyObject* name = f.frame->name(i.argument);
  if (source == kNoSource || !PyModule_Check(module.object) || !has_name(module.object, name))
    return walk.verdict.broke(Code::PS0306, "a name is imported that its module makes on demand");
  f.push(
      Shadow::sourced(walk.recorder.guards().source(SourceKind::attribute, source, text_of(name))));
  return true;
}

constexpr RuleRow kRows[] = {{Opcode::IMPORT_NAME, import_name},
                             {Opcode::IMPORT_FROM, import_from}};

}  // namespace

std::span<const RuleRow> import_rules() {
  return kRows;
}

}  // namespace penstock::record
