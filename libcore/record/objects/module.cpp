// torch.nn.Module: the children, parameters and buffers that its __getattr__ finds are looked up
// directly when that method is torch's own; the callee runs natively, its effect being known.

#include "policy/dynamo_state.h"
#include "policy/roots.h"
#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/models.h"
#include "record/objects/attribute.h"
#include "record/objects/backward.h"
#include "record/objects/call.h"
#include "record/objects/checkpoint.h"
#include "record/objects/container.h"
#include "record/objects/control_flow.h"
#include "record/objects/torch_call.h"
#include "record/polyfills.h"
#include "record/results.h"
#include "record/walk.h"
#include "torch/compile_region.h"
#include "torch/device_memory.h"
#include "torch/fused_step.h"
#include "torch/state.h"

namespace penstock::record {

using policy::InGraph;
using policy::Served;
using python::PyRef;
using python::qualified_name;

namespace {

/// torch.nn.Module.__getattr__, or null while torch.nn is not there.
PyObject* module_getattr() {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch.nn.modules.module");
  if (module == nullptr) return nullptr;
  PyObject* type = PyDict_GetItemString(PyModule_GetDict(module), "Module");
  if (type == nullptr || !PyType_Check(type)) return nullptr;
  return PyDict_GetItemString(python::type_dict(reinterpret_cast<PyTypeObject*>(type)),
                              "__getattr__");
}

}  // namespace

bool load_module_child(Walk& walk, FrameShadow& f, Operand self, PyObject* fallback, PyObject* name,
                       const AttributeUse& use) {
  static PyObject* const known = module_getattr();
  if (fallback != known) return false;
  bool present = false;
  const auto found = module_child(walk, self, name, present);
  if (!found || (!present && !use.catches())) return false;
  f.expected.function = fallback;
  f.expected.native = true;
  f.finish = [use, shadow = present ? *found : use.fallback](Walk& walk, FrameShadow& f) {
    push_attribute(walk, f, shadow, use);
  };
  return true;
}

/// torch.compile and its kin. A region is not followed into: what is known inside it (its options,
/// torch.compiler.is_compiling()) is not known outside.
std::optional<bool> call_compile_api(Walk& walk, FrameShadow& f, Served served,
                                     const std::vector<Operand>& positional, int pops) {
  switch (served) {
    case Served::none:
      return std::nullopt;
    case Served::compiled:
    case Served::fullgraph:
      // One region of a backend of the program's takes in those that it calls.
      if (walk.context.for_backend()) return std::nullopt;
      return walk.verdict.end_silently();
    case Served::disabled:
      return walk.verdict.broke(Code::PS0312,
                                "compilation is disabled for the function called here", true);
    case Served::graph_break:
      // torch's own code (what turns gradients off around the step of an optimizer) asks for the
      // sake of torch.compile's graphs.
      if (!torch::in_compiled_region() && !walk.context.for_backend() && !torch::uses_gpu() &&
          policy::module_name(f.frame->globals()).starts_with("torch."))
        return gives_constant(f, pops);
      return walk.verdict.break_asked_for();
    case Served::handler:
    case Served::own:
      return walk.verdict.broke(Code::PS0312, "torch.compile or its kin is called");
    case Served::is_compiling:
      break;
  }
  if (!positional.empty())
    return walk.verdict.broke(Code::PS0306, "is_compiling() takes no arguments");
  if (torch::in_compiled_region() != walk.context.compiling_at_start()) {
    return walk.verdict.broke(Code::PS0306,
                              "is_compiling() is called in what torch compiles by itself");
  }
  walk.facts.add_guard(GuardKind::is_compiling, kNoSource, torch::in_compiled_region());
  return gives_constant(f, pops);
}

std::optional<bool> call_known_python(Walk& walk, FrameShadow& f, Operand function,
                                      const std::vector<Operand>& positional,
                                      const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                      int pops) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.object));
  PyObject* globals = PyFunction_GET_GLOBALS(function.object);
  if (const Served own = walk.compile_api.own(code, globals); own != Served::none) {
    return call_compile_api(walk, f, own, positional, pops);
  }
  const policy::KnownCode& known = walk.callables.of(code, globals);
  const CallRule& rule = walk.callables.rule_of(function.object);
  const InGraph told = torch::in_compiled_region() && rule.action != CallAction::serve
                           ? policy::in_graph(function.object)
                           : InGraph::undecided;
  if (told == InGraph::never) {
    return walk.verdict.broke(Code::PS0312,
                              qualified_name(function.object) +
                                  " is disallowed in graphs (torch._dynamo.disallow_in_graph)",
                              true);
  }
  if (told == InGraph::whole) {
    if (const auto done = call_whole_function(walk, f, function, positional, keywords, pops))
      return done;
  }
  switch (rule.action) {
    case CallAction::inlined:
    case CallAction::inner:
      return std::nullopt;
    case CallAction::whole:
      return call_whole_function(walk, f, function, positional, keywords, pops);
    case CallAction::serve:
      return call_compile_api(walk, f, known.served, positional, pops);
    case CallAction::model:
      // The Python form of a C function, under its name, is followed as any Python code.
      if (CodeModel model = find_code_model(rule.handler); model != nullptr)
        return model(walk, f, function, positional, keywords, pops);
      return std::nullopt;
    case CallAction::constant:
      return call_once(walk, f, function, positional, keywords, pops);
    case CallAction::assumed:
      return call_assumed(walk, f, function, positional, pops);
    default:
      return walk.verdict.broke(rule, qualified_name(function.object));
  }
}

