// torch.nn.Module: the children, parameters and buffers that its __getattr__ finds are looked up
// directly when that method is torch's own; the callee runs natively, its effect being known.

#include "capture/literal.h"
#include "capture/walk.h"
#include "python/compile_region.h"

namespace penstock::capture {

using python::PyRef;

namespace {

/// torch.nn.Module.__getattr__, or null while torch.nn is not there.
PyObject* module_getattr() {
  PyObject* module =
      PyDict_GetItemString(PyImport_GetModuleDict(), "torch.nn.modules.module");
  if (module == nullptr) return nullptr;
  PyObject* type = PyDict_GetItemString(PyModule_GetDict(module), "Module");
  if (type == nullptr || !PyType_Check(type)) return nullptr;
  return PyDict_GetItemString(reinterpret_cast<PyTypeObject*>(type)->tp_dict, "__getattr__");
}

}  // namespace

bool Walk::load_module_child(FrameShadow& f, Operand self, PyObject* fallback, PyObject* name,
                             bool method) {
  static PyObject* const known = module_getattr();
  if (fallback != known) return false;
  bool present = false;
  const auto found = module_child(self, name, present);
  if (!found || !present) return false;
  f.expected.function = fallback;
  f.expected.native = true;
  f.finish = [method, found](Walk&, FrameShadow& f) {
    f.pop();
    if (method) f.push(Shadow::null());
    f.push(*found);
  };
  return true;
}

/// torch.compile and its kin. A region is not followed into: what is known inside it (its options,
/// torch.compiler.is_compiling()) is not known outside.
std::optional<bool> Walk::call_compile_api(FrameShadow& f, Operand function,
                                           const std::vector<Operand>& positional, int pops) {
  switch (compile_api_.classify(function.object)) {
    case Served::none: return std::nullopt;
    case Served::compiled:
    case Served::fullgraph: return end_silently();
    case Served::disabled:
      return broke(Code::PS0312, "compilation is disabled for the function called here", true);
    case Served::graph_break:
      return broke(Code::PS0312, "torch._dynamo.graph_break() is called", true);
    case Served::handler:
    case Served::own: return broke(Code::PS0312, "torch.compile or its kin is called");
    case Served::is_compiling: break;
  }
  if (!positional.empty()) return broke(Code::PS0306, "is_compiling() takes no arguments");
  add_guard(GuardKind::is_compiling, kNoSource, python::in_compiled_region());
  return gives_constant(f, pops);
}

std::optional<bool> Walk::call_known_python(FrameShadow& f, Operand function,
                                            const std::vector<Operand>& positional,
                                            const std::vector<std::pair<PyObject*, Operand>>&,
                                            int pops) {
  if (auto served = call_compile_api(f, function, positional, pops)) return served;
  // Functions of torch that change the process, by where they are defined.
  struct Row {
    const char *module, *names, *why;
  };
  static constexpr Row kRows[] = {
      {"torch.random", "manual_seed", "the random generator is seeded"},
      {"torch._tensor", "Tensor.backward", "gradients are computed"},
      {"torch.serialization", "save load", "files are read or written"},
      {"torch._tensor", "Tensor.__repr__ Tensor.__format__", "a tensor is printed"},
      {"torch._tensor", "Tensor.__array__", "the tensor is handed to NumPy"},
      {"torch._tensor", "Tensor.__contains__", "membership depends on the elements of a tensor"},
      {"copy", "deepcopy copy", "an object is copied"},
      {"logging", "Logger.info Logger.warning Logger.debug Logger.error", "a log is written"},
      {"warnings", "warn", "a warning is shown"},
  };
  PyObject* object = function.object;
  const std::string module = text_of(reinterpret_cast<PyFunctionObject*>(object)->func_module);
  const std::string name = text_of(reinterpret_cast<PyFunctionObject*>(object)->func_qualname);
  for (const Row& row : kRows) {
    if (module != row.module) continue;
    if (is_word(row.names, name)) return broke(Code::PS0307, row.why);
  }
  return std::nullopt;
}

bool is_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos;
       at = words.find(word, at + 1)) {
    const bool starts = at == 0 || words[at - 1] == ' ';
    const std::size_t end = at + word.size();
    if (starts && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

}  // namespace penstock::capture
