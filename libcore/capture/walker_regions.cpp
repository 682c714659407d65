// The walker at torch.compile and its kin: their calls, and regions.

#include "capture/walker.h"
#include "python/literal.h"
#include "torch/compile_region.h"

namespace penstock::capture {

using policy::is_region;
using policy::Served;
using python::Directive;
using python::Entry;
using python::Frame;
using python::Instruction;
using python::Opcode;
using python::PyRef;
using record::BreakReason;
using record::DynamicSizes;

namespace {

void raise(PyObject* exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
}

/// The program's function that compiles the graphs of the region that `function` stands around;
/// null: none.
PyObject* backend_of(PyObject* function) {
  PyObject* attributes = PyFunction_Check(function)
                             ? reinterpret_cast<PyFunctionObject*>(function)->func_dict
                             : nullptr;
  return attributes == nullptr ? nullptr : PyDict_GetItemString(attributes, "_region_backend");
}

/// What torch calls a break of this kind.
std::string kind_of(const BreakReason& reason) {
  switch (reason.code) {
    case Code::PS0301:
      return "Data-dependent branching";
    case Code::PS0307:
      return "Failed to trace builtin operator";
    default:
      break;
  }
  return reason.asked_for ? "Call to `torch._dynamo.graph_break()`"
                          : "Skip calling `torch.compiler.disable()`d function";
}

/// What dynamic= of torch.compile says of a function that stands around a region.
std::optional<DynamicSizes> dynamic_of(PyObject* function) {
  PyObject* attributes = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  PyObject* asked =
      attributes == nullptr ? nullptr : PyDict_GetItemString(attributes, "_region_dynamic");
  if (asked == nullptr) return std::nullopt;
  return asked == Py_True ? DynamicSizes::all : DynamicSizes::off;
}

}  // namespace

Served Walker::served(Frame& frame) {
  if (frame.is_generator()) return Served::none;
  CodeInfo& known = info(frame);
  if (!known.served) {
    const Served own = compile_api_.own(frame.code(), frame.globals());
    known.served = own != Served::none ? own : callables_.of(frame.code(), frame.globals()).served;
  }
  return *known.served;
}

/// The frame is conducted in any mode: a segment being recorded ends before it calls such a
/// function, but C code may call one.
Entry Walker::enter_served(Frame& frame, Region& region, Served served) {
  if (served == Served::own || served == Served::graph_break) return Entry::native;
  if (served == Served::is_compiling && enclosing(region) == nullptr) return Entry::native;
  conduct(frame, region, false);
  Activation& around = *region.activations.back();
  around.served = served;
  if (!is_region(served)) return Entry::conduct;
  if (served != Served::disabled) around.backend = PyRef::borrow(backend_of(frame.function()));
  torch::set_in_compiled_region(served != Served::disabled, around.backend.get());
  around.dynamic = dynamic_of(frame.function());
  return Entry::conduct;
}

Directive Walker::serve(Activation& activation, const Instruction& instruction) {
  Frame& frame = *activation.frame;
  if (is_region(activation.served)) {
    if (!python::returns(instruction.opcode) || !activation.refusal) return Directive::step;
    raise(activation.refusal.get());
    return Directive::raised;
  }
  if (activation.answered) return Directive::step;
  activation.answered = true;
  PyRef result;
  const CallRule& rule = *callables_.of(frame.code(), frame.globals()).rule;
  if (rule.handler == "reset" && backends_ != nullptr) backends_->forget_backends();
  if (activation.served == Served::is_compiling) {
    result = PyRef::borrow(torch::in_compiled_region() ? Py_True : Py_False);
  } else if (!compile_api_.serve(frame, rule, result)) {
    return Directive::exit;
  }
  if (!result) return Directive::raised;
  frame.unwind_to(0);
  frame.push(std::move(result));
  return Directive::returned;
}

Activation* Walker::enclosing(Region& region) {
  for (auto at = region.activations.rbegin(); at != region.activations.rend(); ++at) {
    if (is_region((*at)->served)) return at->get();
  }
  return nullptr;
}

DynamicSizes Walker::dynamic_sizes(Region& region) const {
  const Activation* around = enclosing(region);
  return around == nullptr ? dynamic_ : around->dynamic.value_or(dynamic_);
}

bool Walker::is_disabled(Region& region) {
  const Activation* around = enclosing(region);
  return around != nullptr && around->served == Served::disabled;
}

bool Walker::is_metered(const Region& region) const {
  return sink_.meters_roots() && !has_root(region) && region.native_roots.empty();
}

/// torch.compile(fullgraph=True) raises where its one graph would have to end. A limit of ours
/// raises nothing: the program is right.
bool Walker::refuses(Region& region, const Activation& activation, const BreakReason& reason,
                     const Location& location) {
  if (!reason.anywhere) return false;
  Activation* around = enclosing(region);
  if (around == nullptr || around->served != Served::fullgraph) return false;
  region.any_op = true;  // the next call is looked at as well
  const CodeFacts& row = facts(reason.code);
  around->refusal = compile_api_.unsupported(
      kind_of(reason), reason.reason + ". " + std::string(row.explanation), std::string(row.hint),
      location.file.text(), location.line, python::text_of(activation.frame->code()->co_name));
  if (around->refusal) raise(around->refusal.get());
  return true;
}

/// A backend of the program's raised: so does the region.
Directive Walker::backend_raised(Region& region, PyRef error) {
  if (Activation* around = enclosing(region)) around->refusal = error;
  region.any_op = true;  // the next call is looked at as well
  raise(error.get());
  return Directive::raised;
}

}  // namespace penstock::capture