std::optional<bool> model_signature(Walk& walk, FrameShadow& f, Operand function,
                                    const std::vector<Operand>& positional,
                                    const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                    int pops) {
  if (!keywords.empty()) return std::nullopt;
  return call_signature(walk, f, function, positional, pops);
}

std::optional<bool> model_module_list_item(Walk& walk, FrameShadow& f, Operand function,
                                           const std::vector<Operand>& positional,
                                           const std::vector<std::pair<PyObject*, Operand>>&,
                                           int pops) {
  if (positional.size() != 2 || !PySlice_Check(positional[1].object)) return std::nullopt;
  return slice_module_list(walk, f, function, positional[0], positional[1], pops);
}

std::optional<bool> model_copy(Walk& walk, FrameShadow& f, Operand function,
                               const std::vector<Operand>& positional,
                               const std::vector<std::pair<PyObject*, Operand>>& keywords,
                               int pops) {
  if (positional.size() != 1 || !keywords.empty())
    return walk.verdict.broke(Code::PS0307, "an object is copied");
  const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.object));
  return call_copy(walk, f, function, python::text_of(code->co_name) == "deepcopy", positional[0],
                   pops);
}

/// torch._check of what holds.
std::optional<bool> model_check(Walk& walk, FrameShadow& f, Operand function,
                                const std::vector<Operand>& positional,
                                const std::vector<std::pair<PyObject*, Operand>>&, int pops) {
  if (positional.empty() || positional[0].object != Py_True) return std::nullopt;
  if (!walk.facts.consume(positional[0])) return false;
  f.expected.function = function.object;
  f.expected.native = true;
  return gives_constant(f, pops);
}

namespace {

/// The loop of an optimizer over its parameters: op by op where they are few. Of many each op costs
/// little beside what it reads and writes, and a graph of all of them takes long to compile:
/// torch's kernel does them at once (capture/optimizer_step.h).
std::optional<bool> model_optimizer_loop(Walk& walk, FrameShadow& f, Operand function,
                                         const std::vector<Operand>& positional,
                                         const Keywords& keywords, int pops) {
  constexpr Py_ssize_t kMostParameters = 64;
  if (!PyFunction_Check(function.object) || positional.empty()) return std::nullopt;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.object));
  PyObject* parameters = positional[0].object;
  const bool many = !PyList_Check(parameters) || PyList_GET_SIZE(parameters) > kMostParameters;
  if (many && walk.context.runs() &&
      torch::FusedStep::find(code, PyFunction_GET_GLOBALS(function.object)) != nullptr)
    return walk.verdict.broke(Code::PS0307, "torch has a kernel for the optimizer's loop");
  if (many || walk.context.for_backend()) return std::nullopt;
  return call_polyfill(walk, f, function, positional, keywords, pops);
}

