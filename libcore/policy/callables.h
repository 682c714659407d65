#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/call_rules.h"
#include "policy/compile_api.h"
#include "python/bytecode.h"
#include "python/object.h"

namespace penstock::policy {

/// A C function, a method of a C type, or a slot of one, by its rule.
struct KnownFunction {
  CallableKind kind = CallableKind::c;
  bool method = false;  ///< of tensors
  std::string owner;    ///< the module or class that holds it
  std::string name;     ///< "relu"
  std::string shown;    ///< under which people know it: "torch.relu", "print"
  const CallRule* rule = nullptr;
  python::PyRef holder;  ///< the type whose method it is, or what keeps its address in use
};

/// Python code by its rule; kept with the code object.
struct KnownCode final : python::CodeData {
  const CallRule* rule = nullptr;
  Served served = Served::none;
  bool told = false;  ///< that a rule of the user's leaves it to Python
};

/// Which rule is for a callable. Rules are looked up once per callable.
class Callables {
 public:
  /// The rules that come with penstock, behind those of the file `path` ("": none). Whether the
  /// models that they name are there, record/models.h asks.
  static Result<Callables> make(const std::string& path);

  /// Of a PyCFunction, a method or slot descriptor, a method-wrapper, a function of NumPy's.
  std::shared_ptr<const KnownFunction> of(PyObject* function);
  /// Of code whose globals are `globals`.
  KnownCode& of(PyCodeObject* code, PyObject* globals) const;
  KnownCode& of_function(PyObject* function) const;
  /// The rule for calls of a function of Python: that of its code, or one for an attribute which it
  /// has.
  const CallRule& rule_of(PyObject* function) const;
  /// The rule for calls of a class: that for its name; where it says to follow the constructors
  /// that are written in Python, and a rule leaves one of those to Python, that one.
  const CallRule& of_class(PyTypeObject* type);
  /// The rule for the attribute or method of tensors that is called `name`.
  const CallRule& of_tensor(const std::string& name);

  const CallRules& rules() const { return *rules_; }

 private:
  explicit Callables(CallRules rules);
  const CallRule& of_class_name(PyTypeObject* type);
  struct Key;
  static Key key_of(PyObject* function);
  KnownFunction resolve(PyObject* function) const;

  std::unique_ptr<const CallRules> rules_;  ///< stay where they are
  std::vector<python::PyRef> attributes_;   ///< those of functions that rules are for: their names
  std::unordered_map<const void*, std::shared_ptr<const KnownFunction>> functions_;
  std::unordered_map<std::string, const CallRule*> tensor_rules_;
  std::unordered_map<PyTypeObject*, const CallRule*> class_rules_;  ///< of those that stay
};

/// The rules that come with penstock: capture.rules, as text.
extern const char kBuiltInRules[];

/// The `__init__` or `__new__` of a class where that is a function of Python; null otherwise.
python::PyRef python_constructor(PyTypeObject* type, const char* name);

/// True for the C class below torch.Tensor, which holds its builtin methods.
bool is_tensor_base(PyTypeObject* type);

}  // namespace penstock::policy
