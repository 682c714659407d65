// Class statements inside a function: the class is made for real while the segment is recorded, and
// not at all where the segment runs. That is the same to the program as long as making the class
// does nothing else, and nothing asks what the class is before it is let go of: a segment ends
// before an instruction that asks (Facts::consume_identity), and before the class statement where
// the class would outlive it, for no recipe makes classes.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/objects/builtin_call.h"
#include "record/results.h"
#include "record/variables.h"
#include "record/walk.h"

namespace penstock::record {

using python::Instruction;
using python::Opcode;
using python::text_of;

namespace {

/// What a body may decorate its functions with; they do nothing but hold them.
bool is_decorator(PyObject* name) {
  constexpr std::array<std::string_view, 3> kNames = {"staticmethod", "classmethod", "property"};
  return std::ranges::find(kNames, text_of(name)) != kNames.end();
}

/// Goes through a class body that only defines functions and constants. What is on its stack is
/// told by whether it is a decorator: nothing else may be called.
class BodyCheck {
 public:
  BodyCheck(Walk& walk, FrameShadow& frame, PyFunctionObject* body)
      : walk_(walk), frame_(frame), body_(body) {}

  bool passes() {
    const python::Bytecode& code =
        python::bytecode_of(reinterpret_cast<PyCodeObject*>(body_->func_code));
    return code.valid() && std::ranges::all_of(code.instructions(),
                                               [&](const Instruction& one) { return step(one); });
  }

 private:
  bool step(const Instruction& i) {
    switch (i.opcode) {
      case Opcode::RESUME:
      case Opcode::NOP:
      case Opcode::MAKE_CELL:
      case Opcode::COPY_FREE_VARS:
        return true;
      case Opcode::LOAD_CONST:
      case Opcode::LOAD_SMALL_INT:
      case Opcode::LOAD_LOCALS:
      case Opcode::LOAD_CLOSURE:
      case Opcode::LOAD_FAST:  // the same: a class body has no other variables of its own
        return replace(0, false);
      case Opcode::LOAD_NAME:
        return load_name(name(i.argument));
      case Opcode::BUILD_TUPLE:
        return replace(i.argument, false);
      case Opcode::MAKE_FUNCTION:
        return replace(1 + __builtin_popcount(i.argument & 15), false);
      case Opcode::SET_FUNCTION_ATTRIBUTE:
        return replace(2, false);
      case Opcode::RETURN_CONST:
        return true;
      case Opcode::CALL:
        return i.argument == 0 && stack_.size() >= 2 && stack_[stack_.size() - 2] &&
               replace(2, false);
      case Opcode::COPY:
        return !stack_.empty() && replace(0, false);
      case Opcode::STORE_DEREF:  // a cell of its own: where annotations find its names
        return is_own_cell(i.argument) && pop(1);
      case Opcode::STORE_NAME:
      case Opcode::RETURN_VALUE:
        return pop(1);
      default:
        return false;
    }
  }

  /// __name__, which becomes __module__, or a decorator.
  bool load_name(PyObject* name) {
    if (text_of(name) == "__name__") return replace(0, false);
    PyObject* value = PyDict_GetItemWithError(frame_.frame->builtins(), name);
    const bool known = body_->func_globals == frame_.frame->globals() && value != nullptr &&
                       is_decorator(name) && PyDict_Contains(body_->func_globals, name) == 0;
    PyErr_Clear();
    return known &&
           walk_.facts.consume_identity({global_value(walk_, frame_, name, value), value}) &&
           replace(0, true);
  }

  const PyCodeObject* code() const {
    return reinterpret_cast<const PyCodeObject*>(body_->func_code);
  }
  bool is_own_cell(int slot) const { return slot < code()->co_nlocalsplus - code()->co_nfreevars; }
  PyObject* name(int at) const { return PyTuple_GET_ITEM(code()->co_names, at); }

  bool pop(int count) {
    if (stack_.size() < static_cast<std::size_t>(count)) return false;
    stack_.resize(stack_.size() - static_cast<std::size_t>(count));
    return true;
  }

  bool replace(int count, bool decorates) {
    if (!pop(count)) return false;
    stack_.push_back(decorates);
    return true;
  }

  Walk& walk_;
  FrameShadow& frame_;
  PyFunctionObject* body_;
  std::vector<bool> stack_;
};

/// A class whose subclasses are made by `type`, or by the metaclass of torch.autograd.Function, and
/// are not told to it.
bool makes_plain_subclasses(PyObject* base) {
  if (!PyType_Check(base)) return false;
  PyObject* meta = reinterpret_cast<PyObject*>(Py_TYPE(base));
  const bool known = Py_IS_TYPE(base, &PyType_Type) ||
                     python::qualified_name(meta) == "torch.autograd.function.FunctionMeta";
  constexpr const char* kTold = "__init_subclass__";
  return known && python::type_lookup(reinterpret_cast<PyTypeObject*>(base), kTold) ==
                      python::type_lookup(&PyBaseObject_Type, kTold);
}

}  // namespace

bool make_class(BuiltinCall& c) {
  const bool statement = c.positional.size() >= 2 && c.keywords.empty() &&
                         PyFunction_Check(c.positional[0].object) &&
                         PyUnicode_CheckExact(c.positional[1].object);
  if (!statement) return refuse(c);
  auto* body = reinterpret_cast<PyFunctionObject*>(c.positional[0].object);
  for (std::size_t i = 2; i < c.positional.size(); ++i) {
    if (!makes_plain_subclasses(c.positional[i].object)) return refuse(c);
    if (!c.walk.facts.consume_identity(c.positional[i])) return false;
  }
  if (!c.walk.facts.consume(c.positional[1])) return false;
  return BodyCheck(c.walk, c.frame, body).passes() ? gives_fresh(c.frame, c.pops, {}) : refuse(c);
}

}  // namespace penstock::record