std::optional<bool> call_whole(Walk& walk, FrameShadow& f, Operand function,
                               const std::vector<Operand>& positional,
                               const std::vector<std::pair<PyObject*, Operand>>& keywords,
                               int pops) {
  return call_whole_function(walk, f, function, positional, keywords, pops);
}

}  // namespace

namespace {

/// The end of a range of torch's profilers that the segment began (begin_range).
std::optional<bool> model_end_range(Walk&, FrameShadow& f, Operand function,
                                    const std::vector<Operand>& positional, const Keywords&,
                                    int pops) {
  if (positional.empty() || !positional[0].shadow.is(Shadow::Kind::fresh)) return std::nullopt;
  return natively(f, function, [pops](Walk&, FrameShadow& f) { gives_constant(f, pops); });
}

}  // namespace

CodeModel find_code_model(std::string_view name) {
  if (name == "optimizer_loop") return model_optimizer_loop;
  if (name == "backward") return model_backward;
  if (name == "engine_gradients") return model_engine_gradients;
  if (name == "signature") return model_signature;
  if (name == "copy") return model_copy;
  if (name == "update_wrapper") return model_update_wrapper;
  if (name == "apply") return model_apply;
  if (name == "function_context") return model_function_context;
  if (name == "function_tangents") return model_function_tangents;
  if (name == "join_function") return model_join_function;
  if (name == "bind_defaults") return model_bind_defaults;
  if (name == "check") return model_check;
  if (name == "checkpoint") return model_checkpoint;
  if (name == "end_range") return model_end_range;
  if (name == "hidden_from_dynamo") return model_hidden_from_dynamo;
  if (name == "begin_checkpoint") return model_begin_checkpoint;
  if (name == "end_checkpoint") return model_end_checkpoint;
  if (name == "cond") return model_cond;
  if (name == "begin_subgraph") return model_begin_subgraph;
  if (name == "end_subgraph") return model_end_subgraph;
  if (name == "while_loop") return model_while_loop;
  if (name == "join_while_loop") return model_join_while_loop;
  if (name == "loop_inputs") return model_loop_inputs;
  if (name == "join_scan") return model_join_scan;
  if (name == "join_branches") return model_join_branches;
  if (name == "whole") return call_whole;
  if (name == "python_form") return model_python_form;
  if (name == "as_grid") return model_as_grid;
  if (name == "of_grid") return model_of_grid;
  return name == "module_list_item" ? model_module_list_item : nullptr;
}

/// A slice of a ModuleList is a new ModuleList with some of the children. torch makes it natively;
/// the segment knows the children, and cannot leave the new module behind.
bool slice_module_list(Walk& walk, FrameShadow& f, Operand function, Operand list, Operand slice,
                       int pops) {
  if (!walk.facts.consume(slice)) return false;
  PyRef name = PyRef::steal(PyUnicode_InternFromString("_modules"));
  const ObjectId own = walk.objects.instance_dict(list);
  PyObject* modules =
      own == kNoSource ? nullptr
                       : PyDict_GetItemWithError(walk.objects.object(own).object.get(), name.get());
  if (modules == nullptr || !PyDict_Check(modules))
    return walk.verdict.broke(Code::PS0306, "a module without tables is sliced");
  walk.facts.guard_type_version(list);
  const Operand dict{walk.objects.dict_value(own, name.get(), modules), modules};
  if (!walk.facts.consume_type(dict) || !walk.objects.consume_keys(dict)) return false;
  std::vector<Shadow> children;
  for (const auto& [key, child] : all_pairs(walk, dict)) children.push_back(child);
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice.object, &start, &stop, &step) < 0) {
    PyErr_Clear();
    return walk.verdict.broke(Code::PS0304, "a slice of a ModuleList is malformed");
  }
  std::vector<Shadow> kept;
  const Py_ssize_t count =
      PySlice_AdjustIndices(static_cast<Py_ssize_t>(children.size()), &start, &stop, step);
  for (Py_ssize_t i = 0; i < count; ++i)
    kept.push_back(children[static_cast<std::size_t>(start + i * step)]);
  f.expected.function = function.object;
  f.expected.native = true;
  f.finish = [pops, kept, name](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    const Shadow made = walk.objects.fresh(f.object());
    const ObjectId own = walk.objects.instance_dict({made, f.object()});
    PyObject *key, *value;
    for (Py_ssize_t at = 0;
         PyDict_Next(walk.objects.object(own).object.get(), &at, &key, &value);) {
      Shadow shadow;
      if (PyUnicode_Compare(key, name.get()) == 0) {
        shadow = walk.objects.fresh(value);
        PyRef keys = PyRef::steal(PyDict_Keys(value));
        for (std::size_t i = 0; keys && i < kept.size(); ++i) {
          walk.objects.dict_store(shadow.index,
                                  PyList_GET_ITEM(keys.get(), static_cast<Py_ssize_t>(i)), kept[i]);
        }
      }
      walk.objects.dict_store(own, key, shadow);
    }
    f.push(made);
  };
  return true;
}

namespace {

/// The function whose parameters inspect.signature tells: `of`, or what it says to wrap. None where
/// an attribute of it may say something else.
std::optional<Operand> described_function(Walk& walk, Operand of) {
  constexpr int kDeepest = 16;
  for (int depth = 0; depth < kDeepest && PyFunction_Check(of.object); ++depth) {
    if (!consume_function(walk, of)) return std::nullopt;
    const SourceId source = of.shadow.source();
    if (source != kNoSource) {
      walk.facts.add_guard(GuardKind::identity,
                           walk.recorder.guards().source(SourceKind::code, source),
                           qualified_name(of.object), PyFunction_GET_CODE(of.object));
    }
    const ObjectId attributes = walk.objects.instance_dict(of);
    if (attributes == kNoSource) break;
    const auto attribute = [&](const char* name) {
      PyRef text = PyRef::steal(PyUnicode_InternFromString(name));
      PyObject* value =
          PyDict_GetItemWithError(walk.objects.object(attributes).object.get(), text.get());
      PyErr_Clear();
      return Operand{walk.objects.dict_value(attributes, text.get(), value), value};
    };
    if (attribute("__signature__").object != nullptr) break;
    const Operand wrapped = attribute("__wrapped__");
    if (wrapped.object == nullptr) {
      if (attribute("_partialmethod").object != nullptr) break;
      return of;
    }
    of = wrapped;
  }
  walk.verdict.broke(Code::PS0306, "the signature of what is no plain function is asked for");
  return std::nullopt;
}

}  // namespace

/// inspect.signature of a function or method: CPython makes it; what is followed of it is which
/// parameters there are.
bool call_signature(Walk& walk, FrameShadow& f, Operand function,
                    const std::vector<Operand>& positional, int pops) {
  Operand of = positional.empty() ? Operand{} : positional[0];
  if (of.object != nullptr && PyMethod_Check(of.object)) of = method_part(walk, of, 0);
  if (positional.size() != 1 || !PyFunction_Check(of.object)) {
    return walk.verdict.broke(Code::PS0306, "the signature of what is no function is asked for");
  }
  if (!described_function(walk, of)) return false;
  f.expected.function = function.object;
  f.expected.native = true;
  f.finish = [pops](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    const Shadow made = walk.objects.fresh(f.object());
    PyRef name = PyRef::steal(PyUnicode_InternFromString("_parameters"));
    PyRef parameters = PyRef::steal(PyObject_GetAttr(f.object(), name.get()));
    if (parameters) {
      walk.objects.dict_store(made.index, name.get(), walk.objects.fresh(parameters.get()));
    } else {
      PyErr_Clear();
    }
    PyRef annotation = PyRef::steal(PyUnicode_InternFromString("_return_annotation"));
    walk.objects.dict_store(made.index, annotation.get(), Shadow{});
    f.push(made);
  };
  return true;
}

}  // namespace penstock::record
